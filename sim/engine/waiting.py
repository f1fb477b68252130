"""The waiting queue: a linked list where order is arrival, a binary heap for every other order."""

import math

from sim.engine.inputs import Order
from sim.engine.kernel import kernel, part
from sim.engine.state import HEAD_KNOWN_GOOD, NEXT_WAITING, NUM_WAITING, WAIT_HEAD, WAIT_TAIL


@part
def comes_first(key, i, other_key, other):
    """Order of a heap: by key, then by id."""
    return key < other_key or (key == other_key and i < other)


@kernel
def heap_push(heap, size, key, i):
    """Add (key, i) to a heap of `size` entries; the smallest (key, id) is at 0."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if comes_first(heap[up, 0], heap[up, 1], key, i):
            break
        heap[at, 0] = heap[up, 0]
        heap[at, 1] = heap[up, 1]
        at = up
    heap[at, 0] = key
    heap[at, 1] = i


@kernel
def heap_pop(heap, size):
    """Take the smallest entry out of a heap of `size` entries; its id."""
    top = heap[0, 1]
    last = size - 1
    key = heap[last, 0]
    i = heap[last, 1]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= last:
            break
        right = down + 1
        if right < last and (
            heap[right, 0] < heap[down, 0] or (heap[right, 0] == heap[down, 0] and heap[right, 1] < heap[down, 1])
        ):
            down = right
        if key < heap[down, 0] or (key == heap[down, 0] and i < heap[down, 1]):
            break
        heap[at, 0] = heap[down, 0]
        heap[at, 1] = heap[down, 1]
        at = down
    heap[at, 0] = key
    heap[at, 1] = i
    return int(top)


@part
def enqueue(i, order, priority, heap, out_n, count):
    """A request joins the queue behind those of its rank."""
    if order == Order.FCFS:
        out_n[i, NEXT_WAITING] = -1
        if count[NUM_WAITING] == 0:
            count[WAIT_HEAD] = i
        else:
            out_n[count[WAIT_TAIL], NEXT_WAITING] = i
        count[WAIT_TAIL] = i
    else:
        heap_push(heap, count[NUM_WAITING], float(priority), i)
    if count[NUM_WAITING] == 0 or order != Order.FCFS:
        count[HEAD_KNOWN_GOOD] = 0
    count[NUM_WAITING] += 1


@part
def put_back(i, order, priority, heap, out_n, count):
    """A preempted request returns: to the front under FCFS, to its rank else."""
    if order == Order.FCFS:
        out_n[i, NEXT_WAITING] = count[WAIT_HEAD] if count[NUM_WAITING] > 0 else -1
        if count[NUM_WAITING] == 0:
            count[WAIT_TAIL] = i
        count[WAIT_HEAD] = i
    else:
        heap_push(heap, count[NUM_WAITING], float(priority), i)
    count[HEAD_KNOWN_GOOD] = 0
    count[NUM_WAITING] += 1


@part
def head_of_queue(order, heap, count):
    """The request served next; the queue must not be empty."""
    if order == Order.FCFS:
        return count[WAIT_HEAD]
    return int(heap[0, 1])


@part
def dequeue(order, heap, out_n, count):
    """Take the head out of the queue."""
    if order == Order.FCFS:
        count[WAIT_HEAD] = out_n[count[WAIT_HEAD], NEXT_WAITING]
    else:
        heap_pop(heap, count[NUM_WAITING])
    count[NUM_WAITING] -= 1
    count[HEAD_KNOWN_GOOD] = 0


@part
def remove(i, order, heap, out_n, count):
    """Take a request out of the queue, wherever it stands."""
    count[HEAD_KNOWN_GOOD] = 0
    if order == Order.FCFS:
        before = -1
        at = count[WAIT_HEAD]
        while at != i:
            before = at
            at = out_n[at, NEXT_WAITING]
        if before < 0:
            count[WAIT_HEAD] = out_n[i, NEXT_WAITING]
        else:
            out_n[before, NEXT_WAITING] = out_n[i, NEXT_WAITING]
            if count[WAIT_TAIL] == i:
                count[WAIT_TAIL] = before
        count[NUM_WAITING] -= 1
        return
    size = count[NUM_WAITING]
    for k in range(size):
        if heap[k, 1] == i:
            heap[k, 0] = -math.inf
            sift_up(k, heap)
            break
    heap_pop(heap, size)
    count[NUM_WAITING] -= 1


@part
def sift_up(at, heap):
    """Restore a heap after the entry at `at` became smaller."""
    key = heap[at, 0]
    i = heap[at, 1]
    heap_push(heap, at, key, i)
