"""vLLM V1's iteration loop, and static batching's: arrivals, running members, admission, step time, accounts, outputs.

A tuple of arrays is copied whole wherever it is passed: to a `@part` that costs nothing, a `@kernel` gets the arrays it
touches.
"""

import math
from enum import IntEnum

from numba import njit

from sim.engine.account import account_for, account_for_pause, row_of_free_blocks
from sim.engine.accounts import Bin
from sim.engine.admit import admit_waiting
from sim.engine.arrivals import join_arrivals, next_arrival_s
from sim.engine.chunks import clear_chunks, measure_chunks
from sim.engine.emit import (
    collect_due,
    deliver_late,
    end_chunks,
    finish_members,
    hold_prompts,
    note_sampled,
    pass_time,
    sort_late,
)
from sim.engine.grow import grow_quietly, grow_running, is_quiet
from sim.engine.head import look_at_head, may_be_admitted, prefill_limit
from sim.engine.inputs import Batching, Reserve
from sim.engine.jit import ENTRY
from sim.engine.kernel import part
from sim.engine.members import sort_slots
from sim.engine.record import has_room, record_call, record_end, record_outputs
from sim.engine.segments import settle_held, settle_memory, settle_tokens
from sim.engine.state import (
    AGE,
    ARRIVAL_S,
    CALL,
    CALL_PHASE,
    CHUNK_CONTEXT,
    CHUNK_REDO,
    CHUNK_REDO_S,
    CHUNK_TOKENS,
    CHUNK_USEFUL_S,
    CHUNK_WORK,
    CHUNKS_DONE,
    CLOCK,
    DECODING,
    DECODING_KV,
    DUE_LIST,
    ENDING,
    EPOCH,
    EXPECTED,
    F_CALL,
    F_CHUNK_CONTEXT,
    F_CHUNK_REDO,
    F_CHUNK_REDO_S,
    F_CHUNK_TOKENS,
    F_CHUNK_USEFUL_S,
    F_CHUNKS_DONE,
    F_DECODING,
    F_DECODING_KV,
    F_DROPPED,
    F_END_S,
    F_HELD,
    F_HELD_KV,
    F_LINEAR_S,
    F_NUM_DUE,
    F_NUM_PREEMPTED,
    F_NUM_SAMPLED,
    F_ROW,
    F_TOKENS,
    FIRST_TRIES,
    FLIGHT_CALL,
    HEAD_KNOWN_GOOD,
    HELD_DONE_KV,
    IN_FLIGHT,
    ISSUED,
    LAST_END,
    NUM_DECODING,
    NUM_DONE,
    NUM_DUE,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_LATE,
    NUM_PARTIAL,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PROMPT_LEN,
    PUSHED,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    SEQ,
    START_S,
    SUM_OUTPUT,
    SUM_PADDING,
    SUM_STEPS,
    SUM_TOKENS,
    UNANNOUNCED,
    Cache,
    Members,
    RequestRecords,
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
    OUT_OF_MEMORY = 5  # SGLang: a prefill that goes on cannot be allocated, and the server's process ends


@njit(**ENTRY)
def advance(rules, inputs, pool, users, beyond_s, kv_s, attention_s, state, tape, until_s, max_calls, is_recording):
    """Simulate until the clock reaches `until_s`, a `Stop`; calling it again goes on where it stopped."""
    arrival_s = inputs.arrival_s
    count, real = state.counts, state.real
    live, slots, out_s, heap, thinking = state.live, state.slots, state.out_s, state.heap, state.thinking
    members = Members(live, state.live_s, slots, state.calendar, state.phases)
    records = RequestRecords(out_s, state.out_n)
    cache = Cache(state.blocks, state.table, state.key_heads)
    depth = 2 if rules.is_async else 1
    for _ in range(max_calls):
        # arrivals, and pauses while the server is empty
        if next_arrival_s(users, arrival_s, thinking, count) <= real[CLOCK]:
            join_arrivals(users, rules, inputs, pool, thinking, out_s, state.out_n, heap, count, real)
        if count[NUM_RUNNING] + count[IN_FLIGHT] == 0:
            if count[NUM_DONE] == count[EXPECTED] and not count[UNANNOUNCED]:
                return Stop.DONE
            resume_s = next_call_s(users, rules, arrival_s, thinking, out_s, heap, count, real)
            if resume_s > real[CLOCK] and real[CLOCK] < until_s and not count[UNANNOUNCED]:
                if resume_s == math.inf and until_s == math.inf:
                    return Stop.STUCK
                pass_pause(min(resume_s, until_s), rules.block_size, live, slots, out_s, state.bins, count, real)
                continue
        if real[CLOCK] >= until_s:
            return Stop.TIME
        if is_recording and not has_room(tape, slots, count):
            return Stop.FULL

        tokens = 0
        is_stuck = False
        is_called = count[NUM_RUNNING] + count[NUM_WAITING] + count[UNANNOUNCED] > 0
        if is_called:
            schedule(rules, inputs, members, records, state.gap_stack, heap, cache, count, real)
            tokens, is_stuck = push(
                rules, inputs, beyond_s, kv_s, attention_s, members, records, state, tape, is_recording
            )
        # apply the oldest step, unless the queue has room and there is more to schedule
        is_busy = tokens > 0 or count[NUM_RUNNING] + count[NUM_WAITING] > 0
        if not (is_called and count[IN_FLIGHT] < depth and is_busy):
            pull(rules, inputs, kv_s, members, records, cache, state, tape, is_recording)
        if tokens == 0:
            if is_stuck:
                return Stop.STUCK
            if rules.is_async and count[NUM_RUNNING] + count[NUM_WAITING] + count[UNANNOUNCED] > 0:
                pass_pause(real[CLOCK] + rules.pause_s, rules.block_size, live, slots, out_s, state.bins, count, real)
    return Stop.CALLS


@part
def schedule(rules, inputs, members, records, gap_stack, heap, cache, count, real):
    """One call of the scheduler: running members first, then the queue."""
    count[NUM_PREEMPTED] = 0
    count[UNANNOUNCED] = 0
    count[EPOCH] += 1
    real[START_S] = max(real[CLOCK], real[LAST_END])
    limit = prefill_limit(rules, count)
    if is_quiet(rules, members.phases, count):
        grow_quietly(rules.block_size, rules.reserve != Reserve.CHUNK, members.phases, count)
        left = rules.max_num_batched_tokens - count[NUM_DECODING]
    else:
        left = grow_running(limit, rules, inputs, members, records, gap_stack, heap, cache, count, real)
    has_seat = count[NUM_RUNNING] < rules.max_num_seqs and count[NUM_PREEMPTED] == 0
    if count[NUM_WAITING] > 0 and has_seat and (may_be_admitted(count) or rules.skip_oversized):
        admit_waiting(left, limit, rules, inputs, members, records, heap, cache, count, real)


@part
def push(rules, inputs, beyond_s, kv_s, attention_s, members, records, state, tape, is_recording):
    """Put the step into the queue of those in flight; its tokens, and whether nothing will ever run again."""
    count, real, flight = state.counts, state.real, state.flight
    parity = count[PUSHED] & 1
    clear_chunks(count, real)
    has_chunks = count[NUM_PARTIAL] + count[NUM_FRESH] > 0
    if has_chunks:
        measure_chunks(kv_s, attention_s, members.live, members.slots, records.out_n, count, real)
    tokens = count[NUM_DECODING] + count[NUM_HELD_DONE] + count[CHUNK_TOKENS]
    token_s = linear_time(tokens, inputs.linear_s, beyond_s)
    reading_s = kv_s * (count[DECODING_KV] + count[HELD_DONE_KV] + count[CHUNK_CONTEXT])
    end_s = real[START_S] + (token_s + reading_s + attention_s * real[CHUNK_WORK])
    if rules.is_async and tokens == 0:
        end_s = real[START_S]
    is_stuck = tokens == 0 and waits_for_ever(count)
    launch(parity, tokens, token_s, end_s, flight, state.flight_s, count, real)
    if is_recording and (tokens > 0 or count[NUM_PREEMPTED] > 0 or not rules.is_async):
        flight[parity, F_ROW] = record_call(end_s, rules.block_size, tape, members.live, members.slots, count, real)
    if has_chunks:
        end_chunks(parity, rules, inputs, members, flight, records, count, real)
    collect_due(parity, rules, inputs, members, flight, records, count, real)
    if tokens > 0 or not rules.is_async:
        count[FLIGHT_CALL] = count[CALL]
        count[CALL] += 1
        count[CALL_PHASE] = count[CALL_PHASE] + 1 if count[CALL_PHASE] + 1 < rules.block_size else 0
    return tokens, is_stuck


@part
def pull(rules, inputs, kv_s, members, records, cache, state, tape, is_recording):
    """Apply the oldest step in flight."""
    count, real, flight = state.counts, state.real, state.flight
    live, slots = members.live, members.slots
    parity = (count[PUSHED] - count[IN_FLIGHT]) & 1
    row = flight[parity, F_ROW]
    free_row = Bin.FREE_NO_DEMAND
    if count[NUM_WAITING] > 0:
        if not count[HEAD_KNOWN_GOOD]:
            look_at_head(rules, inputs, state.heap, records, cache, count)
        free_row = row_of_free_blocks(rules.batching, rules.keep_blocks, count)
    end_s = max(real[CLOCK], state.flight_s[parity, F_END_S])  # an empty step may have ended before a pause did
    account_for(
        parity,
        end_s,
        kv_s,
        inputs.linear_s[0],
        free_row,
        rules.block_size,
        flight,
        state.flight_s,
        state.bins,
        count,
        real,
    )
    count[SUM_OUTPUT] += flight[parity, F_DECODING] + flight[parity, F_CHUNKS_DONE] - flight[parity, F_DROPPED]
    count[EPOCH] += 1
    pass_time(
        parity,
        end_s,
        rules.batch_delivery,
        live,
        slots,
        flight,
        records.out_s,
        state.gap_stack,
        state.gap_hist,
        count,
        real,
    )
    if is_recording or rules.prefix_caching:
        sort_slots(DUE_LIST + parity, flight[parity, F_NUM_DUE], SEQ, slots, live)
    if count[NUM_LATE] > 0:
        sort_late(slots, count)
    if is_recording and row >= 0:
        record_outputs(tape, row, parity, inputs.asked, live, slots, flight, records.out_n, count)
    if count[NUM_LATE] > 0:
        deliver_late(rules, inputs, members, records, state.gap_hist, state.heap, state.thinking, count, real)
    if flight[parity, F_NUM_SAMPLED] > 0:
        note_sampled(parity, rules.batch_delivery, members, flight, records, state.gap_hist, count, real)
    if flight[parity, F_NUM_DUE] > 0:
        finish_members(
            parity, rules, inputs, members, flight, records, state.gap_stack, state.thinking, cache, count, real
        )
    if is_recording and row >= 0:
        record_end(tape, row, count)
    land(rules.is_async, flight, count)


@part
def launch(parity, tokens, token_s, end_s, flight, flight_s, count, real):
    """Put the step that was just scheduled into the queue of those in flight."""
    flight[parity, F_CALL] = count[CALL]
    flight[parity, F_ROW] = -1
    flight[parity, F_TOKENS] = tokens
    flight[parity, F_DECODING] = count[NUM_DECODING]
    flight[parity, F_DECODING_KV] = count[DECODING_KV]
    flight[parity, F_HELD] = count[NUM_HELD_DONE]
    flight[parity, F_HELD_KV] = count[HELD_DONE_KV]
    flight[parity, F_CHUNK_TOKENS] = count[CHUNK_TOKENS]
    flight[parity, F_CHUNK_REDO] = count[CHUNK_REDO]
    flight[parity, F_CHUNK_CONTEXT] = count[CHUNK_CONTEXT]
    flight[parity, F_CHUNKS_DONE] = count[CHUNKS_DONE]
    flight[parity, F_DROPPED] = 0
    flight[parity, F_NUM_SAMPLED] = 0
    flight[parity, F_NUM_PREEMPTED] = count[NUM_PREEMPTED]
    flight_s[parity, F_END_S] = end_s
    flight_s[parity, F_LINEAR_S] = token_s
    flight_s[parity, F_CHUNK_USEFUL_S] = real[CHUNK_USEFUL_S]
    flight_s[parity, F_CHUNK_REDO_S] = real[CHUNK_REDO_S]
    real[LAST_END] = end_s
    count[PUSHED] += 1
    count[IN_FLIGHT] += 1
    count[SUM_STEPS] += tokens > 0
    count[SUM_TOKENS] += tokens
    count[SUM_PADDING] += count[NUM_HELD_DONE]


@part
def land(is_async, flight, count):
    """The oldest step has been applied."""
    if not is_async:
        count[UNANNOUNCED] = 0
    count[IN_FLIGHT] -= 1
    count[FLIGHT_CALL] = -1
    newest = (count[PUSHED] - 1) & 1
    if count[IN_FLIGHT] > 0 and flight[newest, F_TOKENS] > 0:
        count[FLIGHT_CALL] = flight[newest, F_CALL]


@part
def waits_for_ever(count):
    """Whether nobody runs, nobody waiting could be admitted, and nobody will arrive who could change that."""
    is_idle = count[NUM_RUNNING] == 0 and count[FLIGHT_CALL] < 0 and count[NUM_PREEMPTED] == 0
    is_last = count[FIRST_TRIES] == count[ISSUED] and count[NUM_DUE] == 0
    return is_idle and is_last and count[NUM_WAITING] > 0


@part
def pass_pause(end_s, block_size, live, slots, out_s, bins, count, real):
    """The clock moves on although no step runs."""
    account_for_pause(end_s, block_size, bins, count, real)
    hold_prompts(end_s - real[CLOCK], live, slots, out_s, count)
    real[AGE] += (count[CALL] - 1) * (end_s - real[CLOCK])
    real[CLOCK] = end_s


@part
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


@part
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
        if live[s, DECODING] or live[s, ENDING]:
            settle_tokens(s, asked[live[s, REQUEST], PROMPT_LEN], live, out_s, out_n, gap_stack, count, real)
        if live[s, DECODING]:
            settle_memory(s, live, live_s, out_s, real)
        elif live[s, ENDING]:
            settle_held(s, live, live_s, out_s, real)
        s = live[s, RUN_NEXT]
