"""The running set: order of admission, calendar of completions, phases of block growth.

A decoding member is in the calendar's list of the call that finishes it and is counted in `boundary` under the
phase at which it needs its next block, so a quiet call visits nobody.
"""

from numba import njit

from sim.engine.jit import JIT
from sim.engine.state import (
    BASE,
    CALL,
    DECODING,
    DECODING_KV,
    DUE,
    DUE_NEXT,
    DUE_PREV,
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
    SEQ,
    STRAGGLER,
    STRAGGLERS_DECODING,
)


@njit(**JIT)
def join(i, is_straggler, live, free_slots, count):
    """Give request `i` a slot at the end of the running order; the slot."""
    count[NUM_FREE_SLOTS] -= 1
    s = free_slots[count[NUM_FREE_SLOTS]]
    row = live[s]
    row[REQUEST] = i
    row[STRAGGLER] = is_straggler
    row[SEQ] = count[NEXT_SEQ]
    row[DECODING] = 0
    tail = count[RUN_TAIL]
    row[RUN_PREV] = tail
    row[RUN_NEXT] = -1
    if tail >= 0:
        live[tail, RUN_NEXT] = s
    else:
        count[RUN_HEAD] = s
    count[RUN_TAIL] = s
    count[NEXT_SEQ] += 1
    count[NUM_RUNNING] += 1
    return s


@njit(**JIT)
def leave(s, live, free_slots, count):
    """Take a member out of the running order and free its slot."""
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
    free_slots[count[NUM_FREE_SLOTS]] = s
    count[NUM_FREE_SLOTS] += 1
    count[NUM_RUNNING] -= 1


@njit(**JIT)
def append_to_list(s, lists, at, prev_column, next_column, live):
    """Append slot `s` to doubly linked list number `at`."""
    tail = lists[at, 1]
    live[s, prev_column] = tail
    live[s, next_column] = -1
    if tail >= 0:
        live[tail, next_column] = s
    else:
        lists[at, 0] = s
    lists[at, 1] = s


@njit(**JIT)
def remove_from_list(s, lists, at, prev_column, next_column, live):
    """Take slot `s` out of doubly linked list number `at`."""
    before = live[s, prev_column]
    after = live[s, next_column]
    if before >= 0:
        live[before, next_column] = after
    else:
        lists[at, 0] = after
    if after >= 0:
        live[after, prev_column] = before
    else:
        lists[at, 1] = before


@njit(**JIT)
def start_decoding(s, kv_tokens, tokens_left, block_size, prefix_caching, live, calendar, boundary, phase_list, count):
    """From the next call on the member takes one token a call, `tokens_left` times; it holds `kv_tokens` now."""
    call = count[CALL]
    row = live[s]
    row[DECODING] = 1
    row[BASE] = kv_tokens - call
    row[DUE] = call + tokens_left
    append_to_list(s, calendar, row[DUE] & (len(calendar) - 1), DUE_PREV, DUE_NEXT, live)
    phase = (call + 1 - kv_tokens) % block_size
    row[PHASE] = phase
    boundary[phase, 0] += 1
    boundary[phase, 1] += row[STRAGGLER]
    if prefix_caching:
        append_to_list(s, phase_list, phase, PHASE_PREV, PHASE_NEXT, live)
    count[NUM_DECODING] += 1
    count[STRAGGLERS_DECODING] += row[STRAGGLER]
    count[DECODING_KV] += kv_tokens


@njit(**JIT)
def stop_decoding(s, kv_tokens, prefix_caching, live, calendar, boundary, phase_list, count):
    """The member finished or is preempted, with `kv_tokens` tokens."""
    row = live[s]
    row[DECODING] = 0
    remove_from_list(s, calendar, row[DUE] & (len(calendar) - 1), DUE_PREV, DUE_NEXT, live)
    phase = row[PHASE]
    boundary[phase, 0] -= 1
    boundary[phase, 1] -= row[STRAGGLER]
    if prefix_caching:
        remove_from_list(s, phase_list, phase, PHASE_PREV, PHASE_NEXT, live)
    count[NUM_DECODING] -= 1
    count[STRAGGLERS_DECODING] -= row[STRAGGLER]
    count[DECODING_KV] -= kv_tokens
