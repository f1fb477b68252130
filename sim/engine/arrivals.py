"""Requests reach the queue: at their time in an open loop, after the answer and a think time in a closed one."""

import math

from numba import njit

from sim.engine.accounts import Status
from sim.engine.head import reserved_blocks
from sim.engine.inputs import Reserve
from sim.engine.jit import JIT
from sim.engine.state import ARRIVAL_S, ARRIVED, CLOCK, ISSUED, NUM_DONE, PRIORITY, PROMPT_LEN, STATUS
from sim.engine.waiting import enqueue, heap_pop, heap_push


@njit(**JIT)
def next_arrival_s(users, arrival_s, thinking, count):
    """Time of the next arrival, infinite when none is known."""
    arrived = count[ARRIVED]
    if arrived == count[ISSUED]:
        return math.inf
    return thinking[0, 0] if users > 0 else arrival_s[arrived]


@njit(**JIT)
def join_arrivals(users, rules, arrival_s, asked, thinking, out_s, out_n, heap, count, real):
    """Everybody who has arrived by now joins the queue, or is rejected if it can never run."""
    while next_arrival_s(users, arrival_s, thinking, count) <= real[CLOCK]:
        i = count[ARRIVED]
        if users > 0:
            out_s[i, ARRIVAL_S] = thinking[0, 0]
            heap_pop(thinking, count[ISSUED] - i)
        count[ARRIVED] += 1
        if can_never_run(i, rules, asked):
            out_n[i, STATUS] = Status.REJECTED
            count[NUM_DONE] += 1
            if users > 0:
                think(real[CLOCK], arrival_s, thinking, count)
        else:
            enqueue(i, rules.order, asked[i, PRIORITY], heap, out_n, count)


@njit(**JIT)
def can_never_run(i, rules, asked):
    """vLLM refuses a prompt of max_model_len or more; a reservation larger than the memory never fits."""
    if asked[i, PROMPT_LEN] >= rules.max_model_len:
        return True
    return rules.reserve != Reserve.CHUNK and reserved_blocks(i, rules, asked) > rules.usable_blocks


@njit(**JIT)
def think(now, arrival_s, thinking, count):
    """A closed-loop user has the answer and will ask again after a think time."""
    k = count[ISSUED]
    if k < len(arrival_s):
        heap_push(thinking, k - count[ARRIVED], now + arrival_s[k], 0)
        count[ISSUED] += 1
