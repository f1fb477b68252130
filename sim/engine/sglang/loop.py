"""SGLang's two event loops: schedule, run, take results; with overlap, results one iteration late.

Time is seconds, or iterations where a golden is replayed. A tuple of arrays is copied whole wherever it is passed, so
the state is unpacked once and helpers get what they touch. Source: README of the SGLang goldens, finding 1.
"""

import math

import numpy as np
from numba import njit

from sim.engine.account import account_for
from sim.engine.accounts import Bin, Status
from sim.engine.arrivals import next_arrival_s, take_arrival, think
from sim.engine.chunks import clear_chunks
from sim.engine.jit import ENTRY
from sim.engine.kernel import kernel
from sim.engine.loop import Stop, launch, linear_time
from sim.engine.sglang.account import account_for_pause, count_pages, measure_prefills
from sim.engine.sglang.batch import decode_batch, mix, prefill_batch, take_in_last
from sim.engine.sglang.deal import deal_text
from sim.engine.sglang.head import row_of_free_pages
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
    lacks_nodes,
)
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
    arrival_s, texts_of, segments, linear_s = inputs
    (
        count,
        real,
        req,
        lists,
        ring,
        spare,
        sorting,
        nodes,
        heads,
        heap,
        flight,
        flight_s,
        out_s,
        out_n,
        gap_hist,
        bins,
        thinking,
        finish_times,
    ) = state
    texts = Texts(rules.page_size, texts_of, segments)
    tree = Tree(nodes, heads, heap)
    waiting = Queue(ring, spare, sorting)
    records = RequestRecords(out_s, out_n)
    page_size = rules.page_size
    seats = lists.shape[1]
    for _ in range(max_steps):
        if next_arrival_s(users, arrival_s, thinking, count) <= now(counted, count, real):
            join_arrivals(users, counted, rules, inputs, pool, thinking, ring, req, out_s, out_n, count, real)
        if real[CLOCK] >= until_s:
            return Stop.TIME
        if lacks_nodes(rules, seats, nodes, count) or (recording and not has_room(tape, seats, count)):
            return Stop.FULL

        # schedule
        parity = count[PUSHED] & 1
        count[NUM_PREEMPTED] = 0
        count[NUM_DECODING] = 0
        count[DECODING_KV] = 0
        clear_chunks(count, real)
        real[START_S] = max(real[CLOCK], real[LAST_END])
        take_in_last(rules, lists, req, texts, tree, flight, count)
        prefilled = prefill_batch(parity, rules, waiting, lists, finish_times, req, records, texts, tree, count, real)
        if prefilled > 0:
            if rules.mixed_chunk and count[NUM_BATCH] > 0:
                mix(parity, rules, lists, req, out_s, tree, count, real)
        elif count[NUM_BATCH] > 0:
            decode_batch(parity, rules, ring, lists, req, records, tree, count, real)
        size = prefilled + count[NUM_DECODING]
        if count[IS_BROKEN]:
            return Stop.OUT_OF_MEMORY

        # put the step into the queue of those in flight
        row = -1
        end_s = real[CLOCK]
        if size > 0:
            measure_prefills(parity, prefilled, kv_s, attention_s, lists, req, out_n, count, real)
            tokens = count[NUM_DECODING] + count[CHUNK_TOKENS]
            token_s = linear_time(tokens, linear_s, beyond_s)
            reading_s = kv_s * (count[DECODING_KV] + count[CHUNK_CONTEXT])
            end_s = real[START_S] + (token_s + reading_s + attention_s * real[CHUNK_WORK])
            launch(parity, tokens, token_s, end_s, flight, flight_s, count, real)
            flight[parity, F_SIZE] = size
            flight[parity, F_NUM_PREFILL] = prefilled
            flight[parity, F_CUT] = count[CHUNKED] if prefilled > 0 else -1
            flight[parity, F_DEPARTED] = count[DEPARTED]
        if recording and (size > 0 or counted):
            row = record_step(parity, prefilled, size, end_s, page_size, tape, lists, req, count, real)
            if size > 0:
                flight[parity, F_ROW] = row

        # take the results of the oldest step, with overlap only once another one is under way
        newest = parity if size > 0 else -1
        free_row = Bin.FREE_NO_DEMAND
        is_applied = count[IN_FLIGHT] > (1 if rules.overlap and size > 0 else 0)
        if count[NUM_WAITING] > 0 and (is_applied or size == 0):
            free_row = row_of_free_pages(newest, rules, ring, lists, req, texts, tree, flight, count, real)
        if is_applied:
            oldest = (count[PUSHED] - count[IN_FLIGHT]) & 1
            note_departed(oldest, lists, req, flight, count)
            count_pages(page_size, count)
            step_end_s = flight_s[oldest, F_END_S]
            account_for(oldest, step_end_s, kv_s, linear_s[0], free_row, page_size, flight, flight_s, bins, count, real)
            count[SUM_OUTPUT] += flight[oldest, F_DECODING] + flight[oldest, F_CHUNKS_DONE] - flight[oldest, F_DROPPED]
            real[CLOCK] = step_end_s
            count[IN_FLIGHT] -= 1
            finished = count[FINISHED_RECORDED]
            take_results(
                oldest,
                rules,
                recording,
                arrival_s,
                thinking,
                lists,
                req,
                records,
                gap_hist,
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
                tape.numbers[step_row, T_FREE_END] = (count[POOL_FREE] + count[EVICTABLE]) // page_size
                if row >= 0:
                    tape.numbers[row, T_APPLIED] = step_row
        is_quiet = newest < 0 and not (rules.overlap and count[LAST] >= 0) and is_empty(count)
        count[LAST] = newest
        count[ITERATION] += 1
        if is_quiet and count[NUM_WAITING] == 0:
            real[RATIO] = rules.init_ratio
        if row >= 0:
            tape.ratios[row, 1] = real[RATIO]
            tape.numbers[row, T_IS_RESET] = is_quiet and count[NUM_WAITING] == 0
        if is_quiet:
            resume = next_arrival_s(users, arrival_s, thinking, count)
            if resume == math.inf and count[NUM_DONE] == count[EXPECTED]:
                return Stop.DONE
            if resume == math.inf and until_s == math.inf:
                return Stop.STUCK
            if not counted:
                pause_s = max(min(resume, until_s), real[CLOCK])
                account_for_pause(pause_s, free_row, page_size, bins, count, real)
                real[CLOCK] = pause_s
            elif count[NUM_WAITING] == 0:
                count[ITERATION] = int(resume)
    return Stop.CALLS


@kernel
def now(counted, count, real):
    """What arrivals are compared with."""
    return float(count[ITERATION]) if counted else real[CLOCK]


@kernel
def is_empty(count):
    """Nothing runs or is in flight."""
    return count[NUM_BATCH] == 0 and count[CHUNKED] < 0 and count[IN_FLIGHT] == 0


@kernel
def join_arrivals(users, counted, rules, inputs, pool, thinking, ring, req, out_s, out_n, count, real):
    """Everybody who has arrived by now joins the queue, or is rejected if it can never run."""
    arrival_s, texts, segments, _ = inputs
    while next_arrival_s(users, arrival_s, thinking, count) <= now(counted, count, real):
        i = count[ARRIVED]
        row = take_arrival(users, arrival_s, thinking, out_s, count)
        if len(pool.rows.order) > 0:
            deal_text(i, row, pool, texts, segments, req)
        if counted or can_run(i, rules, req):
            join_queue(i, ring, count)
        else:
            out_n[i, STATUS] = Status.REJECTED
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
