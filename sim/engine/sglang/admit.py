"""One prefill pass: whom the budgets and the memory let in.

Source: README of the SGLang goldens, findings 3 to 8.
"""

import numpy as np

from sim.engine.kernel import kernel
from sim.engine.sglang.finish_times import runs_dry
from sim.engine.sglang.memory import pages
from sim.engine.sglang.order import waiting_at
from sim.engine.sglang.state import (
    BATCH_CUT,
    BATCH_SIZE,
    CHUNK_LEFT,
    COMMITTED,
    EMITTED,
    EVICTABLE,
    EXTEND_END,
    FILLED,
    FLYING,
    HIT,
    IGNORE_EOS,
    INPUT_LEFT,
    IS_BROKEN,
    IS_FULL,
    IS_RETRACTED,
    LOCK,
    MAX_NEW,
    NOTHING,
    NUM_BATCH,
    NUM_FINISH_TIMES,
    POOL_FREE,
    PREFIX,
    PROMPT,
    PROTECTED,
    RATIO,
    RESERVED,
    RESERVED_NOW,
    ROOT,
    RUNNING,
    SINCE_S,
    TYPICAL,
)
from sim.engine.sglang.tree import lock, match, unlock
from sim.engine.state import (
    CACHED,
    CLOCK,
    FIRST_SCHEDULED_S,
    NUM_WAITING,
    PAUSE_S,
    PREEMPTED,
    START_S,
    SUM_HIT_BLOCKS,
)

# What a candidate, or the state of the budgets, means for the pass.
GO_ON, NO_TOKEN, SPENT = range(3)  # NO_TOKEN: memory is short; SPENT: a budget or the cap on admissions is reached


@kernel
def open_pass(rules, lists, req, count, real):
    """Budgets of a pass; with mixed chunks the running requests come first."""
    mixed = count[NUM_BATCH] if rules.mixed_chunk else 0
    count[INPUT_LEFT] = rules.max_prefill_tokens - mixed
    count[CHUNK_LEFT] = rules.chunked_prefill_size - mixed
    reserved = reserve_of_running(
        NOTHING + RUNNING, NOTHING, count[NUM_BATCH], rules.clip_max_new_tokens, real[RATIO], lists, req
    )
    real[RESERVED] = mixed + reserved
    count[RESERVED_NOW] = mixed
    count[BATCH_SIZE] = 0
    count[BATCH_CUT] = -1
    count[HIT] = 0
    count[NUM_FINISH_TIMES] = -1


@kernel
def reserve_of_running(row, begin, end, clip, ratio, lists, req):
    """Tokens set aside for what members of a list will still produce, summed from left to right."""
    reserved = 0.0
    for k in range(begin, end):
        i = lists[row, k]
        most_new = min(req[i, MAX_NEW] - req[i, EMITTED], clip)
        reserved += most_new * (1.0 if req[i, IGNORE_EOS] else ratio)
    return reserved


@kernel
def room(count, real):
    """Tokens that are neither taken, nor locked, nor set aside."""
    return count[POOL_FREE] + count[EVICTABLE] - real[RESERVED]


@kernel
def room_now(count):
    """The same if only this pass' own tokens are set aside."""
    return count[POOL_FREE] + count[EVICTABLE] - count[RESERVED_NOW]


@kernel
def verdict(is_chunked, count, real):
    """Whether there may be a next candidate."""
    if room(count, real) <= 0 or room_now(count) <= 0:
        return NO_TOKEN
    if count[INPUT_LEFT] <= 0 or (is_chunked and count[CHUNK_LEFT] <= 0):
        return SPENT
    return GO_ON


@kernel
def continue_chunked(i, parity, rules, lists, req, count, real):
    """The next chunk of a prompt in work: never refused."""
    limit = min(count[CHUNK_LEFT], int(room(count, real)))
    if limit <= 0:
        limit = count[CHUNK_LEFT]
    if limit <= 0:
        count[IS_BROKEN] = 1
    req[i, FILLED] = req[i, PROMPT] + req[i, EMITTED]
    left = req[i, FILLED] - req[i, PREFIX]
    put_into_batch(i, parity, min(left, limit), left > limit, rules, lists, req, count, real)


@kernel
def admit_from_queue(parity, rules, ring, lists, finish_times, req, records, texts, tree, count, real):
    """Admit heads of the queue; how many. The first one that fails ends the pass: nobody overtakes it."""
    is_chunked = rules.chunked_prefill_size > 0
    admitted = NOTHING
    while admitted < count[NUM_WAITING] and verdict(is_chunked, count, real) != SPENT:
        if count[BATCH_SIZE] >= rules.max_running_requests - count[NUM_BATCH]:
            count[IS_FULL] = 1
        if count[IS_FULL]:
            break
        i = waiting_at(admitted, ring, count)
        size = count[BATCH_SIZE]
        outcome = try_candidate(i, parity, rules, lists, finish_times, req, texts, tree, count, real)
        if count[BATCH_SIZE] > size:
            admitted += 1
            note_admission(i, texts.page_size, req, records.out_s, records.out_n, count, real)
        if outcome == NO_TOKEN:
            count[IS_FULL] = count[BATCH_SIZE] + count[NUM_BATCH] > 0
        if outcome != GO_ON:
            break
    return admitted


@kernel
def try_candidate(i, parity, rules, lists, finish_times, req, texts, tree, count, real):
    """Admit a request or leave it; what that means for the pass."""
    if rules.prefill_max_requests > 0 and count[BATCH_SIZE] >= rules.prefill_max_requests:
        return SPENT
    known = np.int64(req[i, PROMPT] + req[i, EMITTED])
    req[i, FILLED] = known
    is_chunked = rules.chunked_prefill_size > 0
    if req[i, IGNORE_EOS] and not rules.radix_cache:
        need = pages(known, rules.page_size) + rules.page_size
        lacks_room = need > min(room(count, real), room_now(count))
        if lacks_room or runs_dry(i, parity, need, room_now(count), real[RATIO], finish_times, lists, req, count):
            return NO_TOKEN
        length = min(known, count[CHUNK_LEFT]) if is_chunked else known
        if length <= 0:
            return SPENT
        prefix = NOTHING
    else:
        node = ROOT
        prefix = NOTHING
        typical = req[i, TYPICAL]
        if rules.radix_cache:
            prefix, node = match(i, known - 1, texts, tree, count)
            lock(node, typical, tree.nodes, count)
        refusal, length = fit(i, known - prefix, prefix, rules, req, count, real)
        if refusal != GO_ON:
            unlock(node, typical, tree.nodes, tree.heap, count)
            return refusal
        req[i, LOCK] = node
    req[i, PREFIX] = prefix
    req[i, COMMITTED] = prefix
    req[i, PROTECTED] = prefix
    count[HIT] += prefix
    put_into_batch(i, parity, length, prefix + length < known, rules, lists, req, count, real)
    return verdict(is_chunked, count, real)


@kernel
def fit(i, length, prefix, rules, req, count, real):
    """Whether a candidate may join, and how much of its prompt this pass computes."""
    page_size = rules.page_size
    most_new = min(max(req[i, MAX_NEW] - req[i, EMITTED], 0), rules.clip_max_new_tokens)
    if length + most_new + page_size >= room(count, real):
        return NO_TOKEN, 0
    if rules.chunked_prefill_size == 0:
        is_over = count[BATCH_SIZE] > 0 and pages(length, page_size) >= count[INPUT_LEFT]
        return (SPENT if is_over else GO_ON), length
    if pages(length, page_size) <= count[CHUNK_LEFT]:
        return GO_ON, length
    end = first_chunk_end(prefix, count[CHUNK_LEFT], page_size)
    return (GO_ON if end > prefix else SPENT), end - prefix


@kernel
def first_chunk_end(prefix, chunk, page_size):
    """Where the first chunk of a prompt ends that does not fit the chunk budget."""
    return (prefix + chunk // page_size * page_size) // page_size * page_size


@kernel
def put_into_batch(i, parity, length, is_cut, rules, lists, req, count, real):
    """Charge the budgets. What a request had produced before a retraction counts again."""
    req[i, EXTEND_END] = req[i, PREFIX] + length
    lists[FLYING + parity, count[BATCH_SIZE]] = i
    count[BATCH_SIZE] += 1
    charged = pages(length, rules.page_size)
    now = charged + rules.page_size
    if is_cut:
        count[BATCH_CUT] = i
        real[RESERVED] += now
    else:
        real[RESERVED] += now + min(req[i, MAX_NEW], rules.clip_max_new_tokens)
    count[RESERVED_NOW] += now
    count[INPUT_LEFT] -= charged
    count[CHUNK_LEFT] -= charged


@kernel
def note_admission(i, page_size, req, out_s, out_n, count, real):
    """Records of a request that has left the queue."""
    if out_n[i, PREEMPTED] > 0:
        out_s[i, PAUSE_S] += real[START_S] - out_s[i, SINCE_S]
    else:
        out_s[i, FIRST_SCHEDULED_S] = real[START_S]
        out_n[i, CACHED] = req[i, PREFIX]
    out_s[i, SINCE_S] = real[CLOCK]
    req[i, IS_RETRACTED] = 0
    count[SUM_HIT_BLOCKS] += req[i, PREFIX] // page_size
