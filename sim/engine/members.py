"""The running set: order of admission, calendar of completions, phases of block growth.

A decoding member is in the calendar's list of the call that finishes it and is counted in `phases` under the
phase at which it needs its next block, so a quiet call visits nobody.
"""

from sim.engine.kernel import kernel, part
from sim.engine.state import (
    BASE,
    CALL,
    DECODING,
    DECODING_KV,
    DUE,
    DUE_NEXT,
    DUE_PREV,
    ENDING,
    FIRST,
    FIRST_SAMPLE,
    FREE_SLOT,
    LAST,
    MEMBERS,
    NEVER,
    NEXT_SEQ,
    NUM_DECODING,
    NUM_FREE_SLOTS,
    NUM_RUNNING,
    PHASE,
    PHASE_NEXT,
    PHASE_PREV,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    RUN_PREV,
    RUN_TAIL,
    SEGMENT,
    SEQ,
    STRAGGLER,
    STRAGGLER_MEMBERS,
    STRAGGLERS_DECODING,
)


@kernel
def join(i, is_straggler, live, slots, count):
    """Give request `i` a slot at the end of the running order; the slot."""
    count[NUM_FREE_SLOTS] -= 1
    s = slots[count[NUM_FREE_SLOTS], FREE_SLOT]
    live[s, REQUEST] = i
    live[s, STRAGGLER] = is_straggler
    live[s, SEQ] = count[NEXT_SEQ]
    live[s, DECODING] = 0
    live[s, ENDING] = 0
    live[s, FIRST_SAMPLE] = NEVER
    line_up(s, live, count)
    count[NEXT_SEQ] += 1
    return s


@part
def leave(s, live, slots, count):
    """Take a member out of the running order and free its slot."""
    live[s, REQUEST] = -1
    step_out(s, live, count)
    slots[count[NUM_FREE_SLOTS], FREE_SLOT] = s
    count[NUM_FREE_SLOTS] += 1


@kernel
def line_up(s, live, count):
    """Put a member at the end of the running order."""
    tail = count[RUN_TAIL]
    live[s, RUN_PREV] = tail
    live[s, RUN_NEXT] = -1
    if tail >= 0:
        live[tail, RUN_NEXT] = s
    else:
        count[RUN_HEAD] = s
    count[RUN_TAIL] = s
    count[NUM_RUNNING] += 1


@kernel
def step_out(s, live, count):
    """Take a member out of the running order."""
    before = live[s, RUN_PREV]
    after = live[s, RUN_NEXT]
    if before >= 0:
        live[before, RUN_NEXT] = after
    else:
        count[RUN_HEAD] = after
    if after >= 0:
        live[after, RUN_PREV] = before
    else:
        count[RUN_TAIL] = before
    count[NUM_RUNNING] -= 1


@kernel
def sort_slots(column, size, key, slots, live):
    """Sort a list of slots by a column of `live`; an insertion sort, as the list is a few runs already in order."""
    for k in range(1, size):
        s = slots[k, column]
        at = k
        while at > 0 and live[slots[at - 1, column], key] > live[s, key]:
            slots[at, column] = slots[at - 1, column]
            at -= 1
        slots[at, column] = s


@kernel
def append_to_list(s, lists, at, first, last, prev_column, next_column, live):
    """Append slot `s` to doubly linked list `at`, whose ends are in columns `first` and `last`."""
    tail = lists[at, last]
    live[s, prev_column] = tail
    live[s, next_column] = -1
    if tail >= 0:
        live[tail, next_column] = s
    else:
        lists[at, first] = s
    lists[at, last] = s


@kernel
def remove_from_list(s, lists, at, first, last, prev_column, next_column, live):
    """Take slot `s` out of doubly linked list `at`."""
    before = live[s, prev_column]
    after = live[s, next_column]
    if before >= 0:
        live[before, next_column] = after
    else:
        lists[at, first] = after
    if after >= 0:
        live[after, prev_column] = before
    else:
        lists[at, last] = before


@part
def start_decoding(s, kv_tokens, tokens_left, block_size, prefix_caching, live, calendar, phases, count):
    """From the next call on the member takes one token a call, `tokens_left` times; it holds `kv_tokens` now."""
    call = count[CALL]
    live[s, DECODING] = 1
    live[s, SEGMENT] = -1
    live[s, FIRST_SAMPLE] = call
    live[s, BASE] = kv_tokens - call
    live[s, DUE] = call + tokens_left
    append_to_list(s, calendar, live[s, DUE] & (len(calendar) - 1), 0, 1, DUE_PREV, DUE_NEXT, live)
    phase = (call + 1 - kv_tokens) % block_size
    live[s, PHASE] = phase
    phases[phase, MEMBERS] += 1
    phases[phase, STRAGGLER_MEMBERS] += live[s, STRAGGLER]
    if prefix_caching:
        append_to_list(s, phases, phase, FIRST, LAST, PHASE_PREV, PHASE_NEXT, live)
    count[NUM_DECODING] += 1
    count[STRAGGLERS_DECODING] += live[s, STRAGGLER]
    count[DECODING_KV] += kv_tokens


@part
def stop_decoding(s, kv_tokens, prefix_caching, live, calendar, phases, count):
    """The member finished or is preempted, with `kv_tokens` tokens."""
    live[s, DECODING] = 0
    remove_from_list(s, calendar, live[s, DUE] & (len(calendar) - 1), 0, 1, DUE_PREV, DUE_NEXT, live)
    phase = live[s, PHASE]
    phases[phase, MEMBERS] -= 1
    phases[phase, STRAGGLER_MEMBERS] -= live[s, STRAGGLER]
    if prefix_caching:
        remove_from_list(s, phases, phase, FIRST, LAST, PHASE_PREV, PHASE_NEXT, live)
    count[NUM_DECODING] -= 1
    count[STRAGGLERS_DECODING] -= live[s, STRAGGLER]
    count[DECODING_KV] -= kv_tokens
