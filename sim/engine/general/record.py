"""The step table of this loop, a row for each iteration."""

from numba import njit

from sim.engine.general.state import TICKS
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.state import (
    BASE,
    CALL,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    DUE_LIST,
    FINISHED_RECORDED,
    FREE,
    HELD_DONE,
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
    T_FINISHED,
    T_FREE,
    T_PREEMPTED,
    T_RUNNING,
    T_SCHEDULED,
    T_WAITING,
    VICTIM,
)


@njit(**JIT)
def record_iteration(end_s, block_size, tape, live, slots, count, real):
    """The iteration as it stands right after scheduling; its row."""
    row = count[STEPS_RECORDED]
    count[STEPS_RECORDED] += 1
    tape.times_s[row, 0] = real[START_S]
    tape.times_s[row, 1] = end_s
    tape.times_s[row, 2] = real[CLOCK]
    tape.numbers[row, T_RUNNING] = count[NUM_RUNNING]
    tape.numbers[row, T_WAITING] = count[NUM_WAITING]
    tape.numbers[row, T_FREE] = count[FREE]
    tape.numbers[row, T_SCHEDULED] = count[SCHEDULED_RECORDED]
    tape.numbers[row, T_PREEMPTED] = count[PREEMPTED_RECORDED]
    tape.numbers[row, T_FINISHED] = count[FINISHED_RECORDED]
    for k in range(count[NUM_PREEMPTED]):
        tape.preempted[count[PREEMPTED_RECORDED], 0] = slots[k, VICTIM]
        tape.preempted[count[PREEMPTED_RECORDED], 1] = slots[k, LOST]
        count[PREEMPTED_RECORDED] += 1
    s = count[RUN_HEAD]
    while s >= 0:
        is_decoding = live[s, DECODING] == 1
        tokens = count[TICKS] if is_decoding else live[s, CHUNK]
        if tokens > 0 and not live[s, HELD_DONE]:
            before = live[s, BASE] + count[CALL] - 1 if is_decoding else live[s, COMPUTED]
            entry = count[SCHEDULED_RECORDED]
            tape.scheduled[entry, 0] = live[s, REQUEST]
            tape.scheduled[entry, 1] = tokens
            tape.scheduled[entry, 2] = before
            tape.scheduled[entry, 3] = blocks_for(before + tokens, block_size)
            count[SCHEDULED_RECORDED] += 1
        s = live[s, RUN_NEXT]
    return row


@njit(**JIT)
def record_outputs(tape, row, due, live, slots, count):
    """Who ends with the iteration, before anybody leaves."""
    tape.numbers[row, T_FINISHED] = count[FINISHED_RECORDED]
    for k in range(due):
        tape.finished[count[FINISHED_RECORDED]] = live[slots[k, DUE_LIST], REQUEST]
        count[FINISHED_RECORDED] += 1
