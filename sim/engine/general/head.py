"""Who is tried next, by the order of the queue, and what that request would need."""

import math

from sim.engine.general.choices import Counting, Queue, Reservation
from sim.engine.general.queue import COUNT, first_waiting, top_of_heap
from sim.engine.general.reserve import first_chunk, known_tokens, reserved_blocks
from sim.engine.general.state import (
    AFTER,
    HOST_TOKENS,
    NEED_HIGH,
    NEED_LOW,
    NUM_SWAPPED,
    OLDEST_POINT,
    READY_POINT,
    WAITING,
    WHERE,
)
from sim.engine.general.told import GUESS
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for
from sim.engine.state import (
    ARRIVAL_S,
    ARRIVED,
    CAP,
    CLOCK,
    FREE,
    HEAD,
    HEAD_FIRST,
    HEAD_KNOWN,
    HEAD_KNOWN_GOOD,
    HEAD_WHOLE,
    NUM_RUNNING,
    NUM_WAITING,
    WAIT_HEAD,
)


@kernel
def next_in_queue(free, rules, inputs, hints, records, heap, more, count, real):
    """The request to be tried next when `free` blocks are free, or -1."""
    if count[NUM_WAITING] == 0:
        return -1
    if rules.swapped_first and count[NUM_SWAPPED] > 0:
        return first_swapped(more, count)
    if rules.queue == Queue.ARRIVAL:
        i = count[WAIT_HEAD]
        while i >= 0 and more.kept[i, WHERE] != WAITING:
            i = more.kept[i, AFTER]
        count[WAIT_HEAD] = i
        return i
    if rules.queue == Queue.KEY:
        if rules.guard_wait_s > 0.0 or rules.guard_factor > 0.0:
            i = longest_waiting(rules, inputs, hints, records, more, count, real)
            if i >= 0:
                return i
        return top_of_heap(heap, more, count)
    if rules.queue == Queue.NEED:
        return largest_that_fits(free, more, count)
    return least_served(rules.counting, more)


@kernel
def look_at_head(rules, inputs, hints, records, heap, more, count, real):
    """Make the HEAD entries hold for the request to be tried next, -1 when there is none.

    They hold until the queue changes, or always have to be looked up anew where the order depends on the time, on the
    free blocks or on what was learned.
    """
    keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
    i = next_in_queue(count[FREE] - keep, rules, inputs, hints, records, heap, more, count, real)
    count[HEAD_KNOWN_GOOD] = rules.head_lasts
    look_at(i, rules, inputs, hints, records, more, count)


@kernel
def look_at(i, rules, inputs, hints, records, more, count):
    """Make the HEAD entries hold for request `i`, if there is one."""
    count[HEAD] = i
    if i < 0:
        return
    known = known_tokens(i, inputs.asked, records.out_n)
    count[HEAD_KNOWN] = known
    reached = more.kept[i, HOST_TOKENS] + first_chunk(i, rules, inputs.asked, records.out_n, more)
    count[HEAD_FIRST] = blocks_for(reached, rules.block_size)
    count[HEAD_WHOLE] = count[HEAD_FIRST]
    if rules.reservation != Reservation.CHUNK:
        count[HEAD_WHOLE] = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    elif rules.reserve_full_isl:
        count[HEAD_WHOLE] = blocks_for(known, rules.block_size)


@kernel
def oldest(more, count):
    """The waiting request that arrived first, or -1."""
    i = count[OLDEST_POINT]
    while i < count[ARRIVED] and more.kept[i, WHERE] != WAITING:
        i += 1
    count[OLDEST_POINT] = i
    return i if i < count[ARRIVED] else -1


@kernel
def first_swapped(more, count):
    """The request in host memory that arrived first, or -1."""
    i = oldest(more, count)
    while 0 <= i < count[ARRIVED]:
        if more.kept[i, WHERE] == WAITING and more.kept[i, HOST_TOKENS] > 0:
            return i
        i += 1
    return -1


@kernel
def longest_waiting(rules, inputs, hints, records, more, count, real):
    """The request that has waited longest, if that is longer than the guard allows; else -1."""
    i = oldest(more, count)
    if i < 0:
        return -1
    waited_s = real[CLOCK] - records.out_s[i, ARRIVAL_S]
    tokens = hints.numbers[i, GUESS] if i < count[READY_POINT] else inputs.asked[i, CAP]
    estimate_s = rules.estimate_base_s + rules.estimate_token_s * tokens
    if waited_s > rules.guard_wait_s > 0.0 or waited_s > rules.guard_factor * estimate_s > 0.0:
        return i
    return -1


@kernel
def largest_that_fits(free, more, count):
    """First waiting request with the largest need up to `free`; -1 when none fits."""
    while count[NEED_HIGH] >= 0 and first_waiting(count[NEED_HIGH], more) < 0:
        count[NEED_HIGH] -= 1
    for need in range(min(free, count[NEED_HIGH]), count[NEED_LOW] - 1, -1):
        i = first_waiting(need, more)
        if i >= 0:
            return i
    return -1


@kernel
def smallest_need(more, count):
    """A waiting request of the smallest need, or -1."""
    for need in range(count[NEED_LOW], count[NEED_HIGH] + 1):
        i = first_waiting(need, more)
        if i >= 0:
            count[NEED_LOW] = need
            return i
    return -1


@kernel
def least_served(counting, more):
    """Head of the class with the smallest counter among those with somebody waiting; of equals, the first arrival."""
    chosen = -1
    lowest = math.inf
    for k in range(len(more.counter)):
        i = first_waiting(k, more)
        if i < 0:
            continue
        served = more.counter[k, COUNT] if counting != Counting.NONE else 0.0
        if served < lowest or (served == lowest and i < chosen):
            chosen = i
            lowest = served
    return chosen
