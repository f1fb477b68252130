"""The full step table: one row a call, for golden replays and the batch theatre."""

from numba import njit

from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.state import (
    BASE,
    CALL,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    FINISHED,
    FINISHED_RECORDED,
    FREE,
    HELD_DONE,
    LOST,
    NUM_FINISHED,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PREEMPTED_RECORDED,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    SCHEDULED_RECORDED,
    STEPS_RECORDED,
    VICTIM,
)


@njit(**JIT)
def has_room(tape, slots, count):
    """Whether one more call of a full batch can be recorded."""
    members = len(slots)
    return (
        count[STEPS_RECORDED] < len(tape.times_s)
        and count[SCHEDULED_RECORDED] + members <= len(tape.scheduled)
        and count[PREEMPTED_RECORDED] + members <= len(tape.preempted)
        and count[FINISHED_RECORDED] + members <= len(tape.finished)
    )


@njit(**JIT)
def record_schedule(block_size, tape, live, slots, count, real):
    """The call as it stands right after scheduling."""
    step = count[STEPS_RECORDED]
    tape.times_s[step, 0] = real[CLOCK]
    tape.numbers[step, 0] = count[NUM_RUNNING]
    tape.numbers[step, 1] = count[NUM_WAITING]
    tape.numbers[step, 2] = count[FREE]
    tape.numbers[step, 4] = count[SCHEDULED_RECORDED]
    tape.numbers[step, 5] = count[PREEMPTED_RECORDED]
    tape.numbers[step, 6] = count[FINISHED_RECORDED]
    for k in range(count[NUM_PREEMPTED]):
        tape.preempted[count[PREEMPTED_RECORDED], 0] = slots[k, VICTIM]
        tape.preempted[count[PREEMPTED_RECORDED], 1] = slots[k, LOST]
        count[PREEMPTED_RECORDED] += 1
    s = count[RUN_HEAD]
    while s >= 0:
        tokens = 1 if live[s, DECODING] else live[s, CHUNK]
        if tokens > 0 and not live[s, HELD_DONE]:
            before = live[s, BASE] + count[CALL] - 1 if live[s, DECODING] else live[s, COMPUTED]
            entry = count[SCHEDULED_RECORDED]
            tape.scheduled[entry, 0] = live[s, REQUEST]
            tape.scheduled[entry, 1] = tokens
            tape.scheduled[entry, 2] = before
            tape.scheduled[entry, 3] = blocks_for(before + tokens, block_size)
            count[SCHEDULED_RECORDED] += 1
        s = live[s, RUN_NEXT]


@njit(**JIT)
def record_finished(tape, live, slots, count):
    """The requests that finish with this call, before they leave."""
    for k in range(count[NUM_FINISHED]):
        tape.finished[count[FINISHED_RECORDED]] = live[slots[k, FINISHED], REQUEST]
        count[FINISHED_RECORDED] += 1


@njit(**JIT)
def record_end(tape, count, real):
    """The call after its outputs were applied."""
    step = count[STEPS_RECORDED]
    tape.times_s[step, 1] = real[CLOCK]
    tape.numbers[step, 3] = count[FREE]
    count[STEPS_RECORDED] += 1
