"""Requests reach the queue: at their time in an open loop, after the answer and a think time in a closed one."""

import math

from numba import njit

from sim.engine.accounts import Status
from sim.engine.head import reserved_blocks
from sim.engine.inputs import Reserve
from sim.engine.jit import JIT
from sim.engine.state import ARRIVAL_S, ARRIVED, CLOCK, ISSUED, NUM_DONE, STATUS
from sim.engine.waiting import enqueue, heap_pop, heap_push


@njit(**JIT)
def next_arrival_s(requests, state):
    """Time of the next arrival, infinite when none is known."""
    arrived = state.count[ARRIVED]
    if arrived == len(requests.prompt_len):
        return math.inf
    if requests.users == 0:
        return requests.arrival_s[arrived]
    if state.count[ISSUED] == arrived:
        return math.inf
    return state.thinking[0]


@njit(**JIT)
def join_arrivals(rules, requests, state):
    """Everybody who has arrived by now joins the queue, or is rejected if it can never run."""
    count = state.count
    now = state.real[CLOCK]
    while next_arrival_s(requests, state) <= now:
        i = count[ARRIVED]
        if requests.users > 0:
            state.out_s[i, ARRIVAL_S] = state.thinking[0]
            heap_pop(state.thinking, state.thinking_id, count[ISSUED] - i)
        count[ARRIVED] += 1
        if can_never_run(i, rules, requests):
            state.out_n[i, STATUS] = Status.REJECTED
            count[NUM_DONE] += 1
            if requests.users > 0:
                think(now, requests, state)
        else:
            enqueue(i, rules.order, requests.priority, state.heap_key, state.heap_id, state.out_n, count)


@njit(**JIT)
def can_never_run(i, rules, requests):
    """vLLM refuses a prompt of max_model_len or more; a reservation larger than the memory never fits."""
    if requests.prompt_len[i] >= rules.max_model_len:
        return True
    return rules.reserve != Reserve.CHUNK and reserved_blocks(i, rules, requests) > rules.usable_blocks


@njit(**JIT)
def think(now, requests, state):
    """A closed-loop user has the answer and will ask again after a think time."""
    count = state.count
    k = count[ISSUED]
    if k < len(requests.prompt_len):
        heap_push(state.thinking, state.thinking_id, k - count[ARRIVED], now + requests.arrival_s[k], 0)
        count[ISSUED] += 1
