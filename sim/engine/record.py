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
    FINISHED_RECORDED,
    FREE,
    HELD_DONE,
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
)


@njit(**JIT)
def has_room(state):
    """Whether one more call of a full batch can be recorded."""
    slots = len(state.free_slots)
    count = state.count
    return (
        count[STEPS_RECORDED] < len(state.recorded_s)
        and count[SCHEDULED_RECORDED] + slots <= len(state.recorded_scheduled)
        and count[PREEMPTED_RECORDED] + slots <= len(state.recorded_preempted)
        and count[FINISHED_RECORDED] + slots <= len(state.recorded_finished)
    )


@njit(**JIT)
def record_schedule(block_size, state):
    """The call as it stands right after scheduling."""
    count = state.count
    live = state.live
    step = count[STEPS_RECORDED]
    state.recorded_s[step, 0] = state.real[CLOCK]
    row = state.recorded_n[step]
    row[0] = count[NUM_RUNNING]
    row[1] = count[NUM_WAITING]
    row[2] = count[FREE]
    row[4] = count[SCHEDULED_RECORDED]
    row[5] = count[PREEMPTED_RECORDED]
    row[6] = count[FINISHED_RECORDED]
    for k in range(count[NUM_PREEMPTED]):
        state.recorded_preempted[count[PREEMPTED_RECORDED]] = state.preempted[k]
        count[PREEMPTED_RECORDED] += 1
    s = count[RUN_HEAD]
    while s >= 0:
        if not live[s, HELD_DONE]:
            tokens = 1 if live[s, DECODING] else live[s, CHUNK]
            before = live[s, BASE] + count[CALL] - 1 if live[s, DECODING] else live[s, COMPUTED]
            entry = state.recorded_scheduled[count[SCHEDULED_RECORDED]]
            entry[0] = live[s, REQUEST]
            entry[1] = tokens
            entry[2] = before
            entry[3] = blocks_for(before + tokens, block_size)
            count[SCHEDULED_RECORDED] += 1
        s = live[s, RUN_NEXT]


@njit(**JIT)
def record_finished(state):
    """The requests that finish with this call, before they leave."""
    for k in range(state.count[NUM_FINISHED]):
        state.recorded_finished[state.count[FINISHED_RECORDED]] = state.live[state.finished[k], REQUEST]
        state.count[FINISHED_RECORDED] += 1


@njit(**JIT)
def record_end(state):
    """The call after its outputs were applied."""
    step = state.count[STEPS_RECORDED]
    state.recorded_s[step, 1] = state.real[CLOCK]
    state.recorded_n[step, 3] = state.count[FREE]
    state.count[STEPS_RECORDED] += 1
