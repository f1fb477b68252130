"""Admission without a prefix cache of requests that ignore the end of text: memory must last until others finish.

Source: README of the SGLang goldens, finding 9.
"""

from sim.engine.kernel import kernel
from sim.engine.sglang.state import (
    BATCH_SIZE,
    EMITTED,
    FLYING,
    IGNORE_EOS,
    MAX_NEW,
    NUM_BATCH,
    NUM_FINISH_TIMES,
    PROMPT,
    RUNNING,
)


@kernel
def runs_dry(i, parity, need, room_now, ratio, finish_times, lists, req, count):
    """Walk the times at which the requests finish, the candidate among them: whether memory is short at one."""
    if count[NUM_FINISH_TIMES] < 0:
        count[NUM_FINISH_TIMES] = 0
        insert(i, ratio, finish_times, req, count)
        for k in range(count[NUM_BATCH]):
            insert(lists[RUNNING, k], ratio, finish_times, req, count)
        for k in range(count[BATCH_SIZE]):
            insert(lists[FLYING + parity, k], ratio, finish_times, req, count)
    else:
        insert_late(i, ratio, finish_times, req, count)
    size = count[NUM_FINISH_TIMES]
    room = room_now - need
    for k in range(size):
        still_running = size - k
        if room - finish_times[k, 0] * still_running <= still_running:
            return True
        room += int(finish_times[k, 1])
    return False


@kernel
def tokens_left(i, ratio, req):
    """How much a request is expected to produce still."""
    return req[i, MAX_NEW] * (1.0 if req[i, IGNORE_EOS] else ratio) - req[i, EMITTED]


@kernel
def insert(i, ratio, finish_times, req, count):
    """Add a request behind those that finish no later."""
    left = tokens_left(i, ratio, req)
    if left > 0:
        at = count[NUM_FINISH_TIMES]
        while at > 0 and finish_times[at - 1, 0] > left:
            at -= 1
        put_at(at, left, i, finish_times, req, count)


@kernel
def insert_late(i, ratio, finish_times, req, count):
    """Add a further candidate before the first that finishes no earlier.

    One that finishes last of all goes before the last but itself: a slip of SGLang's.
    """
    left = tokens_left(i, ratio, req)
    if left > 0:
        size = count[NUM_FINISH_TIMES]
        at = 0
        while at < size and finish_times[at, 0] < left:
            at += 1
        put_at(at if at < size else max(size - 1, 0), left, i, finish_times, req, count)


@kernel
def put_at(at, left, i, finish_times, req, count):
    """Make room in the list for a request."""
    for k in range(count[NUM_FINISH_TIMES], at, -1):
        finish_times[k, 0] = finish_times[k - 1, 0]
        finish_times[k, 1] = finish_times[k - 1, 1]
    finish_times[at, 0] = left
    finish_times[at, 1] = req[i, PROMPT] + req[i, EMITTED]
    count[NUM_FINISH_TIMES] += 1
