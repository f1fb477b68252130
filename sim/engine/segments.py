"""What a member's stretch of decoding adds to its request's record, settled when the stretch ends."""

from sim.engine.gaps import largest_since
from sim.engine.kernel import kernel, part
from sim.engine.state import (
    AGE,
    APPLIED_CALL,
    BASE,
    CLOCK,
    COMPUTED,
    EMITTED,
    LAST_TOKEN_S,
    MAX_ITL_S,
    MEMORY_TOKEN_S,
    REQUEST,
    SEGMENT,
    SEGMENT_AGE,
    SEGMENT_S,
    TOKEN_S,
)


@part
def mark_memory(s, live_s, real):
    """From here on the member holds KV tokens as it ages."""
    live_s[s, SEGMENT_S] = real[CLOCK]
    live_s[s, SEGMENT_AGE] = real[AGE]


@part
def settle_memory(s, live, live_s, out_s, real):
    """Record what the member has held since the mark."""
    i = live[s, REQUEST]
    out_s[i, MEMORY_TOKEN_S] += live[s, BASE] * (real[CLOCK] - live_s[s, SEGMENT_S])
    out_s[i, MEMORY_TOKEN_S] += real[AGE] - live_s[s, SEGMENT_AGE]
    mark_memory(s, live_s, real)


@part
def settle_held(s, live, live_s, out_s, real):
    """The same for a member that computes nothing more."""
    out_s[live[s, REQUEST], MEMORY_TOKEN_S] += live[s, COMPUTED] * (real[CLOCK] - live_s[s, SEGMENT_S])
    mark_memory(s, live_s, real)


@kernel
def settle_tokens(s, prompt_len, live, out_s, out_n, gap_stack, count, real):
    """Record the tokens of the calls after SEGMENT up to the one applied last."""
    if live[s, SEGMENT] < 0:
        return
    i = live[s, REQUEST]
    out_n[i, EMITTED] = live[s, BASE] + count[APPLIED_CALL] + 1 - prompt_len
    out_s[i, LAST_TOKEN_S] = real[TOKEN_S]
    longest = largest_since(live[s, SEGMENT], gap_stack, count)
    out_s[i, MAX_ITL_S] = max(out_s[i, MAX_ITL_S], longest)
