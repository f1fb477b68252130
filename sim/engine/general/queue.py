"""Waiting requests: a list by arrival, a heap by key, lists by need, or lists by class.

A request that went away stays where it is and is passed over: an entry counts only while its request waits, and in a
heap only under its present key. A request has at most two entries in the heap: one of its present key, one of the key
that it had before its prediction came.
"""

import math

from sim.engine.general.choices import Counting, Queue
from sim.engine.general.reserve import reserved_blocks
from sim.engine.general.state import (
    AFTER,
    HEAP_SIZE,
    IN_HEAP,
    KEY,
    NEED_HIGH,
    NEED_LOW,
    OLDEST_POINT,
    PLAN,
    WAITING,
    WHERE,
)
from sim.engine.general.told import GROUP
from sim.engine.kernel import kernel
from sim.engine.state import (
    HEAD_KNOWN_GOOD,
    NUM_WAITING,
    PROMPT_LEN,
    WAIT_HEAD,
    WAIT_TAIL,
)
from sim.engine.waiting import heap_pop, heap_push

COUNT, PRESENT = range(2)  # columns of `counter`


@kernel
def list_of(i, rules, inputs, hints, records, more, count):
    """Which of the lists by need or class a request waits in."""
    if rules.queue == Queue.CLASS:
        return hints.numbers[i, GROUP]
    need = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    more.kept[i, PLAN] = need
    count[NEED_LOW] = min(count[NEED_LOW], need)
    count[NEED_HIGH] = max(count[NEED_HIGH], need)
    return need


@kernel
def join_queue(i, is_back, rules, inputs, hints, records, heap, more, count):
    """A request joins the queue; one that comes back goes to the front, among its like to its place by arrival."""
    kept = more.kept
    kept[i, WHERE] = WAITING
    if count[NUM_WAITING] == 0 or is_back or rules.queue != Queue.ARRIVAL:
        count[HEAD_KNOWN_GOOD] = 0
    count[NUM_WAITING] += 1
    count[OLDEST_POINT] = min(count[OLDEST_POINT], i)
    if rules.queue == Queue.KEY or rules.is_preemptive:
        push(i, heap, more, count)
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
            become_present(at, more.counter)
        if more.lists[at, 0] < 0:
            kept[i, AFTER] = -1
            more.lists[at, 0] = i
            more.lists[at, 1] = i
        elif is_back:
            insert_by_arrival(i, at, more)
        else:
            kept[i, AFTER] = -1
            kept[more.lists[at, 1], AFTER] = i
            more.lists[at, 1] = i


@kernel
def push(i, heap, more, count):
    """The request joins the heap, unless it is there under the same key."""
    if more.kept[i, IN_HEAP]:
        return
    more.kept[i, IN_HEAP] = 1
    heap_push(heap, count[HEAP_SIZE], more.kept_s[i, KEY], i)
    count[HEAP_SIZE] += 1


@kernel
def change_key(i, key, more):
    """From here on the request is ordered by another key; an entry under the old one no longer counts."""
    if key != more.kept_s[i, KEY]:
        more.kept_s[i, KEY] = key
        more.kept[i, IN_HEAP] = 0


@kernel
def insert_by_arrival(i, at, more):
    """Put a request into list `at`, which is not empty, before everybody who arrived later."""
    kept = more.kept
    before = -1
    after = more.lists[at, 0]
    while 0 <= after < i:
        before = after
        after = kept[after, AFTER]
    kept[i, AFTER] = after
    if before < 0:
        more.lists[at, 0] = i
    else:
        kept[before, AFTER] = i
    if after < 0:
        more.lists[at, 1] = i


@kernel
def unlink(i, at, more):
    """Take a request out of list `at`, wherever it stands."""
    kept = more.kept
    if more.lists[at, 0] == i:
        more.lists[at, 0] = kept[i, AFTER]
        return
    before = more.lists[at, 0]
    while kept[before, AFTER] != i:
        before = kept[before, AFTER]
    kept[before, AFTER] = kept[i, AFTER]
    if more.lists[at, 1] == i:
        more.lists[at, 1] = before


@kernel
def become_present(at, counter):
    """A class that had nobody here returns with a counter not below those of the classes that have."""
    if counter[at, PRESENT] == 0:
        lowest = math.inf
        for k in range(len(counter)):
            if counter[k, PRESENT] > 0:
                lowest = min(lowest, counter[k, COUNT])
        if lowest < math.inf:
            counter[at, COUNT] = max(counter[at, COUNT], lowest)


@kernel
def first_waiting(at, more):
    """First request of list `at` that still waits, or -1."""
    i = more.lists[at, 0]
    while i >= 0 and more.kept[i, WHERE] != WAITING:
        i = more.kept[i, AFTER]
    more.lists[at, 0] = i
    return i


@kernel
def top_of_heap(heap, more, count):
    """Waiting request with the smallest key, or -1."""
    while count[HEAP_SIZE] > 0:
        i = int(heap[0, 1])
        is_present = heap[0, 0] == more.kept_s[i, KEY]
        if more.kept[i, WHERE] == WAITING and is_present:
            return i
        if is_present:
            more.kept[i, IN_HEAP] = 0
        heap_pop(heap, count[HEAP_SIZE])
        count[HEAP_SIZE] -= 1
    return -1


@kernel
def note_served(i, rules, inputs, hints, counter):
    """The class of an admitted request moves on."""
    k = hints.numbers[i, GROUP]
    if rules.counting == Counting.TURNS:
        counter[k, COUNT] += 1.0 / hints.weight[k]
    elif rules.counting == Counting.TOKENS:
        counter[k, COUNT] += inputs.asked[i, PROMPT_LEN]


@kernel
def leave_queue(i, rules, hints, heap, more, count):
    """The request is served, be it from the head of the queue or from further behind."""
    count[NUM_WAITING] -= 1
    count[HEAD_KNOWN_GOOD] = 0
    if rules.queue == Queue.KEY:
        if heap[0, 1] == i and heap[0, 0] == more.kept_s[i, KEY]:
            heap_pop(heap, count[HEAP_SIZE])
            count[HEAP_SIZE] -= 1
            more.kept[i, IN_HEAP] = 0
    elif rules.queue == Queue.ARRIVAL:
        leave_arrivals(i, more, count)
    else:
        unlink(i, hints.numbers[i, GROUP] if rules.queue == Queue.CLASS else more.kept[i, PLAN], more)


@kernel
def leave_arrivals(i, more, count):
    """Take a request out of the queue by arrival."""
    if count[WAIT_HEAD] == i:
        count[WAIT_HEAD] = more.kept[i, AFTER]
        return
    before = count[WAIT_HEAD]
    while more.kept[before, AFTER] != i:
        before = more.kept[before, AFTER]
    more.kept[before, AFTER] = more.kept[i, AFTER]
    if count[WAIT_TAIL] == i:
        count[WAIT_TAIL] = before
