"""The full step table: one row a call that scheduled or preempted; a batch's outputs join its row when they come."""

from sim.engine.kernel import kernel
from sim.engine.pipeline.state import (
    AHEAD,
    B_ROW,
    B_SIZE,
    E_BEFORE,
    E_REQUEST,
    E_TOKENS,
    LEAVES_S,
)
from sim.engine.record import begin_row, record_chunk
from sim.engine.state import (
    DROPPED_RECORDED,
    FINISHED_RECORDED,
    LATE_RECORDED,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    T_AHEAD,
)


@kernel
def record_call(at, stages, block_size, tape, live, slots, flight, count, real):
    """The call as it stands right after scheduling; the batch knows its row."""
    row = begin_row(flight.spans[at, stages - 1, LEAVES_S], tape, slots, count, real)
    flight.batches[at, B_ROW] = row
    tape.numbers[row, T_AHEAD] = tokens_ahead(live, flight, count)
    for k in range(flight.batches[at, B_SIZE]):
        i = flight.entries[at, k, E_REQUEST]
        tokens = flight.entries[at, k, E_TOKENS]
        before = flight.entries[at, k, E_BEFORE]
        record_chunk(i, tokens, before, block_size, tape, count)


@kernel
def tokens_ahead(live, flight, count):
    """Output tokens of all running members that batches in flight sample."""
    ahead = 0
    s = count[RUN_HEAD]
    while s >= 0:
        ahead += flight.on_way[live[s, REQUEST], AHEAD]
        s = live[s, RUN_NEXT]
    return ahead


@kernel
def record_finished(i, tape, count):
    """The request has its last token."""
    tape.finished[count[FINISHED_RECORDED]] = i
    count[FINISHED_RECORDED] += 1


@kernel
def record_late(i, tape, count):
    """The request was displaced after the call, and its token came all the same."""
    tape.late[count[LATE_RECORDED]] = i
    count[LATE_RECORDED] += 1


@kernel
def record_dropped(i, tape, count):
    """The request had ended before its token came."""
    tape.dropped[count[DROPPED_RECORDED]] = i
    count[DROPPED_RECORDED] += 1
