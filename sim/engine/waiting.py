"""The waiting queue: a linked list where order is arrival, a binary heap for every other order."""

from numba import njit

from sim.engine.inputs import Order
from sim.engine.jit import JIT
from sim.engine.state import HEAD_KNOWN_GOOD, NEXT_WAITING, NUM_WAITING, WAIT_HEAD, WAIT_TAIL


@njit(**JIT)
def heap_push(keys, ids, size, key, i):
    """Add (key, i) to a heap of `size` entries; the smallest (key, id) is at 0."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] < key or (keys[up] == key and ids[up] < i):
            break
        keys[at] = keys[up]
        ids[at] = ids[up]
        at = up
    keys[at] = key
    ids[at] = i


@njit(**JIT)
def heap_pop(keys, ids, size):
    """Take the smallest entry out of a heap of `size` entries; its id."""
    top = ids[0]
    last = size - 1
    key = keys[last]
    i = ids[last]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= last:
            break
        right = down + 1
        if right < last and (keys[right] < keys[down] or (keys[right] == keys[down] and ids[right] < ids[down])):
            down = right
        if key < keys[down] or (key == keys[down] and i < ids[down]):
            break
        keys[at] = keys[down]
        ids[at] = ids[down]
        at = down
    keys[at] = key
    ids[at] = i
    return top


@njit(**JIT)
def enqueue(i, order, priority, heap_key, heap_id, out_n, count):
    """A request joins the queue behind those of its rank."""
    if order == Order.FCFS:
        out_n[i, NEXT_WAITING] = -1
        if count[NUM_WAITING] == 0:
            count[WAIT_HEAD] = i
        else:
            out_n[count[WAIT_TAIL], NEXT_WAITING] = i
        count[WAIT_TAIL] = i
    else:
        heap_push(heap_key, heap_id, count[NUM_WAITING], float(priority[i]), i)
    if count[NUM_WAITING] == 0 or order != Order.FCFS:
        count[HEAD_KNOWN_GOOD] = 0
    count[NUM_WAITING] += 1


@njit(**JIT)
def put_back(i, order, priority, heap_key, heap_id, out_n, count):
    """A preempted request returns: to the front under FCFS, to its rank else."""
    if order == Order.FCFS:
        out_n[i, NEXT_WAITING] = count[WAIT_HEAD] if count[NUM_WAITING] > 0 else -1
        if count[NUM_WAITING] == 0:
            count[WAIT_TAIL] = i
        count[WAIT_HEAD] = i
    else:
        heap_push(heap_key, heap_id, count[NUM_WAITING], float(priority[i]), i)
    count[HEAD_KNOWN_GOOD] = 0
    count[NUM_WAITING] += 1


@njit(**JIT)
def head_of_queue(order, heap_id, count):
    """The request served next; the queue must not be empty."""
    if order == Order.FCFS:
        return count[WAIT_HEAD]
    return heap_id[0]


@njit(**JIT)
def dequeue(order, heap_key, heap_id, out_n, count):
    """Take the head out of the queue."""
    if order == Order.FCFS:
        count[WAIT_HEAD] = out_n[count[WAIT_HEAD], NEXT_WAITING]
    else:
        heap_pop(heap_key, heap_id, count[NUM_WAITING])
    count[NUM_WAITING] -= 1
    count[HEAD_KNOWN_GOOD] = 0
