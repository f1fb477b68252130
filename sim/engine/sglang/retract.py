"""Decode memory is short: who goes back to the queue, and what that says about the ratio.

Source: README of the SGLang goldens, findings 13, 15 and 16.
"""

from sim.engine.kernel import kernel
from sim.engine.sglang.evict import evict_for
from sim.engine.sglang.memory import decode_fits, release
from sim.engine.sglang.order import join_queue
from sim.engine.sglang.state import (
    COMMITTED,
    DEPARTED,
    EMITTED,
    HIGH_WATER,
    IS_RETRACTED,
    LOST,
    MAX_NEW,
    MIDDLE_CHUNKS,
    NOTICED,
    NUM_BATCH,
    PROMPT,
    RATIO,
    RUNNING,
    SINCE_S,
    VICTIM,
)
from sim.engine.state import NUM_PREEMPTED, PREEMPTED, START_S, SUM_PREEMPTED


@kernel
def retract(rules, ring, lists, req, records, tree, count, real):
    """Send members back to the end of the queue until the others can decode; the last one stays."""
    sort_by_progress(lists, req, count)
    page_size = rules.page_size
    while count[NUM_BATCH] > 1:
        if count[NUM_PREEMPTED] > 0 and decode_fits(count[NUM_BATCH], page_size, lists, req, tree, count):
            break
        count[NUM_BATCH] -= 1
        i = lists[RUNNING, count[NUM_BATCH]]
        note_retraction(i, lists, req, records.out_n, count)
        release(i, rules.page_size, req, records.out_s, tree, count, real)
        records.out_s[i, SINCE_S] = real[START_S]
        evict_for(rules.retract_decode_steps * count[NUM_BATCH], tree.nodes, tree.heads, tree.heap, count)
    for k in range(count[NUM_PREEMPTED]):
        join_queue(lists[VICTIM, k], ring, count)
    emitted = 0
    most_new = 0
    for k in range(count[NUM_BATCH]):
        emitted += req[lists[RUNNING, k], EMITTED]
        most_new += req[lists[RUNNING, k], MAX_NEW]
    ahead = rules.retract_decode_steps * count[NUM_BATCH]
    real[RATIO] = min(1.0, (emitted + ahead) / (most_new + 1))


@kernel
def note_retraction(i, lists, req, out_n, count):
    """Records of a member that is thrown out."""
    req[i, IS_RETRACTED] = 1
    req[i, MIDDLE_CHUNKS] = 0
    req[i, HIGH_WATER] = max(req[i, HIGH_WATER], req[i, COMMITTED])
    out_n[i, PREEMPTED] += 1
    lists[VICTIM, count[NUM_PREEMPTED]] = i
    lists[LOST, count[NUM_PREEMPTED]] = req[i, COMMITTED]
    count[NUM_PREEMPTED] += 1
    count[SUM_PREEMPTED] += 1
    count[DEPARTED] += 1
    count[NOTICED] += 1


@kernel
def sort_by_progress(lists, req, count):
    """Most outputs first; ties: shorter prompt, then place. An insertion sort, as members join in about this order."""
    for k in range(1, count[NUM_BATCH]):
        i = lists[RUNNING, k]
        at = k
        while at > 0 and goes_before(i, lists[RUNNING, at - 1], req):
            lists[RUNNING, at] = lists[RUNNING, at - 1]
            at -= 1
        lists[RUNNING, at] = i


@kernel
def goes_before(i, j, req):
    """Whether a member has produced more than another, or as much after a shorter prompt."""
    if req[i, EMITTED] != req[j, EMITTED]:
        return req[i, EMITTED] > req[j, EMITTED]
    return req[i, PROMPT] < req[j, PROMPT]
