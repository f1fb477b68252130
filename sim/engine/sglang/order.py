"""In which order the queue is tried, and what of it is touched in the tree.

The queue is a ring: entry `k` is `ring[(head + k) & mask]`. Source: README of the SGLang goldens, findings 21 to 24.
"""

import numpy as np

from sim.engine.kernel import kernel
from sim.engine.sglang.inputs import SglangOrder
from sim.engine.sglang.state import (
    EMITTED,
    MAX_NEW,
    MOST_MATCHED,
    NOTHING,
    NUM_SORTED,
    PASSES,
    PROMPT,
    QUEUE_HEAD,
    RANK,
    SEEN,
    SEEN_KEY,
)
from sim.engine.sglang.text import equal_until, text_key
from sim.engine.sglang.tree import match
from sim.engine.state import NUM_WAITING

TOUCH_INTERVAL = 32  # passes
SHORT_MATCH = 32  # tokens: a request with so little in the cache may wait for a like one
SHARED_IN_QUEUE = np.int64(32)  # tokens in common with a like one from which on it does
BEHIND_ALL = np.int64(1 << 40)


@kernel
def waiting_at(place, ring, count):
    """Request in a place of the queue."""
    return np.int64(ring[(count[QUEUE_HEAD] + place) & (len(ring) - 1)])


@kernel
def join_queue(i, ring, count):
    """A request joins the end of the queue."""
    ring[(count[QUEUE_HEAD] + count[NUM_WAITING]) & (len(ring) - 1)] = i
    count[NUM_WAITING] += 1


@kernel
def leave_queue(requests, count):
    """The first requests of the queue have been admitted."""
    count[QUEUE_HEAD] += requests
    count[NUM_WAITING] -= requests
    count[NUM_SORTED] = max(0, count[NUM_SORTED] - requests)


@kernel
def sort_queue(order, radix_cache, queue, req, texts, tree, count):
    """Put the queue into the order in which this pass tries it."""
    waiting = count[NUM_WAITING]
    if order == SglangOrder.LPM and radix_cache and waiting <= MOST_MATCHED:
        sort_by_match(queue.ring, queue.sorting, req, texts, tree, count)
        return
    if order == SglangOrder.LOF:
        sort_by_output(queue.ring, queue.spare, req, count)
    if waiting == 0:
        return
    if radix_cache and count[PASSES] % TOUCH_INTERVAL == 0:
        for k in range(min(waiting, MOST_MATCHED) - 1, -1, -1):
            i = waiting_at(k, queue.ring, count)
            match(i, np.int64(req[i, PROMPT] + req[i, EMITTED]), texts, tree, count)
    count[PASSES] += 1


@kernel
def sort_by_match(ring, sorting, req, texts, tree, count):
    """Longest cached beginning first; requests that begin like an uncached one before them go last."""
    num_seen = NOTHING
    for k in range(count[NUM_WAITING]):
        i = waiting_at(k, ring, count)
        known = np.int64(req[i, PROMPT] + req[i, EMITTED])
        matched, _ = match(i, known, texts, tree, count)
        rank = -min(matched, known - 1)
        if matched <= SHORT_MATCH and known >= SHARED_IN_QUEUE:
            key = text_key(i, NOTHING, SHARED_IN_QUEUE, texts.texts, texts.segments)
            if begins_like_one(i, key, num_seen, sorting, texts):
                rank = BEHIND_ALL
            else:
                sorting[SEEN, num_seen] = i
                sorting[SEEN_KEY, num_seen] = key
                num_seen += 1
        put_in_place(k, i, rank, ring, sorting, count)


@kernel
def begins_like_one(i, key, num_seen, sorting, texts):
    """Whether one of those seen begins with the same tokens."""
    for k in range(num_seen):
        if sorting[SEEN_KEY, k] == key:
            j = sorting[SEEN, k]
            if equal_until(i, j, NOTHING, SHARED_IN_QUEUE, texts.texts, texts.segments) == SHARED_IN_QUEUE:
                return True
    return False


@kernel
def put_in_place(k, i, rank, ring, sorting, count):
    """Entry `k` of the queue moves before those of a larger rank."""
    mask = len(ring) - 1
    head = count[QUEUE_HEAD]
    while k > 0 and sorting[RANK, k - 1] > rank:
        sorting[RANK, k] = sorting[RANK, k - 1]
        ring[(head + k) & mask] = ring[(head + k - 1) & mask]
        k -= 1
    sorting[RANK, k] = rank
    ring[(head + k) & mask] = i


@kernel
def sort_by_output(ring, spare, req, count):
    """Largest max_new_tokens first: those who joined since are sorted, then merged with the rest."""
    begin = count[NUM_SORTED]
    end = count[NUM_WAITING]
    width = 1
    while width < end - begin:
        for low in range(begin, end - width, 2 * width):
            merge(low, low + width, min(low + 2 * width, end), ring, spare, req, count[QUEUE_HEAD])
        width *= 2
    merge(NOTHING, begin, end, ring, spare, req, count[QUEUE_HEAD])
    count[NUM_SORTED] = end


@kernel
def merge(low, middle, high, ring, spare, req, head):
    """Two neighbouring sorted stretches of the queue become one; of equals, those of the first stretch come first."""
    mask = len(ring) - 1
    if low == middle or middle == high:
        return
    for k in range(middle, high):
        spare[k - middle] = ring[(head + k) & mask]
    left = middle - 1
    right = high - middle - 1
    at = high - 1
    while right >= 0:
        if left >= low and req[ring[(head + left) & mask], MAX_NEW] < req[spare[right], MAX_NEW]:
            ring[(head + at) & mask] = ring[(head + left) & mask]
            left -= 1
        else:
            ring[(head + at) & mask] = spare[right]
            right -= 1
        at -= 1
