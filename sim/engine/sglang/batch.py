"""What an iteration runs: a prefill batch if anybody can be admitted, else one token for each running request.

Source: README of the SGLang goldens, findings 2, 3, 14, 25 and 27.
"""

import numpy as np

from sim.engine.kernel import kernel
from sim.engine.sglang.admit import admit_from_queue, continue_chunked, open_pass
from sim.engine.sglang.memory import cache, decode, decode_fits, extend
from sim.engine.sglang.order import leave_queue, sort_queue
from sim.engine.sglang.retract import retract
from sim.engine.sglang.state import (
    BATCH_CUT,
    BATCH_SIZE,
    CHUNKED,
    COMMITTED,
    DEPARTED,
    EMITTED,
    EXTEND_END,
    F_CUT,
    F_NUM_PREFILL,
    F_SIZE,
    FILLED,
    FIRST_IN_FLIGHT,
    FLYING,
    IS_FINISHED,
    IS_FULL,
    LAST,
    MAX_NEW,
    MIDDLE_CHUNKS,
    NOTICED,
    NUM_BATCH,
    PREFIX,
    PROMPT,
    RATIO,
    RUNNING,
)
from sim.engine.state import NUM_WAITING


@kernel
def cache_prefill(i, radix_cache, req, texts, tree, count):
    """The tree gets what a prefill has computed."""
    end = np.int64(req[i, EXTEND_END])
    cache(i, end, radix_cache, req, texts, tree, count)
    req[i, PREFIX] = end


@kernel
def take_in_last(rules, lists, req, texts, tree, flight, count):
    """What the iteration before ran is cached as far as its prompt goes on, or joins the running batch."""
    i = count[CHUNKED]
    if i >= 0 and req[i, EXTEND_END] > req[i, PREFIX]:
        cache_prefill(i, rules.radix_cache, req, texts, tree, count)
    count[BATCH_SIZE] = 0
    merge_last(lists, req, flight, count)
    drop_finished(lists, req, count)


@kernel
def merge_last(lists, req, flight, count):
    """A prefill or mixed batch joins the running one; an empty running batch is replaced by it, flag and all."""
    last = count[LAST]
    size = count[NUM_BATCH]
    count[FIRST_IN_FLIGHT] = 0
    if last < 0 or flight[last, F_NUM_PREFILL] > 0:
        count[FIRST_IN_FLIGHT] = size
    if last < 0 or flight[last, F_NUM_PREFILL] == 0:
        return
    for k in range(flight[last, F_SIZE]):
        i = lists[FLYING + last, k]
        if i == count[CHUNKED] or i == flight[last, F_CUT] or req[i, IS_FINISHED]:
            count[IS_FULL] = 0
        else:
            lists[RUNNING, count[NUM_BATCH]] = i
            count[NUM_BATCH] += 1
    if size == 0 and count[NUM_BATCH] > 0:
        count[IS_FULL] = 0


@kernel
def drop_finished(lists, req, count):
    """Who has finished leaves the running batch, which may then admit again."""
    if count[NOTICED] == count[DEPARTED]:
        return
    count[NOTICED] = count[DEPARTED]
    kept = 0
    in_flight = 0
    for k in range(count[NUM_BATCH]):
        i = lists[RUNNING, k]
        if not req[i, IS_FINISHED]:
            lists[RUNNING, kept] = i
            kept += 1
            in_flight += k >= count[FIRST_IN_FLIGHT]
    if kept < count[NUM_BATCH]:
        count[IS_FULL] = 0
    count[NUM_BATCH] = kept
    count[FIRST_IN_FLIGHT] = kept - in_flight


@kernel
def prefill_batch(parity, rules, queue, lists, finish_times, req, records, texts, tree, count, real):
    """Build a prefill batch, if anybody can be admitted; its size."""
    if count[NUM_BATCH] == 0:
        count[IS_FULL] = 0
    if count[CHUNKED] < 0:
        if count[IS_FULL] or count[NUM_WAITING] == 0:
            return 0
        if count[NUM_BATCH] >= rules.max_running_requests:
            count[IS_FULL] = 1
            return 0
    sort_queue(rules.order, rules.radix_cache, queue, req, texts, tree, count)
    open_pass(rules, lists, req, count, real)
    if count[CHUNKED] >= 0:
        continue_chunked(count[CHUNKED], parity, rules, lists, req, count, real)
    admitted = admit_from_queue(parity, rules, queue.ring, lists, finish_times, req, records, texts, tree, count, real)
    size = count[BATCH_SIZE]
    if size == 0:
        return 0
    leave_queue(admitted, count)
    count[CHUNKED] = count[BATCH_CUT]
    if count[CHUNKED] >= 0:
        req[count[CHUNKED], MIDDLE_CHUNKS] += 1
    extend(parity, size, rules.page_size, lists, req, records.out_s, tree, count, real)
    return size


@kernel
def mix(parity, rules, lists, req, out_s, tree, count, real):
    """Those who run join the prefill batch with one token each, if that fits."""
    leave_out_finishing(rules.overlap, lists, req, count)
    size = count[NUM_BATCH]
    if size == 0 or not decode_fits(size, rules.page_size, lists, req, tree, count):
        return
    decode(parity, size, rules.page_size, lists, req, out_s, tree, count, real)
    for k in range(size):
        i = lists[RUNNING, k]
        req[i, FILLED] = req[i, PROMPT] + req[i, EMITTED]
        req[i, EXTEND_END] = req[i, COMMITTED]
    count[NUM_BATCH] = 0


@kernel
def decode_batch(parity, rules, ring, lists, req, records, tree, count, real):
    """One token each for the running batch; if memory is short, some are retracted."""
    has_finishing = leave_out_finishing(rules.overlap, lists, req, count)
    if count[NUM_BATCH] == 0:
        count[IS_FULL] = 0
        return
    if decode_fits(count[NUM_BATCH], rules.page_size, lists, req, tree, count):
        real[RATIO] = max(real[RATIO] - rules.ratio_drop, rules.min_ratio)
    elif has_finishing:
        count[IS_FULL] = 0  # their memory is free in the next iteration
        return
    else:
        retract(rules, ring, lists, req, records, tree, count, real)
        count[IS_FULL] = 0
    decode(parity, count[NUM_BATCH], rules.page_size, lists, req, records.out_s, tree, count, real)


@kernel
def leave_out_finishing(overlap, lists, req, count):
    """Whoever reaches max_new with the results in flight decodes no more; whether there was one."""
    if not overlap:
        return False
    kept = count[FIRST_IN_FLIGHT]
    for k in range(count[FIRST_IN_FLIGHT], count[NUM_BATCH]):
        i = lists[RUNNING, k]
        if req[i, EMITTED] + 1 < req[i, MAX_NEW]:
            lists[RUNNING, kept] = i
            kept += 1
    has_finishing = kept < count[NUM_BATCH]
    if has_finishing:
        count[IS_FULL] = 0
    count[NUM_BATCH] = kept
    return has_finishing
