"""The recorded iterations, for golden replays and the batch theatre."""

from sim.engine.kernel import kernel
from sim.engine.sglang.inputs import StepKind
from sim.engine.sglang.state import (
    CHUNKED,
    COMMITTED,
    EVICTABLE,
    EXTEND_END,
    FLYING,
    HIT,
    IS_FULL,
    ITERATION,
    LOST,
    NUM_BATCH,
    POOL_FREE,
    PREFIX,
    RATIO,
    T_APPLIED,
    T_AVAILABLE,
    T_BATCH,
    T_CHUNKED,
    T_EVICTABLE,
    T_FREE_END,
    T_FREE_SCHEDULED,
    T_HIT,
    T_IS_FULL,
    T_KIND,
    T_NUM_PREFILL,
    T_PREEMPTED,
    T_RUNNING,
    T_SCHEDULED,
    T_STEP,
    T_WAITING,
    VICTIM,
)
from sim.engine.state import (
    ARRIVED,
    FINISHED_RECORDED,
    NUM_DONE,
    NUM_PREEMPTED,
    NUM_WAITING,
    PREEMPTED_RECORDED,
    SCHEDULED_RECORDED,
    START_S,
    STEPS_RECORDED,
)


@kernel
def has_room(tape, seats, count):
    """Whether one more iteration of a full batch can be recorded."""
    return (
        count[STEPS_RECORDED] < len(tape.times_s)
        and count[SCHEDULED_RECORDED] + seats <= len(tape.scheduled)
        and count[PREEMPTED_RECORDED] + seats <= len(tape.preempted)
        and count[FINISHED_RECORDED] + seats <= len(tape.finished)
    )


@kernel
def record_step(parity, prefilled, size, end_s, page_size, tape, lists, req, count, real):
    """The iteration as it stands right after scheduling; its row."""
    row = count[STEPS_RECORDED]
    count[STEPS_RECORDED] += 1
    kind = StepKind.IDLE
    if size > 0:
        kind = StepKind.DECODE if prefilled == 0 else StepKind.PREFILL if prefilled == size else StepKind.MIXED
    tape.times_s[row, 0] = real[START_S]
    tape.times_s[row, 1] = end_s
    tape.ratios[row, 0] = real[RATIO]
    numbers = tape.numbers
    numbers[row, T_STEP] = count[ITERATION]
    numbers[row, T_KIND] = kind
    numbers[row, T_HIT] = count[HIT] if prefilled > 0 else 0
    numbers[row, T_BATCH] = count[NUM_BATCH]
    numbers[row, T_RUNNING] = count[ARRIVED] - count[NUM_DONE] - count[NUM_WAITING]
    numbers[row, T_WAITING] = count[NUM_WAITING]
    numbers[row, T_AVAILABLE] = count[POOL_FREE]
    numbers[row, T_EVICTABLE] = count[EVICTABLE]
    numbers[row, T_FREE_SCHEDULED] = (count[POOL_FREE] + count[EVICTABLE]) // page_size
    numbers[row, T_FREE_END] = numbers[row, T_FREE_SCHEDULED]
    numbers[row, T_CHUNKED] = count[CHUNKED]
    numbers[row, T_IS_FULL] = count[IS_FULL]
    numbers[row, T_NUM_PREFILL] = prefilled
    numbers[row, T_APPLIED] = -1
    numbers[row, T_SCHEDULED] = count[SCHEDULED_RECORDED]
    numbers[row, T_PREEMPTED] = count[PREEMPTED_RECORDED]
    for k in range(count[NUM_PREEMPTED]):
        tape.preempted[count[PREEMPTED_RECORDED], 0] = lists[VICTIM, k]
        tape.preempted[count[PREEMPTED_RECORDED], 1] = lists[LOST, k]
        count[PREEMPTED_RECORDED] += 1
    for k in range(size):
        i = lists[FLYING + parity, k]
        before = req[i, PREFIX] if k < prefilled else req[i, COMMITTED] - 1
        tokens = req[i, EXTEND_END] - before if k < prefilled else 1
        entry = count[SCHEDULED_RECORDED]
        tape.scheduled[entry, 0] = i
        tape.scheduled[entry, 1] = tokens
        tape.scheduled[entry, 2] = before
        tape.scheduled[entry, 3] = (before + tokens + page_size - 1) // page_size
        count[SCHEDULED_RECORDED] += 1
    return row
