"""The iteration loop: arrivals, running members, admission, step time, accounts, outputs.

A tuple of arrays is copied whole wherever it is assigned or passed, so the state is unpacked once and helpers get the
arrays they touch.
"""

import math
from enum import IntEnum

from numba import njit

from sim.engine.account import account_for, account_for_pause, row_of_free_blocks
from sim.engine.accounts import Bin
from sim.engine.admit import admit_waiting
from sim.engine.arrivals import join_arrivals, next_arrival_s
from sim.engine.chunks import clear_chunks, measure_chunks
from sim.engine.emit import collect_due, end_chunks, finish_members, pass_time, sort_by_admission
from sim.engine.grow import grow_quietly, grow_running, is_quiet
from sim.engine.head import look_at_head, may_be_admitted, prefill_limit
from sim.engine.inputs import Batching, Reserve
from sim.engine.jit import ENTRY, JIT
from sim.engine.record import has_room, record_end, record_finished, record_schedule
from sim.engine.segments import close_segment, open_segment
from sim.engine.state import (
    ARRIVAL_S,
    ARRIVED,
    CALL,
    CALL_PHASE,
    CHUNK_CONTEXT,
    CHUNK_TOKENS,
    CHUNK_WORK,
    CHUNKS_DONE,
    CLOCK,
    DECODING,
    DECODING_KV,
    HEAD_KNOWN_GOOD,
    HELD_DONE_KV,
    ISSUED,
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
from sim.engine.time_bins import flush
from sim.engine.waiting import head_of_queue


class Stop(IntEnum):
    """Why `advance` returned."""

    DONE = 0  # every request is finished or rejected
    TIME = 1  # the clock reached `until_s`
    CALLS = 2  # `max_calls` calls were made
    FULL = 3  # no room to record the next call
    STUCK = 4  # nothing runs, nobody can be admitted, nobody will arrive


@njit(**ENTRY)
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
    for _ in range(max_calls):
        # arrivals, and pauses while the server is empty
        if next_arrival_s(users, arrival_s, thinking, count) <= real[CLOCK]:
            join_arrivals(users, rules, arrival_s, asked, thinking, out_s, out_n, heap, count, real)
        if count[NUM_RUNNING] == 0:
            if count[NUM_DONE] == len(asked):
                return Stop.DONE
            resume_s = next_call_s(users, rules, arrival_s, thinking, out_s, heap, count, real)
            if resume_s > real[CLOCK] and real[CLOCK] < until_s:
                if resume_s == math.inf and until_s == math.inf:
                    return Stop.STUCK
                resume_s = min(resume_s, until_s)
                account_for_pause(resume_s, rules.block_size, bins, count, real)
                real[CLOCK] = resume_s
                continue
        if real[CLOCK] >= until_s:
            return Stop.TIME
        if is_recording and not has_room(tape, slots, count):
            return Stop.FULL

        # schedule: running members first, then the queue
        count[NUM_PREEMPTED] = 0
        limit = prefill_limit(rules, count)
        if is_quiet(rules, phases, count):
            grow_quietly(rules.block_size, is_reserved, phases, count)
            left = rules.max_num_batched_tokens - count[NUM_DECODING]
        else:
            left = grow_running(
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
        has_seat = count[NUM_RUNNING] < rules.max_num_seqs and count[NUM_PREEMPTED] == 0
        if count[NUM_WAITING] > 0 and has_seat and (may_be_admitted(count) or rules.skip_oversized):
            admit_waiting(
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

        # run the iteration
        clear_chunks(count, real)
        if count[NUM_PARTIAL] + count[NUM_FRESH] > 0:
            measure_chunks(kv_s, attention_s, live, slots, out_n, count, real)
        tokens = count[NUM_DECODING] + count[NUM_HELD_DONE] + count[CHUNK_TOKENS]
        token_s = linear_time(tokens, linear_s, beyond_s)
        reading_s = kv_s * (count[DECODING_KV] + count[HELD_DONE_KV] + count[CHUNK_CONTEXT])
        end_s = real[CLOCK] + (token_s + reading_s + attention_s * real[CHUNK_WORK])
        if is_recording:
            record_schedule(rules.block_size, tape, live, slots, count, real)
        free_row = Bin.FREE_NO_DEMAND
        if count[NUM_WAITING] > 0:
            if not count[HEAD_KNOWN_GOOD]:
                look_at_head(rules, asked, segments, heap, out_n, blocks, table, key_heads, count)
            free_row = row_of_free_blocks(rules.batching, rules.keep_blocks, count)
        account_for(end_s, tokens, token_s, linear_s[0], kv_s, free_row, rules.block_size, bins, count, real)
        count_call(tokens, count)

        # apply its outputs
        duration_s = end_s - real[CLOCK]
        pass_time(duration_s, end_s, rules.batch_delivery, gap_stack, gap_hist, count, real)
        if count[NUM_PARTIAL] + count[NUM_FRESH] > 0:
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
def count_call(tokens, count):
    """Totals of the run."""
    count[SUM_STEPS] += 1
    count[SUM_TOKENS] += tokens
    count[SUM_OUTPUT] += count[NUM_DECODING] + count[CHUNKS_DONE]
    count[SUM_PADDING] += count[NUM_HELD_DONE]


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
def linear_time(tokens, linear_s, beyond_s):
    """Token-proportional part of an iteration; a straight line past the table."""
    last = len(linear_s) - 1
    if tokens <= last:
        return linear_s[tokens]
    return linear_s[last] + (tokens - last) * beyond_s


@njit(**ENTRY)
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
