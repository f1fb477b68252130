"""The full step table: one row a call that scheduled or preempted; a batch's outputs join its row when they come."""

from numba import njit

from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.pipeline.state import (
    AHEAD,
    B_ROW,
    B_SIZE,
    E_BEFORE,
    E_REQUEST,
    E_TOKENS,
    LEAVES_S,
)
from sim.engine.state import (
    CLOCK,
    DROPPED_RECORDED,
    FINISHED_RECORDED,
    FREE,
    LATE_RECORDED,
    LOST,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PREEMPTED_RECORDED,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    SCHEDULED_RECORDED,
    START_S,
    STEPS_RECORDED,
    T_AHEAD,
    T_DROPPED,
    T_FINISHED,
    T_FREE,
    T_LATE,
    T_PREEMPTED,
    T_RUNNING,
    T_SCHEDULED,
    T_WAITING,
    VICTIM,
)


@njit(**JIT)
def record_call(at, stages, block_size, tape, live, slots, flight, count, real):
    """The call as it stands right after scheduling; the batch knows its row."""
    row = count[STEPS_RECORDED]
    count[STEPS_RECORDED] += 1
    flight.batches[at, B_ROW] = row
    tape.times_s[row, 0] = real[START_S]
    tape.times_s[row, 1] = flight.spans[at, stages - 1, LEAVES_S]
    tape.times_s[row, 2] = real[CLOCK]
    tape.numbers[row, T_RUNNING] = count[NUM_RUNNING]
    tape.numbers[row, T_WAITING] = count[NUM_WAITING]
    tape.numbers[row, T_FREE] = count[FREE]
    tape.numbers[row, T_AHEAD] = tokens_ahead(live, flight, count)
    tape.numbers[row, T_SCHEDULED] = count[SCHEDULED_RECORDED]
    tape.numbers[row, T_PREEMPTED] = count[PREEMPTED_RECORDED]
    record_starts(row, tape, count)
    for k in range(count[NUM_PREEMPTED]):
        tape.preempted[count[PREEMPTED_RECORDED], 0] = slots[k, VICTIM]
        tape.preempted[count[PREEMPTED_RECORDED], 1] = slots[k, LOST]
        count[PREEMPTED_RECORDED] += 1
    for k in range(flight.batches[at, B_SIZE]):
        before = flight.entries[at, k, E_BEFORE]
        tokens = flight.entries[at, k, E_TOKENS]
        entry = count[SCHEDULED_RECORDED]
        tape.scheduled[entry, 0] = flight.entries[at, k, E_REQUEST]
        tape.scheduled[entry, 1] = tokens
        tape.scheduled[entry, 2] = before
        tape.scheduled[entry, 3] = blocks_for(before + tokens, block_size)
        count[SCHEDULED_RECORDED] += 1


@njit(**JIT)
def tokens_ahead(live, flight, count):
    """Output tokens of all running members that batches in flight sample."""
    ahead = 0
    s = count[RUN_HEAD]
    while s >= 0:
        ahead += flight.on_way[live[s, REQUEST], AHEAD]
        s = live[s, RUN_NEXT]
    return ahead


@njit(**JIT)
def record_starts(row, tape, count):
    """Where the lists of a batch's outputs begin: outputs come in the order of the calls."""
    tape.numbers[row, T_FINISHED] = count[FINISHED_RECORDED]
    tape.numbers[row, T_LATE] = count[LATE_RECORDED]
    tape.numbers[row, T_DROPPED] = count[DROPPED_RECORDED]


@njit(**JIT)
def record_finished(i, tape, count):
    """The request has its last token."""
    tape.finished[count[FINISHED_RECORDED]] = i
    count[FINISHED_RECORDED] += 1


@njit(**JIT)
def record_late(i, tape, count):
    """The request was displaced after the call, and its token came all the same."""
    tape.late[count[LATE_RECORDED]] = i
    count[LATE_RECORDED] += 1


@njit(**JIT)
def record_dropped(i, tape, count):
    """The request had ended before its token came."""
    tape.dropped[count[DROPPED_RECORDED]] = i
    count[DROPPED_RECORDED] += 1
