"""Why free memory is not used although somebody waits: what the head of the queue lacks.

The queue is taken as it stands, as SGLang sorts it only when it tries to admit. Source: metrics.md, section 8.1.
"""

import numpy as np

from sim.engine.accounts import Bin
from sim.engine.kernel import kernel
from sim.engine.sglang.admit import first_chunk_end, reserve_of_running
from sim.engine.sglang.memory import pages
from sim.engine.sglang.order import waiting_at
from sim.engine.sglang.state import (
    EMITTED,
    EVICTABLE,
    F_CUT,
    F_NUM_PREFILL,
    F_SIZE,
    FLYING,
    MAX_NEW,
    NOTHING,
    NUM_BATCH,
    POOL_FREE,
    PROMPT,
    RATIO,
    RUNNING,
    UNFILLED_STRAGGLER,
)
from sim.engine.sglang.tree import peek
from sim.engine.state import KV_STRAGGLER, NUM_PREEMPTED


@kernel
def row_of_free_pages(newest, rules, ring, lists, req, texts, tree, flight, count, real):
    """The ledger's row: the first reason that applies to the queue's head. `newest`: step just scheduled, or -1."""
    i = waiting_at(NOTHING, ring, count)
    known = np.int64(req[i, PROMPT] + req[i, EMITTED])
    matched = NOTHING
    idle = NOTHING
    if rules.radix_cache:
        matched, idle = peek(i, known - 1, texts, tree)
    length = known - matched
    end = matched + length
    if rules.chunked_prefill_size > 0 and pages(length, rules.page_size) > rules.chunked_prefill_size:
        end = first_chunk_end(matched, rules.chunked_prefill_size, rules.page_size)
    free = count[POOL_FREE] + count[EVICTABLE]
    physical = pages(end, rules.page_size) - matched + idle
    if count[NUM_PREEMPTED] > 0 or physical > free:
        of_stragglers = count[KV_STRAGGLER] + count[UNFILLED_STRAGGLER]
        if physical <= free + of_stragglers:
            return Bin.WITHHELD_MEMORY_STRAGGLER
        return Bin.WITHHELD_MEMORY_OTHER
    most_new = min(max(req[i, MAX_NEW] - req[i, EMITTED], 0), rules.clip_max_new_tokens)
    wanted = length + most_new + rules.page_size + idle
    if wanted >= free or wanted + reserve(newest, rules, lists, req, flight, count, real) >= free:
        return Bin.WITHHELD_MARGIN
    return Bin.WITHHELD_CAP


@kernel
def reserve(newest, rules, lists, req, flight, count, real):
    """Tokens set aside: for those who decode by the ratio, in full for those whose prefill was just scheduled."""
    clip = rules.clip_max_new_tokens
    reserved = reserve_of_running(NOTHING + RUNNING, NOTHING, count[NUM_BATCH], clip, real[RATIO], lists, req)
    if newest < 0 or flight[newest, F_NUM_PREFILL] == 0:
        return reserved
    prefilled = flight[newest, F_NUM_PREFILL]
    row = FLYING + newest
    reserved += reserve_of_running(row, prefilled, flight[newest, F_SIZE], clip, real[RATIO], lists, req)
    for k in range(prefilled):
        i = lists[row, k]
        reserved += rules.page_size
        if i != flight[newest, F_CUT]:
            reserved += min(req[i, MAX_NEW], clip)
    return reserved
