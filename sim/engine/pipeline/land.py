"""A batch has left the last stage: its tokens come, in the order served, and requests end.

Source: vLLM's `Scheduler.update_from_output`; README of the asynchronous goldens, section 4.
"""

from sim.engine.accounts import Status
from sim.engine.emit import deliver, note_token
from sim.engine.general.choices import Counting, Eviction, Queue
from sim.engine.general.emit import finish_members, learn
from sim.engine.general.queue import COUNT, join_queue, leave_queue
from sim.engine.general.state import (
    GONE,
    HOST_FREE,
    HOST_TOKENS,
    LOST_TOKENS,
    NUM_SWAPPED,
    RUNNING,
    SWAPPED,
    WHERE,
)
from sim.engine.general.told import GROUP
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for
from sim.engine.pipeline.launch import time_on_stage
from sim.engine.pipeline.record import record_dropped, record_finished, record_late
from sim.engine.pipeline.state import (
    AHEAD,
    B_DROPPED,
    B_ROW,
    B_SIZE,
    E_DECODES,
    E_REQUEST,
    E_SAMPLES,
    E_SLOT,
    E_TOKENS,
    FLYING,
)
from sim.engine.state import DUE_LIST, EMITTED, IN_FLIGHT, NUM_WAITING, OUTPUT_LEN, PUSHED, STATUS, SUM_OUTPUT


@kernel
def land(at, rules, times, tape, engine):
    """Apply the outputs of the oldest batch, which has left the queue."""
    inputs, hints, members, records, gap_stack, heap, more, flight, count, real, gap_hist, thinking, _ = engine
    on_way = flight.on_way
    row = flight.batches[at, B_ROW]
    due = 0
    for k in range(flight.batches[at, B_SIZE]):
        i = flight.entries[at, k, E_REQUEST]
        is_sampled = flight.entries[at, k, E_SAMPLES] == 1
        on_way[i, FLYING] -= flight.entries[at, k, E_TOKENS]
        where = more.kept[i, WHERE]
        if where == GONE:
            if is_sampled and row >= 0 and records.out_n[i, STATUS] == Status.FINISHED:
                record_dropped(i, tape, count)
            continue
        if where == RUNNING:
            if is_sampled:
                on_way[i, AHEAD] -= rules.is_async
                give_token(i, rules, hints, records, gap_hist, more, count, real)
                if is_whole(i, inputs, records):
                    members.slots[due, DUE_LIST] = flight.entries[at, k, E_SLOT]
                    due += 1
                    if row >= 0:
                        record_finished(i, tape, count)
            continue
        if is_sampled and rules.eviction != Eviction.RESTART:  # displaced since, and its token comes all the same
            give_token(i, rules, hints, records, gap_hist, more, count, real)
            if row >= 0:
                record_late(i, tape, count)
            if records.out_n[i, EMITTED] == inputs.asked[i, OUTPUT_LEN]:
                if row >= 0:
                    record_finished(i, tape, count)
                end_in_queue(i, where, rules, engine)
                continue
        if on_way[i, FLYING] == 0 and where == SWAPPED:
            count[NUM_WAITING] -= 1
            join_queue(i, True, rules, inputs, hints, records, heap, more, count)
    for k in range(due):
        i = members.live[members.slots[k, DUE_LIST], 0]
        if on_way[i, FLYING] > 0:
            drop_later(i, rules, times, flight, count)
    if due > 0:
        finish_members(due, rules, inputs, hints, members, records, gap_stack, thinking, more, count, real)


@kernel
def is_whole(i, inputs, records):
    """Whether the request has its last token, and none of those thrown away is missing."""
    return records.out_n[i, EMITTED] == inputs.asked[i, OUTPUT_LEN] and records.out_n[i, LOST_TOKENS] == 0


@kernel
def give_token(i, rules, hints, records, gap_hist, more, count, real):
    """A token comes, unless it was delivered before."""
    if rules.queue == Queue.CLASS and rules.counting == Counting.TOKENS:
        more.counter[hints.numbers[i, GROUP], COUNT] += 2.0
    if records.out_n[i, LOST_TOKENS] > 0:
        records.out_n[i, LOST_TOKENS] -= 1
        return
    note_token(i, False, records.out_s, records.out_n, gap_hist, count, real)
    count[SUM_OUTPUT] += 1


@kernel
def end_in_queue(i, where, rules, engine):
    """A displaced request has got its last token."""
    inputs, hints, _, records, _, heap, more, _, count, real, _, thinking, _ = engine
    if more.kept[i, HOST_TOKENS] > 0:
        count[HOST_FREE] += blocks_for(more.kept[i, HOST_TOKENS], rules.block_size)
        count[NUM_SWAPPED] -= 1
        more.kept[i, HOST_TOKENS] = 0
    if where == SWAPPED:
        count[NUM_WAITING] -= 1
    else:
        leave_queue(i, rules, hints, heap, more, count)
    more.kept[i, WHERE] = GONE
    learn(i, rules, hints, records, more, count)
    deliver(i, inputs, thinking, records.out_n, count, real)


@kernel
def drop_later(i, rules, times, flight, count):
    """What later batches compute for a request that has ended comes to nothing; none of them has begun."""
    for k in range(count[IN_FLIGHT]):
        at = (count[PUSHED] - 1 - k) % rules.most_in_flight
        for j in range(flight.batches[at, B_SIZE]):
            if flight.entries[at, j, E_REQUEST] == i and flight.entries[at, j, E_DECODES]:
                flight.batches[at, B_DROPPED] += 1
                for stage in range(rules.stages):
                    time_on_stage(stage, at, times, flight)
