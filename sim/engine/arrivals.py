"""Requests reach the queue: at their time, or after an answer, which a closed loop's user or a retry waits for."""

import math

from sim.engine.accounts import Status
from sim.engine.head import reserved_blocks
from sim.engine.inputs import Reserve
from sim.engine.kernel import kernel, part
from sim.engine.retries import deal, name_quotes
from sim.engine.state import (
    ARRIVAL_S,
    ARRIVED,
    CLOCK,
    END_SEGMENT,
    EXPECTED,
    FIRST_SEGMENT,
    FIRST_TRIES,
    ISSUED,
    NUM_DONE,
    NUM_DUE,
    PRIORITY,
    PROMPT_LEN,
    RETRY_S,
    STATUS,
)
from sim.engine.waiting import enqueue, heap_pop, heap_push


@part
def next_arrival_s(users, arrival_s, thinking, count):
    """Time of the next arrival, infinite when none is known."""
    next_s = math.inf
    if users == 0 and count[FIRST_TRIES] < len(arrival_s):
        next_s = arrival_s[count[FIRST_TRIES]]
    if count[NUM_DUE] > 0:
        next_s = min(next_s, thinking[0, 0])
    return next_s


@kernel
def take_arrival(users, arrival_s, thinking, out_s, count):
    """Whoever is next arrives; its row."""
    row = count[FIRST_TRIES]
    at_s = arrival_s[row] if users == 0 and row < len(arrival_s) else math.inf
    if count[NUM_DUE] > 0 and thinking[0, 0] < at_s:
        at_s = thinking[0, 0]
        again = heap_pop(thinking, count[NUM_DUE])
        count[NUM_DUE] -= 1
        row = again if again > 0 else row
    count[FIRST_TRIES] += row < len(arrival_s)
    out_s[count[ARRIVED], ARRIVAL_S] = at_s
    count[ARRIVED] += 1
    return row


@part
def join_arrivals(users, rules, inputs, pool, thinking, out_s, out_n, heap, count, real):
    """Everybody who has arrived by now joins the queue, or is rejected if it can never run."""
    arrival_s, asked, segments, _ = inputs
    while next_arrival_s(users, arrival_s, thinking, count) <= real[CLOCK]:
        i = count[ARRIVED]
        row = take_arrival(users, arrival_s, thinking, out_s, count)
        if len(pool.order) > 0:
            deal(i, row, pool, asked)
            name_quotes(asked[i, FIRST_SEGMENT], asked[i, END_SEGMENT], pool.place, segments)
        if can_never_run(i, rules, asked):
            out_n[i, STATUS] = Status.REJECTED
            count[NUM_DONE] += 1
            think(real[CLOCK], arrival_s, thinking, count)
        else:
            enqueue(i, rules.order, asked[i, PRIORITY], heap, out_n, count)


@part
def can_never_run(i, rules, asked):
    """vLLM refuses a prompt of max_model_len or more; a reservation larger than the memory never fits."""
    if asked[i, PROMPT_LEN] >= rules.max_model_len:
        return True
    return rules.reserve != Reserve.CHUNK and reserved_blocks(i, rules, asked) > rules.usable_blocks


@part
def think(now, arrival_s, thinking, count):
    """A closed-loop user is done with a question and will ask again after a think time."""
    k = count[ISSUED]
    if k < len(arrival_s):
        heap_push(thinking, count[NUM_DUE], now + arrival_s[k], 0)
        count[NUM_DUE] += 1
        count[ISSUED] += 1


@kernel
def note_answer(retry, arrival_s, thinking, count, real):
    """A user has the answer: row `retry` follows unless it is 0, else in a closed loop the next question."""
    if retry > 0:
        heap_push(thinking, count[NUM_DUE], real[CLOCK] + real[RETRY_S], retry)
        count[NUM_DUE] += 1
        count[EXPECTED] += 1
    else:
        think(real[CLOCK], arrival_s, thinking, count)
