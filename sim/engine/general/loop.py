"""The iteration loop: arrivals, who runs, the iteration's time, the accounts, the outputs."""

import math

from numba import njit

from sim.engine.account import account_for
from sim.engine.accounts import Bin
from sim.engine.arrivals import next_arrival_s
from sim.engine.chunks import clear_chunks
from sim.engine.general.arrivals import give_up, join_arrivals, note_predictions
from sim.engine.general.batches import run_failed_again
from sim.engine.general.choices import Counting, Queue
from sim.engine.general.decoding import collect_due, grow_decoding
from sim.engine.general.emit import (
    count_outputs,
    end_chunks,
    end_held_batch,
    finish_members,
    measure_chunks,
    note_sampled,
    pass_time,
)
from sim.engine.general.events import next_event_s, next_give_up_s, next_start_s
from sim.engine.general.record import record_iteration, record_outputs
from sim.engine.general.schedule import is_quiet, schedule
from sim.engine.general.state import (
    HOST_FREE,
    MOVED_BLOCKS,
    NUM_FAILED,
    NUM_NEW,
    NUM_REDO,
    REDO_KV,
    STEP,
    TICKS,
    WAS_PREFILL,
)
from sim.engine.general.withheld import batch_keeps_out, row_of_free_blocks
from sim.engine.jit import ENTRY
from sim.engine.kernel import kernel, part
from sim.engine.loop import Stop, linear_time, pass_pause
from sim.engine.record import has_room, record_end
from sim.engine.state import (
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
    DECODING_KV,
    EXPECTED,
    F_CHUNK_CONTEXT,
    F_CHUNK_REDO,
    F_CHUNK_REDO_S,
    F_CHUNK_TOKENS,
    F_CHUNK_USEFUL_S,
    F_CHUNKS_DONE,
    F_DECODING,
    F_DECODING_KV,
    F_HELD,
    F_HELD_KV,
    F_LINEAR_S,
    F_NUM_PREEMPTED,
    F_PREDICTOR_S,
    F_REDO,
    F_REDO_KV,
    F_SWAP_S,
    F_TOKENS,
    HELD_DONE_KV,
    HOST_USED,
    NUM_DECODING,
    NUM_DONE,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_PARTIAL,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PUSHED,
    START_S,
    SUM_OUTPUT,
    SUM_PADDING,
    SUM_STEPS,
    SUM_TOKENS,
    Members,
    RequestRecords,
)


@njit(**ENTRY)
def advance(
    rules,
    inputs,
    hints,
    pool,
    refinement,
    users,
    beyond_s,
    kv_s,
    attention_s,
    state,
    more,
    tape,
    until_s,
    most_steps,
    is_recording,
):
    """Simulate until the clock reaches `until_s`, a `Stop`; calling it again goes on where it stopped."""
    count = state.counts
    real = state.real
    flight = state.flight
    flight_s = state.flight_s
    thinking = state.thinking
    gap_stack = state.gap_stack
    heap = state.heap
    members = Members(state.live, state.live_s, state.slots, state.calendar, state.phases)
    records = RequestRecords(state.out_s, state.out_n)
    for _ in range(most_steps):
        if rules.timeout_s > 0.0:  # first, as who gives up may ask again at once
            give_up(rules, inputs, hints, members, records, gap_stack, thinking, heap, more, count, real)
        if next_arrival_s(users, inputs.arrival_s, thinking, count) <= real[CLOCK]:
            join_arrivals(users, rules, inputs, hints, pool, records, thinking, heap, more, count, real)
        if rules.predict_delay_s > 0.0:
            note_predictions(rules, inputs, hints, records, heap, more, count, real)
        if count[NUM_RUNNING] == 0:
            if count[NUM_DONE] == count[EXPECTED]:
                return Stop.DONE
            start_s = next_start_s(users, rules, inputs, hints, records, thinking, heap, more, count, real)
            if start_s > real[CLOCK] and real[CLOCK] < until_s:
                resume_s = min(start_s, next_give_up_s(rules, records, more, count, real))
                if resume_s == math.inf and until_s == math.inf:
                    return Stop.STUCK
                wait_until(min(resume_s, until_s), rules, members, records, state.bins, count, real)
                continue
        if real[CLOCK] >= until_s:
            return Stop.TIME
        if is_recording and not has_room(tape, state.slots, count):
            return Stop.FULL

        begin_iteration(
            rules, inputs, hints, refinement, members, records, gap_stack, thinking, heap, more, count, real
        )
        tokens, end_s = measure_iteration(
            rules, inputs, beyond_s, kv_s, attention_s, members, records, flight, flight_s, count, real
        )
        if tokens == 0 and end_s == real[START_S] and count[NUM_PREEMPTED] == 0:
            event_s = next_event_s(users, rules, inputs, records, thinking, more, count)
            if event_s == math.inf and until_s == math.inf:
                return Stop.STUCK
            if event_s > real[CLOCK]:
                wait_until(min(event_s, until_s), rules, members, records, state.bins, count, real)
            continue
        run_iteration(end_s, kv_s, rules, inputs, hints, members, records, state, more, tape, is_recording)
    return Stop.CALLS


@part
def begin_iteration(rules, inputs, hints, refinement, members, records, gap_stack, thinking, heap, more, count, real):
    """Who runs in this iteration, and what it computes."""
    count[NUM_PREEMPTED] = 0
    count[MOVED_BLOCKS] = 0
    real[START_S] = real[CLOCK]
    if is_quiet(rules, members.phases, count):
        grow_decoding(rules.block_size, members.phases, count)
        count[TICKS] = 1
    else:
        count[TICKS] = schedule(rules, inputs, hints, refinement, members, records, gap_stack, heap, more, count, real)
    if count[NUM_HELD_DONE] > 0 and count[NUM_HELD_DONE] == count[NUM_RUNNING]:  # all others gave way
        end_held_batch(rules, inputs, members, records, thinking, more, count, real)
        run_failed_again(rules, inputs, hints, members, records, heap, more, count, real)


@part
def measure_iteration(rules, inputs, beyond_s, kv_s, attention_s, members, records, flight, flight_s, count, real):
    """The iteration's tokens and when it ends; what the ledgers need of it."""
    clear_chunks(count, real)
    back, back_kv = 0, 0
    if count[NUM_PARTIAL] + count[NUM_FRESH] > 0:
        back, back_kv = measure_chunks(kv_s, attention_s, members, records, inputs, count, real)
    decoding = back + (count[NUM_DECODING] if count[TICKS] else 0)
    decoding_kv = back_kv + (count[DECODING_KV] if count[TICKS] else 0)
    tokens = decoding + count[NUM_HELD_DONE] + count[CHUNK_TOKENS]
    token_s = linear_time(tokens, inputs.linear_s, beyond_s)
    reading_s = kv_s * (decoding_kv + count[HELD_DONE_KV] + count[CHUNK_CONTEXT])
    swap_s = count[MOVED_BLOCKS] * rules.swap_block_s
    predictor_s = count[NUM_NEW] * rules.predict_step_s
    count[NUM_NEW] = 0
    flight[0, F_TOKENS] = tokens
    flight[0, F_DECODING] = decoding
    flight[0, F_DECODING_KV] = decoding_kv
    flight[0, F_REDO] = count[NUM_REDO] if count[TICKS] else 0
    flight[0, F_REDO_KV] = count[REDO_KV] if count[TICKS] else 0
    flight[0, F_HELD] = count[NUM_HELD_DONE]
    flight[0, F_HELD_KV] = count[HELD_DONE_KV]
    flight[0, F_CHUNK_TOKENS] = count[CHUNK_TOKENS]
    flight[0, F_CHUNK_REDO] = count[CHUNK_REDO]
    flight[0, F_CHUNK_CONTEXT] = count[CHUNK_CONTEXT]
    flight[0, F_CHUNKS_DONE] = count[CHUNKS_DONE]
    flight[0, F_NUM_PREEMPTED] = count[NUM_PREEMPTED]
    flight_s[0, F_LINEAR_S] = token_s
    flight_s[0, F_CHUNK_USEFUL_S] = real[CHUNK_USEFUL_S]
    flight_s[0, F_CHUNK_REDO_S] = real[CHUNK_REDO_S]
    flight_s[0, F_SWAP_S] = swap_s
    flight_s[0, F_PREDICTOR_S] = predictor_s
    if tokens == 0:
        return tokens, real[START_S] + (swap_s + predictor_s)
    return tokens, real[START_S] + (token_s + reading_s + attention_s * real[CHUNK_WORK] + (swap_s + predictor_s))


@part
def run_iteration(end_s, kv_s, rules, inputs, hints, members, records, state, more, tape, is_recording):
    """The iteration passes: its tokens come, members with their last one leave."""
    count, real, flight = state.counts, state.real, state.flight
    # what the memory is for, as it stands right after scheduling
    free_row = Bin.FREE_NO_DEMAND
    if batch_keeps_out(rules.batching, count):
        free_row = Bin.WITHHELD_BATCH
    elif count[NUM_WAITING] > 0:
        free_row = row_of_free_blocks(rules, inputs, hints, members, records, state.heap, more, count, real)
    count[HOST_USED] = rules.host_blocks - count[HOST_FREE]
    tokens = flight[0, F_TOKENS]
    count[SUM_STEPS] += tokens > 0
    count[SUM_TOKENS] += tokens
    count[SUM_PADDING] += count[NUM_HELD_DONE]
    count[PUSHED] += 1
    count[SUM_OUTPUT] += flight[0, F_DECODING] + count[CHUNKS_DONE] - flight[0, F_REDO]
    row = -1
    if is_recording and (tokens > 0 or count[NUM_PREEMPTED] > 0):
        row = record_iteration(end_s, rules.block_size, tape, state.live, state.slots, count, real)

    # members whose prompt is complete, members that end
    decoding = count[NUM_DECODING] if count[TICKS] else 0
    if not count[TICKS]:
        count[CALL] -= 1
    count[WAS_PREFILL] = count[CHUNK_TOKENS] + flight[0, F_DECODING] > decoding
    sampled = 0
    if count[NUM_PARTIAL] + count[NUM_FRESH] > 0:
        sampled = end_chunks(rules, inputs, hints, members, records, more, count, real)
    due = 0
    if state.calendar[count[CALL] & (len(state.calendar) - 1), 0] >= 0:
        due = collect_due(rules, members, records, count, real)
    count[CALL] += 1
    if count[TICKS]:
        count[CALL_PHASE] = count[CALL_PHASE] + 1 if count[CALL_PHASE] + 1 < rules.block_size else 0

    # time passes, tokens come
    count[STEP] += 1
    fixed_s = inputs.linear_s[0]
    account_for(0, end_s, kv_s, fixed_s, free_row, rules.block_size, flight, state.flight_s, state.bins, count, real)
    pass_time(
        end_s,
        decoding,
        rules.batch_delivery,
        state.live,
        state.slots,
        records,
        state.gap_stack,
        state.gap_hist,
        count,
        real,
    )
    if row >= 0:
        record_outputs(tape, row, due, state.live, state.slots, count)
    if sampled > 0:
        note_sampled(sampled, rules.batch_delivery, members, records, state.gap_hist, count, real)
    if rules.queue == Queue.CLASS and rules.counting == Counting.TOKENS:
        count_outputs(sampled, hints, members, more, count)
    if due > 0:
        finish_members(due, rules, inputs, hints, members, records, state.gap_stack, state.thinking, more, count, real)
        if count[NUM_FAILED] > 0 and count[NUM_RUNNING] == 0:
            run_failed_again(rules, inputs, hints, members, records, state.heap, more, count, real)
    if row >= 0:
        record_end(tape, row, count)


@kernel
def wait_until(end_s, rules, members, records, bins, count, real):
    """An empty server waits."""
    count[HOST_USED] = rules.host_blocks - count[HOST_FREE]
    pass_pause(end_s, rules.block_size, members.live, members.slots, records.out_s, bins, count, real)
