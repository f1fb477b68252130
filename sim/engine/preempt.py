"""Preemption by recompute: a victim loses its blocks, keeps its tokens and returns to the queue."""

from numba import njit

from sim.engine.inputs import Order
from sim.engine.jit import JIT
from sim.engine.kv_memory import release
from sim.engine.members import leave, stop_decoding
from sim.engine.segments import close_segment
from sim.engine.state import (
    ARRIVAL_S,
    BASE,
    CALL,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    HIGH_WATER,
    NUM_PARTIAL,
    NUM_PREEMPTED,
    PAUSED_SINCE_S,
    PREEMPTED,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    RUN_TAIL,
    SERVED,
    SUM_PREEMPTED,
)
from sim.engine.waiting import put_back


@njit(**JIT)
def computed_before(s, live, count):
    """KV tokens of a member before this call."""
    if live[s, DECODING]:
        return live[s, BASE] + count[CALL] - 1
    return live[s, COMPUTED]


@njit(**JIT)
def victim(order, priority, live, out_s, count):
    """Who gives way: the last admitted; by priority the largest (priority, arrival), the first such in running order."""
    if order == Order.FCFS:
        return count[RUN_TAIL]
    chosen = count[RUN_HEAD]
    s = live[chosen, RUN_NEXT]
    while s >= 0:
        a = live[s, REQUEST]
        b = live[chosen, REQUEST]
        if priority[a] > priority[b] or (priority[a] == priority[b] and out_s[a, ARRIVAL_S] > out_s[b, ARRIVAL_S]):
            chosen = s
        s = live[s, RUN_NEXT]
    return chosen


@njit(**JIT)
def preempt(s, rules, requests, state):
    """Throw a member out; what this call had scheduled for it is undone, but keys it set stay (vLLM's phantoms)."""
    count = state.count
    live = state.live
    i = live[s, REQUEST]
    before = computed_before(s, live, count)
    now = before
    if live[s, SERVED] == count[CALL]:
        now += live[s, CHUNK]
    if live[s, DECODING]:
        close_segment(
            s,
            count[CALL] - 1,
            requests.prompt_len,
            live,
            state.live_s,
            state.out_s,
            state.out_n,
            state.gap_call,
            state.gap_s,
            count,
            state.real,
        )
        stop_decoding(
            s, now, rules.prefix_caching, live, state.calendar, state.boundary, state.phase_list, count
        )
    else:
        drop_partial(s, state.partial, count)
    release(s, now, rules.block_size, rules.prefix_caching, live, state.blocks, state.block_table, count)
    leave(s, live, state.free_slots, count)
    state.out_n[i, HIGH_WATER] = max(state.out_n[i, HIGH_WATER], before)
    state.out_n[i, PREEMPTED] += 1
    state.out_s[i, PAUSED_SINCE_S] = state.real[CLOCK]
    state.preempted[count[NUM_PREEMPTED], 0] = i
    state.preempted[count[NUM_PREEMPTED], 1] = before
    count[NUM_PREEMPTED] += 1
    count[SUM_PREEMPTED] += 1
    put_back(i, rules.order, requests.priority, state.heap_key, state.heap_id, state.out_n, count)


@njit(**JIT)
def drop_partial(s, partial, count):
    """Take a slot out of the list of members in mid-prompt, which stays in running order."""
    kept = 0
    for k in range(count[NUM_PARTIAL]):
        if partial[k] != s:
            partial[kept] = partial[k]
            kept += 1
    count[NUM_PARTIAL] = kept
