"""Waiting requests: a list by arrival, a heap by key, lists by need, or lists by class.

Who leaves the queue other than by being served stays where it is and is passed over: an entry counts only while its
request waits, and in a heap only under its present key.
"""

import math

from numba import njit

from sim.engine.general.choices import Counting, Queue, Reservation
from sim.engine.general.reserve import first_chunk, known_tokens, reserved_blocks
from sim.engine.general.state import (
    AFTER,
    HEAP_SIZE,
    HOST_TOKENS,
    KEY,
    NEED_HIGH,
    NEED_LOW,
    OLDEST_POINT,
    PLAN,
    WAITING,
    WHERE,
)
from sim.engine.general.told import GROUP, GUESS
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.state import (
    ARRIVAL_S,
    ARRIVED,
    CLOCK,
    FREE,
    HEAD,
    HEAD_FIRST,
    HEAD_KNOWN,
    HEAD_KNOWN_GOOD,
    HEAD_WHOLE,
    NUM_RUNNING,
    NUM_WAITING,
    PROMPT_LEN,
    WAIT_HEAD,
    WAIT_TAIL,
)
from sim.engine.waiting import heap_pop, heap_push

COUNT, PRESENT = range(2)  # columns of `counter`


@njit(**JIT)
def list_of(i, rules, inputs, hints, records, more, count):
    """Which of the lists by need or class a request waits in."""
    if rules.queue == Queue.CLASS:
        return hints.numbers[i, GROUP]
    need = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    more.kept[i, PLAN] = need
    count[NEED_LOW] = min(count[NEED_LOW], need)
    count[NEED_HIGH] = max(count[NEED_HIGH], need)
    return need


@njit(**JIT)
def join_queue(i, is_back, rules, inputs, hints, records, heap, more, count):
    """A request joins the queue; one that comes back goes to the front of its list."""
    kept = more.kept
    kept[i, WHERE] = WAITING
    if count[NUM_WAITING] == 0 or is_back or rules.queue != Queue.ARRIVAL:
        count[HEAD_KNOWN_GOOD] = 0
    count[NUM_WAITING] += 1
    count[OLDEST_POINT] = min(count[OLDEST_POINT], i)
    if rules.queue == Queue.KEY or rules.is_preemptive:
        heap_push(heap, count[HEAP_SIZE], more.kept_s[i, KEY], i)
        count[HEAP_SIZE] += 1
    elif rules.queue == Queue.ARRIVAL:
        if count[WAIT_HEAD] < 0:
            kept[i, AFTER] = -1
            count[WAIT_HEAD] = i
            count[WAIT_TAIL] = i
        elif is_back:
            kept[i, AFTER] = count[WAIT_HEAD]
            count[WAIT_HEAD] = i
        else:
            kept[i, AFTER] = -1
            kept[count[WAIT_TAIL], AFTER] = i
            count[WAIT_TAIL] = i
    else:
        at = list_of(i, rules, inputs, hints, records, more, count)
        if rules.queue == Queue.CLASS:
            become_present(at, rules, more.counter)
        if more.lists[at, 0] < 0:
            kept[i, AFTER] = -1
            more.lists[at, 0] = i
            more.lists[at, 1] = i
        elif is_back:
            kept[i, AFTER] = more.lists[at, 0]
            more.lists[at, 0] = i
        else:
            kept[i, AFTER] = -1
            kept[more.lists[at, 1], AFTER] = i
            more.lists[at, 1] = i


@njit(**JIT)
def become_present(at, rules, counter):
    """A class that had nobody here returns with a counter not below those of the classes that have."""
    if counter[at, PRESENT] == 0:
        lowest = math.inf
        for k in range(len(counter)):
            if counter[k, PRESENT] > 0:
                lowest = min(lowest, counter[k, COUNT])
        if lowest < math.inf:
            counter[at, COUNT] = max(counter[at, COUNT], lowest)


@njit(**JIT)
def first_waiting(at, more):
    """First request of list `at` that still waits, or -1."""
    i = more.lists[at, 0]
    while i >= 0 and more.kept[i, WHERE] != WAITING:
        i = more.kept[i, AFTER]
    more.lists[at, 0] = i
    return i


@njit(**JIT)
def top_of_heap(heap, more, count):
    """Waiting request with the smallest key, or -1."""
    while count[HEAP_SIZE] > 0:
        i = int(heap[0, 1])
        if more.kept[i, WHERE] == WAITING and heap[0, 0] == more.kept_s[i, KEY]:
            return i
        heap_pop(heap, count[HEAP_SIZE])
        count[HEAP_SIZE] -= 1
    return -1


@njit(**JIT)
def next_in_queue(free, rules, hints, records, heap, more, count, real):
    """The request to be tried next when `free` blocks are free, or -1."""
    if count[NUM_WAITING] == 0:
        return -1
    if rules.queue == Queue.ARRIVAL:
        i = count[WAIT_HEAD]
        while i >= 0 and more.kept[i, WHERE] != WAITING:
            i = more.kept[i, AFTER]
        count[WAIT_HEAD] = i
        return i
    if rules.queue == Queue.KEY:
        if rules.guard_wait_s > 0.0 or rules.guard_factor > 0.0:
            i = longest_waiting(rules, hints, records, more, count, real)
            if i >= 0:
                return i
        return top_of_heap(heap, more, count)
    if rules.queue == Queue.NEED:
        return largest_that_fits(free, more, count)
    return least_served(more)


@njit(**JIT)
def look_at_head(rules, inputs, hints, records, heap, more, count, real):
    """Make the HEAD entries hold for the request to be tried next, -1 when there is none.

    They hold until the queue changes, or always have to be looked up anew where the order depends on the time, on the
    free blocks or on what was learned.
    """
    keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
    i = next_in_queue(count[FREE] - keep, rules, hints, records, heap, more, count, real)
    count[HEAD] = i
    count[HEAD_KNOWN_GOOD] = rules.head_lasts
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


@njit(**JIT)
def longest_waiting(rules, hints, records, more, count, real):
    """The request that has waited longest, if that is longer than the guard allows; else -1."""
    i = count[OLDEST_POINT]
    while i < count[ARRIVED] and more.kept[i, WHERE] != WAITING:
        i += 1
    count[OLDEST_POINT] = i
    if i == count[ARRIVED]:
        return -1
    waited_s = real[CLOCK] - records.out_s[i, ARRIVAL_S]
    estimate_s = rules.estimate_base_s + rules.estimate_token_s * hints.numbers[i, GUESS]
    if waited_s > rules.guard_wait_s > 0.0 or waited_s > rules.guard_factor * estimate_s > 0.0:
        return i
    return -1


@njit(**JIT)
def largest_that_fits(free, more, count):
    """First waiting request with the largest need up to `free`; -1 when none fits."""
    while count[NEED_HIGH] >= 0 and first_waiting(count[NEED_HIGH], more) < 0:
        count[NEED_HIGH] -= 1
    for need in range(min(free, count[NEED_HIGH]), count[NEED_LOW] - 1, -1):
        i = first_waiting(need, more)
        if i >= 0:
            return i
    return -1


@njit(**JIT)
def smallest_need(more, count):
    """A waiting request of the smallest need, or -1."""
    for need in range(count[NEED_LOW], count[NEED_HIGH] + 1):
        i = first_waiting(need, more)
        if i >= 0:
            count[NEED_LOW] = need
            return i
    return -1


@njit(**JIT)
def least_served(more):
    """Head of the class with the smallest counter among those with somebody waiting."""
    chosen = -1
    lowest = math.inf
    for k in range(len(more.counter)):
        i = first_waiting(k, more)
        if i >= 0 and more.counter[k, COUNT] < lowest:
            chosen = i
            lowest = more.counter[k, COUNT]
    return chosen


@njit(**JIT)
def note_served(i, rules, inputs, hints, counter):
    """The class of an admitted request moves on."""
    k = hints.numbers[i, GROUP]
    if rules.counting == Counting.TURNS:
        counter[k, COUNT] += 1.0 / hints.weight[k]
    else:
        counter[k, COUNT] += inputs.asked[i, PROMPT_LEN]


@njit(**JIT)
def leave_queue(i, rules, hints, more, count):
    """The request that was next in the queue is served."""
    count[NUM_WAITING] -= 1
    count[HEAD_KNOWN_GOOD] = 0
    if rules.queue == Queue.ARRIVAL:
        if count[WAIT_HEAD] == i:
            count[WAIT_HEAD] = more.kept[i, AFTER]
    elif rules.queue >= Queue.NEED:
        at = hints.numbers[i, GROUP] if rules.queue == Queue.CLASS else more.kept[i, PLAN]
        if more.lists[at, 0] == i:
            more.lists[at, 0] = more.kept[i, AFTER]
