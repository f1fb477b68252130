"""The iteration loop: arrivals, running members, admission, step time, accounts, outputs."""

import math
from enum import IntEnum

from numba import njit

from sim.engine.account import add_memory, add_time, pause_until, row_of_free_blocks, spread
from sim.engine.accounts import Bin
from sim.engine.admit import admit_at_iteration, admit_batch
from sim.engine.arrivals import join_arrivals, next_arrival_s
from sim.engine.emit import emit_tokens, finish_members, sort_by_admission
from sim.engine.gaps import note_gap, push_duration
from sim.engine.grow import grow_running
from sim.engine.head import prefill_limit
from sim.engine.inputs import Batching
from sim.engine.jit import JIT
from sim.engine.record import has_room, record_end, record_finished, record_schedule
from sim.engine.segments import close_segment, open_segment
from sim.engine.state import (
    AGE,
    ARRIVAL_S,
    CALL,
    CALL_PHASE,
    CHUNK,
    CHUNK_CONTEXT,
    CHUNK_REDO,
    CHUNK_REDO_S,
    CHUNK_TOKENS,
    CHUNK_USEFUL_S,
    CHUNK_WORK,
    CHUNKS_DONE,
    CLOCK,
    COMPUTED,
    DECODING,
    DECODING_KV,
    HELD_DONE_KV,
    HIGH_WATER,
    KNOWN,
    NUM_DECODING,
    NUM_DONE,
    NUM_FINISHED,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_PARTIAL,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    RECOMPUTED,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    SEGMENT,
    SUM_OUTPUT,
    SUM_PADDING,
    SUM_STEPS,
    SUM_TOKENS,
)
from sim.engine.waiting import head_of_queue


class Stop(IntEnum):
    """Why `advance` returned."""

    DONE = 0  # every request is finished or rejected
    TIME = 1  # the clock reached `until_s`
    CALLS = 2  # `max_calls` calls were made
    FULL = 3  # no room to record the next call
    STUCK = 4  # nothing runs, nobody can be admitted, nobody will arrive


@njit(**JIT)
def advance(rules, requests, step_time, state, until_s, max_calls, is_recording):
    """Simulate until the clock reaches `until_s`, a `Stop`; calling it again goes on where it stopped."""
    count = state.count
    total = len(requests.prompt_len)
    for _ in range(max_calls):
        join_arrivals(rules, requests, state)
        while count[NUM_RUNNING] == 0 and state.real[CLOCK] < until_s and count[NUM_DONE] < total:
            resume_s = quiet_until(rules, requests, state)
            if resume_s <= state.real[CLOCK]:
                break
            if resume_s == math.inf and until_s == math.inf:
                return Stop.STUCK
            pause_until(min(resume_s, until_s), count[NUM_WAITING] > 0, rules, requests, state)
            join_arrivals(rules, requests, state)
        if count[NUM_DONE] == total:
            return Stop.DONE
        if state.real[CLOCK] >= until_s:
            return Stop.TIME
        if is_recording and not has_room(state):
            return Stop.FULL
        call_scheduler(rules, requests, step_time, state, is_recording)
        if count[NUM_RUNNING] == 0 and count[NUM_WAITING] > 0 and did_nothing(requests, state):
            return Stop.STUCK
    return Stop.CALLS


@njit(**JIT)
def did_nothing(requests, state):
    """Whether the call scheduled no token and nobody will arrive who could change that."""
    count = state.count
    idle = count[NUM_DECODING] + count[CHUNK_TOKENS] + count[NUM_FINISHED] + count[NUM_PREEMPTED] == 0
    return idle and next_arrival_s(requests, state) == math.inf


@njit(**JIT)
def quiet_until(rules, requests, state):
    """With an empty server: when the scheduler is called next."""
    count = state.count
    now = state.real[CLOCK]
    if count[NUM_WAITING] == 0:
        return next_arrival_s(requests, state)
    if rules.batching == Batching.ITERATION or count[NUM_WAITING] >= rules.max_num_seqs:
        return now
    oldest = head_of_queue(rules.order, state.heap_id, count)
    full_at = next_arrival_s(requests, state)
    if full_at == math.inf:
        return now
    return max(now, min(full_at, state.out_s[oldest, ARRIVAL_S] + rules.batch_wait_s))


@njit(**JIT)
def call_scheduler(rules, requests, step_time, state, is_recording):
    """One call: schedule, run the iteration, apply its outputs."""
    count = state.count
    real = state.real
    schedule(rules, requests, state)
    measure_chunks(requests, step_time, state)
    start_s = real[CLOCK]
    tokens = count[NUM_DECODING] + count[NUM_HELD_DONE] + count[CHUNK_TOKENS]
    linear_s = linear_time(tokens, step_time)
    reading_s = step_time.kv_s * (count[DECODING_KV] + count[HELD_DONE_KV] + count[CHUNK_CONTEXT])
    end_s = start_s + (linear_s + reading_s + step_time.attention_s * real[CHUNK_WORK])
    if is_recording:
        record_schedule(rules.block_size, state)
    account_for(end_s - start_s, tokens, linear_s, rules, requests, step_time, state)
    spread(start_s, end_s, state.step_sums, state.bins, count, real)
    real[CLOCK] = end_s
    real[AGE] += count[CALL] * (end_s - start_s)
    if not rules.batch_delivery:
        push_duration(count[CALL], end_s - start_s, state.gap_call, state.gap_s, count)
        if count[NUM_DECODING] > 0:
            note_gap(end_s - start_s, count[NUM_DECODING], state.gap_count, state.gap_sum, count, real)
    count[SUM_STEPS] += 1
    count[SUM_TOKENS] += tokens
    count[SUM_OUTPUT] += count[NUM_DECODING] + count[CHUNKS_DONE]
    count[SUM_PADDING] += count[NUM_HELD_DONE]
    emit_tokens(end_s - start_s, rules, requests, state)
    if rules.prefix_caching or is_recording:
        sort_by_admission(state.finished, count[NUM_FINISHED], state.live)
    if is_recording:
        record_finished(state)
    finish_members(rules, requests, state)
    if is_recording:
        record_end(state)
    count[CALL] += 1
    count[CALL_PHASE] = count[CALL_PHASE] + 1 if count[CALL_PHASE] + 1 < rules.block_size else 0


@njit(**JIT)
def schedule(rules, requests, state):
    """Running members first, then the queue."""
    count = state.count
    count[NUM_PREEMPTED] = 0
    count[NUM_FRESH] = 0
    limit = prefill_limit(rules, count)
    left = grow_running(limit, rules, requests, state)
    if rules.batching == Batching.REQUEST:
        if count[NUM_RUNNING] == 0:
            admit_batch(rules, requests, state)
    elif count[NUM_PREEMPTED] == 0:
        admit_at_iteration(left, limit, rules, requests, state)


@njit(**JIT)
def linear_time(tokens, step_time):
    """Token-proportional part of an iteration; a straight line past the table."""
    last = len(step_time.linear_s) - 1
    if tokens <= last:
        return step_time.linear_s[tokens]
    return step_time.linear_s[last] + (tokens - last) * step_time.beyond_s


@njit(**JIT)
def measure_chunks(requests, step_time, state):
    """Sum up the prefill chunks of this call."""
    count = state.count
    real = state.real
    for entry in (CHUNK_TOKENS, CHUNK_REDO, CHUNK_CONTEXT, CHUNKS_DONE):
        count[entry] = 0
    for entry in (CHUNK_WORK, CHUNK_USEFUL_S, CHUNK_REDO_S):
        real[entry] = 0.0
    for k in range(count[NUM_PARTIAL]):
        measure_chunk(state.live[state.partial[k]], step_time.kv_s, step_time.attention_s, state.out_n, count, real)
    for k in range(count[NUM_FRESH]):
        measure_chunk(state.live[state.fresh[k]], step_time.kv_s, step_time.attention_s, state.out_n, count, real)


@njit(**JIT)
def measure_chunk(row, kv_s, attention_s, out_n, count, real):
    """Add one chunk, cut at the high-water mark of tokens that were computed once before."""
    i = row[REQUEST]
    tokens = row[CHUNK]
    context = row[COMPUTED]
    work = tokens * context + 0.5 * tokens * tokens
    seconds = kv_s * context + attention_s * work
    redo = max(min(context + tokens, out_n[i, HIGH_WATER]) - context, 0)
    count[CHUNK_TOKENS] += tokens
    count[CHUNK_CONTEXT] += context
    count[CHUNKS_DONE] += context + tokens == row[KNOWN]
    real[CHUNK_WORK] += work
    if redo > 0:
        count[CHUNK_REDO] += redo
        out_n[i, RECOMPUTED] += redo
        real[CHUNK_REDO_S] += seconds * redo / tokens
    real[CHUNK_USEFUL_S] += seconds * (tokens - redo) / tokens


@njit(**JIT)
def account_for(duration_s, tokens, linear_s, rules, requests, step_time, state):
    """Fill `step_sums` with what this iteration adds to the bins."""
    count = state.count
    free_row = Bin.FREE_NO_DEMAND
    if count[NUM_WAITING] > 0:
        free_row = row_of_free_blocks(False, rules, requests, state)
    add_memory(duration_s, free_row, rules.block_size, state.step_sums, count)
    fixed_s = step_time.linear_s[0]
    per_token_s = (linear_s - fixed_s) / tokens if tokens > 0 else 0.0
    add_time(fixed_s, per_token_s, step_time.kv_s, state.step_sums, count, state.real)
    state.step_sums[Bin.PRODUCING] = state.step_sums[Bin.OUTPUT_TOKENS] * duration_s
    state.step_sums[Bin.KV_READ] = count[DECODING_KV] + count[HELD_DONE_KV] + count[CHUNK_CONTEXT]
    if tokens == 0:  # somebody waits for memory that nobody will free
        state.step_sums[Bin.STALLED] = duration_s
        state.step_sums[Bin.FIXED] = 0.0


@njit(**JIT)
def settle_running(requests, state):
    """Bring the records of members still running up to the present clock."""
    count = state.count
    s = count[RUN_HEAD]
    while s >= 0:
        if state.live[s, DECODING]:
            close_segment(
                s,
                count[CALL] - 1,
                requests.prompt_len,
                state.live,
                state.live_s,
                state.out_s,
                state.out_n,
                state.gap_call,
                state.gap_s,
                count,
                state.real,
            )
            open_segment(s, state.live, state.live_s, count, state.real)
            state.live[s, SEGMENT] = count[CALL] - 1
        s = state.live[s, RUN_NEXT]
