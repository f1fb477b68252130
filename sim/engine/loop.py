"""The iteration loop: arrivals, running members, admission, step time, accounts, outputs.

A tuple of arrays is copied whole wherever it is assigned or passed, so the state is unpacked once and helpers get the
arrays they touch.
"""

import math
from enum import IntEnum

from numba import njit

from sim.engine.account import add_chunks, add_memory, add_time, row_of_free_blocks
from sim.engine.accounts import Bin
from sim.engine.admit import admit_at_iteration, admit_batch
from sim.engine.arrivals import join_arrivals, next_arrival_s
from sim.engine.chunks import clear_chunks, measure_chunks
from sim.engine.emit import collect_due, end_chunks, finish_members, sort_by_admission
from sim.engine.gaps import note_gap, push_duration
from sim.engine.grow import grow_cached, grow_chunks, grow_quietly, make_room, plan_chunks, walk_running
from sim.engine.head import prefill_limit
from sim.engine.inputs import Batching, Order, Reserve
from sim.engine.jit import JIT
from sim.engine.record import has_room, record_end, record_finished, record_schedule
from sim.engine.segments import close_segment, open_segment
from sim.engine.state import (
    AGE,
    ARRIVAL_S,
    ARRIVED,
    BIN_END,
    CALL,
    CALL_PHASE,
    CHUNK_CONTEXT,
    CHUNK_TOKENS,
    CHUNK_WORK,
    CHUNKS_DONE,
    CLOCK,
    DECODING,
    DECODING_KV,
    FREE,
    HELD_DONE_KV,
    ISSUED,
    MEMBERS,
    NUM_DECODING,
    NUM_DONE,
    NUM_FINISHED,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_PARTIAL,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PROMPT_LEN,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    SEGMENT,
    SUM_OUTPUT,
    SUM_PADDING,
    SUM_STEPS,
    SUM_TOKENS,
)
from sim.engine.time_bins import OPEN, flush, split
from sim.engine.waiting import head_of_queue


class Stop(IntEnum):
    """Why `advance` returned."""

    DONE = 0  # every request is finished or rejected
    TIME = 1  # the clock reached `until_s`
    CALLS = 2  # `max_calls` calls were made
    FULL = 3  # no room to record the next call
    STUCK = 4  # nothing runs, nobody can be admitted, nobody will arrive


@njit(**JIT)
def advance(rules, inputs, users, beyond_s, kv_s, attention_s, state, tape, until_s, max_calls, is_recording):
    """Simulate until the clock reaches `until_s`, a `Stop`; calling it again goes on where it stopped."""
    arrival_s, asked, segments, linear_s = inputs
    (
        count,
        real,
        live,
        live_s,
        slots,
        calendar,
        phases,
        out_s,
        out_n,
        gap_stack,
        gap_hist,
        bins,
        heap,
        thinking,
        blocks,
        table,
        key_heads,
    ) = state
    is_reserved = rules.reserve != Reserve.CHUNK
    victims_are_last = rules.order == Order.FCFS and not rules.prefix_caching
    for _ in range(max_calls):
        # arrivals, and pauses while the server is empty
        while next_arrival_s(users, arrival_s, thinking, count) <= real[CLOCK]:
            join_arrivals(users, rules, arrival_s, asked, thinking, out_s, out_n, heap, count, real)
        if count[NUM_RUNNING] == 0:
            if count[NUM_DONE] == len(asked):
                return Stop.DONE
            resume_s = next_call_s(users, rules, arrival_s, thinking, out_s, heap, count, real)
            if resume_s > real[CLOCK] and real[CLOCK] < until_s:
                if resume_s == math.inf and until_s == math.inf:
                    return Stop.STUCK
                pause(min(resume_s, until_s), rules.block_size, bins, count, real)
                continue
        if real[CLOCK] >= until_s:
            return Stop.TIME
        if is_recording and not has_room(tape, slots, count):
            return Stop.FULL

        # schedule: running members first, then the queue
        count[NUM_PREEMPTED] = 0
        limit = prefill_limit(rules.long_prefill_token_threshold, rules.max_model_len, count)
        left = rules.max_num_batched_tokens - count[NUM_DECODING]
        chunk_tokens = 0
        needed = phases[count[CALL_PHASE], MEMBERS]
        if count[NUM_PARTIAL] > 0:
            chunk_tokens, chunk_blocks = plan_chunks(left, limit, rules.block_size, slots, live, count)
            needed += chunk_blocks
        is_short = needed > count[FREE] and not is_reserved
        if is_short and victims_are_last and chunk_tokens >= 0:
            make_room(
                limit,
                rules,
                asked,
                live,
                live_s,
                slots,
                calendar,
                phases,
                out_s,
                out_n,
                gap_stack,
                heap,
                blocks,
                table,
                count,
                real,
            )
            is_short = False
        if chunk_tokens < 0 or is_short:
            left = walk_running(
                limit,
                rules,
                asked,
                segments,
                live,
                live_s,
                slots,
                calendar,
                phases,
                out_s,
                out_n,
                gap_stack,
                heap,
                blocks,
                table,
                key_heads,
                count,
                real,
            )
        else:
            left -= chunk_tokens
            grow_quietly(rules.block_size, is_reserved, phases, count)
            if rules.prefix_caching:
                grow_cached(rules, asked, segments, live, phases, blocks, table, key_heads, count)
            if count[NUM_PARTIAL] > 0:
                grow_chunks(rules, asked, segments, live, slots, blocks, table, key_heads, count)
        if count[NUM_WAITING] > 0 and count[NUM_PREEMPTED] == 0 and count[NUM_RUNNING] < rules.max_num_seqs:
            if rules.batching == Batching.ITERATION:
                admit_at_iteration(
                    left,
                    limit,
                    rules,
                    asked,
                    segments,
                    live,
                    slots,
                    out_s,
                    out_n,
                    heap,
                    blocks,
                    table,
                    key_heads,
                    count,
                    real,
                )
            elif count[NUM_RUNNING] == 0:
                admit_batch(
                    rules, asked, segments, live, slots, out_s, out_n, heap, blocks, table, key_heads, count, real
                )

        # run the iteration
        clear_chunks(count, real)
        has_chunks = count[NUM_PARTIAL] + count[NUM_FRESH] > 0
        if has_chunks:
            measure_chunks(kv_s, attention_s, live, slots, out_n, count, real)
        if is_recording:
            record_schedule(rules.block_size, tape, live, slots, count, real)
        tokens = count[NUM_DECODING] + count[NUM_HELD_DONE] + count[CHUNK_TOKENS]
        token_s = linear_time(tokens, linear_s, beyond_s)
        reading_s = kv_s * (count[DECODING_KV] + count[HELD_DONE_KV] + count[CHUNK_CONTEXT])
        start_s = real[CLOCK]
        end_s = start_s + (token_s + reading_s + attention_s * real[CHUNK_WORK])
        duration_s = end_s - start_s

        # both ledgers
        free_row = Bin.FREE_NO_DEMAND
        if count[NUM_WAITING] > 0:
            free_row = row_of_free_blocks(rules, asked, segments, heap, out_n, blocks, table, key_heads, count)
        if end_s > real[BIN_END]:
            flush(bins, count)
        add_memory(duration_s, free_row, rules.block_size, bins, count)
        if tokens > 0:
            per_token_s = (token_s - linear_s[0]) / tokens
            add_time(duration_s, linear_s[0], per_token_s, kv_s, bins, count)
            if has_chunks:
                add_chunks(per_token_s, bins, count, real)
        else:  # somebody waits for memory that nobody will free
            bins[OPEN, Bin.STALLED] += duration_s
        if end_s > real[BIN_END]:
            split(start_s, end_s, bins, count, real)
        count[SUM_STEPS] += 1
        count[SUM_TOKENS] += tokens
        count[SUM_OUTPUT] += count[NUM_DECODING] + count[CHUNKS_DONE]
        count[SUM_PADDING] += count[NUM_HELD_DONE]

        # outputs
        real[CLOCK] = end_s
        real[AGE] += count[CALL] * duration_s
        if not rules.batch_delivery:
            push_duration(count[CALL], duration_s, gap_stack, count)
            if count[NUM_DECODING] > 0:
                note_gap(duration_s, count[NUM_DECODING], gap_hist, count, real)
        if has_chunks:
            end_chunks(
                duration_s, rules, asked, live, live_s, slots, calendar, phases, out_s, out_n, gap_hist, count, real
            )
        collect_due(live, slots, calendar, count)
        if is_recording or rules.prefix_caching:
            sort_by_admission(slots, live, count)
        if is_recording:
            record_finished(tape, live, slots, count)
        if count[NUM_FINISHED] > 0:
            finish_members(
                rules,
                arrival_s,
                asked,
                live,
                live_s,
                slots,
                calendar,
                phases,
                out_s,
                out_n,
                gap_stack,
                thinking,
                blocks,
                table,
                count,
                real,
            )
        if is_recording:
            record_end(tape, count, real)
        count[CALL] += 1
        count[CALL_PHASE] = count[CALL_PHASE] + 1 if count[CALL_PHASE] + 1 < rules.block_size else 0
        if tokens + count[NUM_PREEMPTED] == 0 and count[ARRIVED] == count[ISSUED]:
            return Stop.STUCK
    return Stop.CALLS


@njit(**JIT)
def next_call_s(users, rules, arrival_s, thinking, out_s, heap, count, real):
    """With an empty server: when the scheduler is called next."""
    now = real[CLOCK]
    if count[NUM_WAITING] == 0:
        return next_arrival_s(users, arrival_s, thinking, count)
    if rules.batching == Batching.ITERATION or count[NUM_WAITING] >= rules.max_num_seqs:
        return now
    full_s = next_arrival_s(users, arrival_s, thinking, count)
    if full_s == math.inf:
        return now
    oldest = head_of_queue(rules.order, heap, count)
    return max(now, min(full_s, out_s[oldest, ARRIVAL_S] + rules.batch_wait_s))


@njit(**JIT)
def pause(end_s, block_size, bins, count, real):
    """Nothing runs until `end_s`; who waits then waits for the batch to fill."""
    duration_s = end_s - real[CLOCK]
    if end_s > real[BIN_END]:
        flush(bins, count)
    add_memory(duration_s, Bin.WITHHELD_WAIT, block_size, bins, count)
    bins[OPEN, Bin.IDLE if count[NUM_WAITING] == 0 else Bin.STALLED] += duration_s
    if end_s > real[BIN_END]:
        split(real[CLOCK], end_s, bins, count, real)
    real[CLOCK] = end_s


@njit(**JIT)
def linear_time(tokens, linear_s, beyond_s):
    """Token-proportional part of an iteration; a straight line past the table."""
    last = len(linear_s) - 1
    if tokens <= last:
        return linear_s[tokens]
    return linear_s[last] + (tokens - last) * beyond_s


@njit(**JIT)
def settle(asked, live, live_s, out_s, out_n, gap_stack, bins, count, real):
    """Bring the records of members still running and the time bins up to the present clock."""
    flush(bins, count)
    s = count[RUN_HEAD]
    while s >= 0:
        if live[s, DECODING]:
            prompt_len = asked[live[s, REQUEST], PROMPT_LEN]
            close_segment(s, count[CALL] - 1, prompt_len, live, live_s, out_s, out_n, gap_stack, count, real)
            open_segment(s, live, live_s, count, real)
            live[s, SEGMENT] = count[CALL] - 1
        s = live[s, RUN_NEXT]
