"""SGLang's two event loops: schedule, run, take results; with overlap, results one iteration late.

Time is seconds, or iterations where a golden is replayed. A tuple of arrays is copied whole wherever it is passed: to a
`@part` that costs nothing, a `@kernel` gets what it touches. Source: README of the SGLang goldens, finding 1.
"""

import math

import numpy as np
from numba import njit

from sim.engine.account import account_for
from sim.engine.accounts import Bin, Status
from sim.engine.arrivals import next_arrival_s, take_arrival, think
from sim.engine.chunks import clear_chunks
from sim.engine.jit import ENTRY
from sim.engine.kernel import kernel, part
from sim.engine.loop import Stop, launch, linear_time
from sim.engine.sglang.account import account_for_pause, count_pages, measure_prefills
from sim.engine.sglang.batch import decode_batch, mix, prefill_batch, take_in_last
from sim.engine.sglang.deal import deal_text
from sim.engine.sglang.memory import pages, settle_memory
from sim.engine.sglang.order import join_queue
from sim.engine.sglang.record import has_room, record_step
from sim.engine.sglang.results import note_departed, take_results
from sim.engine.sglang.state import (
    CHUNKED,
    COMMITTED,
    DEPARTED,
    EVICTABLE,
    F_CUT,
    F_DEPARTED,
    F_NUM_PREFILL,
    F_SIZE,
    IGNORE_EOS,
    IS_BROKEN,
    ITERATION,
    LAST,
    MAX_NEW,
    NUM_BATCH,
    POOL_FREE,
    PROMPT,
    RATIO,
    T_APPLIED,
    T_FREE_END,
    T_IS_RESET,
    T_NUM_FINISHED,
    Queue,
    Texts,
    Tree,
)
from sim.engine.sglang.tree_room import lacks_nodes
from sim.engine.sglang.withheld import row_of_free_pages
from sim.engine.state import (
    ARRIVED,
    CHUNK_CONTEXT,
    CHUNK_TOKENS,
    CHUNK_WORK,
    CLOCK,
    DECODING_KV,
    EXPECTED,
    F_CHUNKS_DONE,
    F_DECODING,
    F_DROPPED,
    F_END_S,
    F_ROW,
    FINISHED_RECORDED,
    IN_FLIGHT,
    LAST_END,
    NUM_DECODING,
    NUM_DONE,
    NUM_PREEMPTED,
    NUM_WAITING,
    PUSHED,
    START_S,
    STATUS,
    SUM_OUTPUT,
    RequestRecords,
)
from sim.engine.time_bins import flush


@njit(**ENTRY)
def advance(
    rules, inputs, pool, users, beyond_s, kv_s, attention_s, state, tape, until_s, max_steps, counted, recording
):
    """Simulate until the clock reaches `until_s`, a `Stop`; calling it again goes on where it stopped.

    `counted`: arrivals are numbers of iterations, and every iteration is recorded, idle ones too.
    """
    count, real = state.counts, state.real
    lists, req, thinking = state.lists, state.req, state.thinking
    flight = state.flight
    texts = Texts(rules.page_size, inputs.texts, inputs.segments)
    tree = Tree(state.nodes, state.heads, state.heap)
    waiting = Queue(state.ring, state.spare, state.sorting)
    records = RequestRecords(state.out_s, state.out_n)
    seats = lists.shape[1]
    for _ in range(max_steps):
        if next_arrival_s(users, inputs.arrival_s, thinking, count) <= now(counted, count, real):
            join_arrivals(users, counted, rules, inputs, pool, thinking, waiting.ring, req, records, count, real)
        if real[CLOCK] >= until_s:
            return Stop.TIME
        if lacks_nodes(rules, seats, tree.nodes, count) or (recording and not has_room(tape, seats, count)):
            return Stop.FULL

        parity = count[PUSHED] & 1
        prefilled = schedule(parity, rules, state, waiting, records, texts, tree)
        if count[IS_BROKEN]:
            return Stop.OUT_OF_MEMORY
        size = prefilled + count[NUM_DECODING]
        row = -1
        end_s = real[CLOCK]
        if size > 0:
            end_s = launch_batch(parity, prefilled, size, inputs.linear_s, beyond_s, kv_s, attention_s, state, records)
        if recording and (size > 0 or counted):
            row = record_step(parity, prefilled, size, end_s, rules.page_size, tape, lists, req, count, real)
            if size > 0:
                flight[parity, F_ROW] = row

        # with overlap, results come only once another step is under way
        newest = parity if size > 0 else -1
        free_row = Bin.FREE_NO_DEMAND
        is_applied = count[IN_FLIGHT] > (1 if rules.overlap and size > 0 else 0)
        if count[NUM_WAITING] > 0 and (is_applied or size == 0):
            free_row = row_of_free_pages(newest, rules, waiting.ring, lists, req, texts, tree, flight, count, real)
        if is_applied:
            apply_oldest(row, free_row, kv_s, rules, inputs, state, records, texts, tree, tape, recording)
        is_quiet = newest < 0 and not (rules.overlap and count[LAST] >= 0) and is_empty(count)
        count[LAST] = newest
        count[ITERATION] += 1
        if is_quiet and count[NUM_WAITING] == 0:
            real[RATIO] = rules.init_ratio
        if row >= 0:
            tape.ratios[row, 1] = real[RATIO]
            tape.numbers[row, T_IS_RESET] = is_quiet and count[NUM_WAITING] == 0
        if is_quiet:
            resume = next_arrival_s(users, inputs.arrival_s, thinking, count)
            if resume == math.inf and count[NUM_DONE] == count[EXPECTED]:
                return Stop.DONE
            if resume == math.inf and until_s == math.inf:
                return Stop.STUCK
            if not counted:
                pause_s = max(min(resume, until_s), real[CLOCK])
                account_for_pause(pause_s, free_row, rules.page_size, state.bins, count, real)
                real[CLOCK] = pause_s
            elif count[NUM_WAITING] == 0:
                count[ITERATION] = int(resume)
    return Stop.CALLS


@part
def schedule(parity, rules, state, waiting, records, texts, tree):
    """Build the next batch: prompts if anybody can be admitted, else one token for each; members in prefill."""
    count, real, lists, req = state.counts, state.real, state.lists, state.req
    count[NUM_PREEMPTED] = 0
    count[NUM_DECODING] = 0
    count[DECODING_KV] = 0
    clear_chunks(count, real)
    real[START_S] = max(real[CLOCK], real[LAST_END])
    take_in_last(rules, lists, req, texts, tree, state.flight, count)
    finish_times = state.finish_times
    prefilled = prefill_batch(parity, rules, waiting, lists, finish_times, req, records, texts, tree, count, real)
    if prefilled > 0:
        if rules.mixed_chunk and count[NUM_BATCH] > 0:
            mix(parity, rules, lists, req, records.out_s, tree, count, real)
    elif count[NUM_BATCH] > 0:
        decode_batch(parity, rules, waiting.ring, lists, req, records, tree, count, real)
    return prefilled


@part
def launch_batch(parity, prefilled, size, linear_s, beyond_s, kv_s, attention_s, state, records):
    """The batch joins the steps in flight; when it ends."""
    count, real, flight = state.counts, state.real, state.flight
    measure_prefills(parity, prefilled, kv_s, attention_s, state.lists, state.req, records.out_n, count, real)
    tokens = count[NUM_DECODING] + count[CHUNK_TOKENS]
    token_s = linear_time(tokens, linear_s, beyond_s)
    reading_s = kv_s * (count[DECODING_KV] + count[CHUNK_CONTEXT])
    end_s = real[START_S] + (token_s + reading_s + attention_s * real[CHUNK_WORK])
    launch(parity, tokens, token_s, end_s, flight, state.flight_s, count, real)
    flight[parity, F_SIZE] = size
    flight[parity, F_NUM_PREFILL] = prefilled
    flight[parity, F_CUT] = count[CHUNKED] if prefilled > 0 else -1
    flight[parity, F_DEPARTED] = count[DEPARTED]
    return end_s


@part
def apply_oldest(row, free_row, kv_s, rules, inputs, state, records, texts, tree, tape, recording):
    """Time passes to the end of the oldest step in flight, and its results are taken.

    `row`: of the iteration that takes them, -1 where it is not recorded.
    """
    count, real, flight = state.counts, state.real, state.flight
    oldest = (count[PUSHED] - count[IN_FLIGHT]) & 1
    note_departed(oldest, state.lists, state.req, flight, count)
    count_pages(rules.page_size, count)
    end_s = state.flight_s[oldest, F_END_S]
    fixed_s = inputs.linear_s[0]
    account_for(
        oldest, end_s, kv_s, fixed_s, free_row, rules.page_size, flight, state.flight_s, state.bins, count, real
    )
    count[SUM_OUTPUT] += flight[oldest, F_DECODING] + flight[oldest, F_CHUNKS_DONE] - flight[oldest, F_DROPPED]
    real[CLOCK] = end_s
    count[IN_FLIGHT] -= 1
    finished = count[FINISHED_RECORDED]
    take_results(
        oldest,
        rules,
        recording,
        inputs.arrival_s,
        state.thinking,
        state.lists,
        state.req,
        records,
        state.gap_hist,
        texts,
        tree,
        tape.finished,
        flight,
        count,
        real,
    )
    if recording:
        step_row = flight[oldest, F_ROW]
        tape.numbers[step_row, T_NUM_FINISHED] = count[FINISHED_RECORDED] - finished
        tape.numbers[step_row, T_FREE_END] = (count[POOL_FREE] + count[EVICTABLE]) // rules.page_size
        if row >= 0:
            tape.numbers[row, T_APPLIED] = step_row


@kernel
def now(counted, count, real):
    """What arrivals are compared with."""
    return float(count[ITERATION]) if counted else real[CLOCK]


@kernel
def is_empty(count):
    """Nothing runs or is in flight."""
    return count[NUM_BATCH] == 0 and count[CHUNKED] < 0 and count[IN_FLIGHT] == 0


@kernel
def join_arrivals(users, counted, rules, inputs, pool, thinking, ring, req, records, count, real):
    """Everybody who has arrived by now joins the queue, or is rejected if it can never run."""
    arrival_s, texts, segments, _ = inputs
    while next_arrival_s(users, arrival_s, thinking, count) <= now(counted, count, real):
        i = count[ARRIVED]
        row = take_arrival(users, arrival_s, thinking, records.out_s, count)
        if len(pool.rows.order) > 0:
            deal_text(i, row, pool, texts, segments, req)
        if counted or can_run(i, rules, req):
            join_queue(i, ring, count)
        else:
            records.out_n[i, STATUS] = Status.REJECTED
            count[NUM_DONE] += 1
            think(real[CLOCK], arrival_s, thinking, count)


@kernel
def can_run(i, rules, req):
    """Whether an empty server would take the request: there is room for an answer.

    Without prefix cache, one that ignores the end of text must leave a token to spare at its end.
    """
    if req[i, MAX_NEW] < 1:
        return False
    if rules.radix_cache or not req[i, IGNORE_EOS]:
        return True
    left = rules.pool_tokens - pages(np.int64(req[i, PROMPT]), rules.page_size) - rules.page_size - req[i, MAX_NEW]
    return left > 1


@njit(**ENTRY)
def settle(req, out_s, bins, count, real):
    """Bring the records of requests that still hold memory and the time bins up to the present clock."""
    flush(bins, count)
    for i in range(len(req)):
        if req[i, COMMITTED] > 0:
            settle_memory(i, req, out_s, real)
