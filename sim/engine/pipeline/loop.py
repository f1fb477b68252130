"""The loop of an engine with stages: it calls the scheduler until the queue of batches is full, else waits for one.

vLLM's loop (`EngineCore.step_with_batch_queue`). It fills the queue first; an empty batch takes a place in it too.
When it is full it waits for the oldest batch, and sees neither arrivals nor anything else until that one is through,
even if the first stage stands empty meanwhile. Synchronously the queue has a place for each stage, asynchronously one
more: then the call for a request's next token is made while the batch that brings this one is on the last stage, and
comes `stages` calls after the one before.
"""

import math

from numba import njit

from sim.engine.accounts import Bin
from sim.engine.arrivals import next_arrival_s
from sim.engine.general.arrivals import give_up, join_arrivals, note_predictions
from sim.engine.general.events import next_event_s
from sim.engine.general.state import MOVED_BLOCKS, NUM_NEW, REFUSED_AT, STEP, WAS_PREFILL
from sim.engine.general.withheld import row_of_free_blocks
from sim.engine.jit import ENTRY
from sim.engine.kernel import kernel, part
from sim.engine.loop import Stop
from sim.engine.pipeline.land import land
from sim.engine.pipeline.launch import launch, next_start_s
from sim.engine.pipeline.passing import pass_until
from sim.engine.pipeline.record import record_call
from sim.engine.pipeline.serve import look_at_next, schedule
from sim.engine.pipeline.state import B_CHUNK_TOKENS, B_ROW, B_TOKENS, LEAVES_S, Engine
from sim.engine.record import begin_outputs, has_room, record_end
from sim.engine.segments import settle_held
from sim.engine.state import (
    CLOCK,
    EXPECTED,
    HEAD_KNOWN_GOOD,
    IN_FLIGHT,
    NUM_DONE,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PUSHED,
    RUN_HEAD,
    RUN_NEXT,
    START_S,
    STEPS_RECORDED,
    UNANNOUNCED,
    Members,
    RequestRecords,
)
from sim.engine.time_bins import OPEN, flush


@njit(**ENTRY)
def advance(rules, inputs, hints, pool, users, times, state, more, flight, tape, until_s, most_calls, is_recording):
    """Simulate until the clock reaches `until_s`, a `Stop`; calling it again goes on where it stopped."""
    count = state.counts
    real = state.real
    thinking = state.thinking
    gap_stack = state.gap_stack
    heap = state.heap
    members = Members(state.live, state.live_s, state.slots, state.calendar, state.phases)
    records = RequestRecords(state.out_s, state.out_n)
    engine = Engine(
        inputs,
        hints,
        members,
        records,
        gap_stack,
        heap,
        more,
        flight,
        count,
        real,
        state.gap_hist,
        thinking,
        state.bins,
    )
    for _ in range(most_calls):
        if rules.timeout_s > 0.0:
            settle_running(members, records, count, real)
            give_up(rules, inputs, hints, members, records, gap_stack, thinking, heap, more, count, real)
        if next_arrival_s(users, inputs.arrival_s, thinking, count) <= real[CLOCK]:
            join_arrivals(users, rules, inputs, hints, pool, records, thinking, heap, more, count, real)
        if rules.predict_delay_s > 0.0:
            note_predictions(rules, inputs, hints, records, heap, more, count, real)
        if count[NUM_RUNNING] + count[NUM_WAITING] + count[IN_FLIGHT] + count[UNANNOUNCED] == 0:
            if count[NUM_DONE] == count[EXPECTED]:
                return Stop.DONE
            resume_s = next_arrival_s(users, inputs.arrival_s, thinking, count)
            if resume_s > real[CLOCK] and real[CLOCK] < until_s:
                if resume_s == math.inf and until_s == math.inf:
                    return Stop.STUCK
                resume_s = min(resume_s, until_s)
                pass_until(resume_s, -1, Bin.WITHHELD_WAIT, rules, engine)
                continue
        if real[CLOCK] >= until_s:
            return Stop.TIME
        if is_recording and not has_room(tape, state.slots, count):
            return Stop.FULL

        tokens = 0
        is_called = count[NUM_RUNNING] + count[NUM_WAITING] + count[UNANNOUNCED] > 0
        if is_called:
            tokens = call_scheduler(rules, times, tape, is_recording, engine)
            if tokens == 0 and is_blocked(rules, flight, count):
                count[IN_FLIGHT] = 0  # of batches without tokens
                event_s = next_event_s(users, rules, inputs, records, thinking, more, count)
                if event_s == math.inf and until_s == math.inf:
                    return Stop.STUCK
                event_s = min(max(event_s, real[CLOCK]), until_s)
                pass_until(event_s, -1, Bin.WITHHELD_WAIT, rules, engine)
                continue

        is_busy = tokens > 0 or count[NUM_RUNNING] + count[NUM_WAITING] > 0
        if not (is_called and count[IN_FLIGHT] < rules.most_in_flight and is_busy):
            wait_for_oldest(rules, times, tape, engine)
        is_waiting = count[NUM_RUNNING] + count[NUM_WAITING] + count[UNANNOUNCED] > 0
        if tokens == 0 and rules.pause_s > 0.0 and is_waiting and count[NUM_DONE] < count[EXPECTED]:
            free_row = row_of_waiting(rules, engine) if count[NUM_WAITING] > 0 else Bin.FREE_NO_DEMAND
            end_s = real[CLOCK] + rules.pause_s
            pass_until(end_s, -1, free_row, rules, engine)
    return Stop.CALLS


@part
def call_scheduler(rules, times, tape, is_recording, engine):
    """The scheduler chooses a batch, and it enters the first stage; its tokens."""
    inputs, _, members, records, _, _, _, flight, count, real, _, _, bins = engine
    count[UNANNOUNCED] = 0
    count[NUM_PREEMPTED] = 0
    real[START_S] = next_start_s(rules, flight, count, real)
    schedule(rules, engine)
    swap_s = count[MOVED_BLOCKS] * rules.swap_block_s
    predictor_s = count[NUM_NEW] * rules.predict_step_s
    tokens = launch(swap_s, predictor_s, rules, inputs, records, times, flight, count, real)
    newest = (count[PUSHED] - 1) % rules.most_in_flight
    if tokens > 0:
        count[STEP] += 1
        count[NUM_NEW] = 0
        count[MOVED_BLOCKS] = 0
        count[WAS_PREFILL] = flight.batches[newest, B_CHUNK_TOKENS] > 0
    bins[OPEN, Bin.PREEMPTIONS] += count[NUM_PREEMPTED]
    if is_recording and (tokens > 0 or count[NUM_PREEMPTED] > 0):
        record_call(newest, rules.stages, rules.block_size, tape, members.live, members.slots, flight, count, real)
    return tokens


@part
def wait_for_oldest(rules, times, tape, engine):
    """Time passes until the oldest batch has left the last stage, and its outputs are applied."""
    flight, count, real = engine.flight, engine.counts, engine.real
    at = (count[PUSHED] - count[IN_FLIGHT]) % rules.most_in_flight
    end_s = max(real[CLOCK], flight.spans[at, rules.stages - 1, LEAVES_S])
    free_row = row_of_waiting(rules, engine) if count[NUM_WAITING] > 0 else Bin.FREE_NO_DEMAND
    pass_until(end_s, at, free_row, rules, engine)
    count[IN_FLIGHT] -= 1
    row = flight.batches[at, B_ROW]
    if row >= 0:
        begin_outputs(row, tape, count)
    land(at, rules, times, tape, engine)
    if row >= 0:
        record_end(tape, row, count)
        for later in range(row + 1, count[STEPS_RECORDED]):
            begin_outputs(later, tape, count)


@kernel
def is_blocked(rules, flight, count):
    """Whether nobody runs, no batch is under way, and yet nobody was admitted."""
    if count[NUM_RUNNING] > 0 or count[NUM_WAITING] == 0 or count[NUM_PREEMPTED] > 0:
        return False
    for k in range(count[IN_FLIGHT]):
        if flight.batches[(count[PUSHED] - 1 - k) % rules.most_in_flight, B_TOKENS] > 0:
            return False
    return True


@kernel
def row_of_waiting(rules, engine):
    """Row of the memory ledger for all free blocks while somebody waits."""
    inputs, hints, members, records, _, heap, more, _, count, real, _, _, _ = engine
    if look_at_next(rules, engine) < 0:
        return Bin.WITHHELD_WAIT  # whoever waits has a batch under way
    count[HEAD_KNOWN_GOOD] = 1
    count[REFUSED_AT] = -1  # members may have left since
    row = row_of_free_blocks(rules, inputs, hints, members, records, heap, more, count, real)
    count[HEAD_KNOWN_GOOD] = 0
    return row


@kernel
def settle_running(members, records, count, real):
    """Bring what running members have held up to the present clock."""
    s = count[RUN_HEAD]
    while s >= 0:
        settle_held(s, members.live, members.live_s, records.out_s, real)
        s = members.live[s, RUN_NEXT]


@njit(**ENTRY)
def settle(state):
    """Records of running members, and the time bins."""
    flush(state.bins, state.counts)
    members = Members(state.live, state.live_s, state.slots, state.calendar, state.phases)
    settle_running(members, RequestRecords(state.out_s, state.out_n), state.counts, state.real)
