"""What a member's stretch of decoding adds to its request's record, settled when the stretch ends."""

from numba import njit

from sim.engine.gaps import largest_since
from sim.engine.jit import JIT
from sim.engine.state import (
    AGE,
    BASE,
    CALL,
    CLOCK,
    EMITTED,
    LAST_TOKEN_S,
    MAX_ITL_S,
    MEMORY_TOKEN_S,
    REQUEST,
    SEGMENT,
    SEGMENT_AGE,
    SEGMENT_S,
)


@njit(**JIT)
def open_segment(s, live, live_s, count, real):
    """The member produced a token outside the quiet path; from here on it ages with the batch."""
    live[s, SEGMENT] = count[CALL]
    live_s[s, SEGMENT_S] = real[CLOCK]
    live_s[s, SEGMENT_AGE] = real[AGE]


@njit(**JIT)
def close_segment(s, through, prompt_len, live, live_s, out_s, out_n, gap_stack, count, real):
    """Record the tokens of the calls after SEGMENT up to call `through`, which ended at the present clock."""
    i = live[s, REQUEST]
    out_n[i, EMITTED] = live[s, BASE] + through + 1 - prompt_len
    out_s[i, LAST_TOKEN_S] = real[CLOCK]
    longest = largest_since(live[s, SEGMENT], gap_stack, count)
    out_s[i, MAX_ITL_S] = max(out_s[i, MAX_ITL_S], longest)
    out_s[i, MEMORY_TOKEN_S] += live[s, BASE] * (real[CLOCK] - live_s[s, SEGMENT_S])
    out_s[i, MEMORY_TOKEN_S] += real[AGE] - live_s[s, SEGMENT_AGE]
