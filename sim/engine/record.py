"""The full step table: one row a call that scheduled or preempted, for golden replays and the batch theatre."""

from sim.engine.kernel import kernel, part
from sim.engine.kv_memory import blocks_for
from sim.engine.state import (
    BASE,
    CALL,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    DROPPED,
    DROPPED_RECORDED,
    DUE_LIST,
    EMITTED,
    ENDING,
    F_DROPPED,
    F_NUM_DUE,
    FINISHED_RECORDED,
    FIRST_SAMPLE,
    FLIGHT_CALL,
    FREE,
    HELD_DONE,
    KNOWN,
    LATE,
    LATE_RECORDED,
    LATE_SEQ,
    LOST,
    NEXT_SEQ,
    NUM_LATE,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    OUTPUT_LEN,
    PREEMPTED_RECORDED,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    SCHEDULED_RECORDED,
    SEQ,
    START_S,
    STEPS_RECORDED,
    T_AHEAD,
    T_APPLIED_AFTER,
    T_DROPPED,
    T_FINISHED,
    T_FREE,
    T_FREE_END,
    T_LATE,
    T_PREEMPTED,
    T_RUNNING,
    T_SCHEDULED,
    T_WAITING,
    VICTIM,
)


@part
def has_room(tape, slots, count):
    """Whether one more call of a full batch can be recorded."""
    members = len(slots)
    return (
        count[STEPS_RECORDED] < len(tape.times_s)
        and count[SCHEDULED_RECORDED] + members <= len(tape.scheduled)
        and count[PREEMPTED_RECORDED] + members <= len(tape.preempted)
        and count[FINISHED_RECORDED] + members <= len(tape.finished)
        and count[LATE_RECORDED] + members <= len(tape.late)
        and count[DROPPED_RECORDED] + members <= len(tape.dropped)
    )


@part
def record_call(end_s, block_size, tape, live, slots, count, real):
    """The call as it stands right after scheduling; its row."""
    row = begin_row(end_s, tape, slots, count, real)
    s = count[RUN_HEAD]
    while s >= 0:
        tape.numbers[row, T_AHEAD] += tokens_ahead(s, live, count)
        tokens = 1 if live[s, DECODING] else live[s, CHUNK]
        if tokens > 0 and not live[s, HELD_DONE] and not live[s, ENDING]:
            before = live[s, BASE] + count[CALL] - 1 if live[s, DECODING] else live[s, COMPUTED]
            record_chunk(live[s, REQUEST], tokens, before, block_size, tape, count)
        s = live[s, RUN_NEXT]
    return row


@kernel
def begin_row(end_s, tape, slots, count, real):
    """A new row: times, sizes, where its lists begin, and who gave way."""
    row = count[STEPS_RECORDED]
    count[STEPS_RECORDED] += 1
    tape.times_s[row, 0] = real[START_S]
    tape.times_s[row, 1] = end_s
    tape.times_s[row, 2] = real[CLOCK]
    tape.numbers[row, T_RUNNING] = count[NUM_RUNNING]
    tape.numbers[row, T_WAITING] = count[NUM_WAITING]
    tape.numbers[row, T_FREE] = count[FREE]
    tape.numbers[row, T_AHEAD] = 0
    tape.numbers[row, T_FREE_END] = -1  # until the outputs are applied; in a run that is cut, for ever
    tape.numbers[row, T_APPLIED_AFTER] = -1
    tape.numbers[row, T_SCHEDULED] = count[SCHEDULED_RECORDED]
    tape.numbers[row, T_PREEMPTED] = count[PREEMPTED_RECORDED]
    begin_outputs(row, tape, count)
    for k in range(count[NUM_PREEMPTED]):
        tape.preempted[count[PREEMPTED_RECORDED], 0] = slots[k, VICTIM]
        tape.preempted[count[PREEMPTED_RECORDED], 1] = slots[k, LOST]
        count[PREEMPTED_RECORDED] += 1
    return row


@part
def begin_outputs(row, tape, count):
    """Where the lists of a row's outputs begin: outputs come in the order of the rows."""
    tape.numbers[row, T_FINISHED] = count[FINISHED_RECORDED]
    tape.numbers[row, T_LATE] = count[LATE_RECORDED]
    tape.numbers[row, T_DROPPED] = count[DROPPED_RECORDED]


@part
def record_chunk(i, tokens, before, block_size, tape, count):
    """The request computes so many tokens after those before."""
    entry = count[SCHEDULED_RECORDED]
    tape.scheduled[entry, 0] = i
    tape.scheduled[entry, 1] = tokens
    tape.scheduled[entry, 2] = before
    tape.scheduled[entry, 3] = blocks_for(before + tokens, block_size)
    count[SCHEDULED_RECORDED] += 1


@part
def tokens_ahead(s, live, count):
    """Tokens that a member samples in this call and in the step in flight."""
    if live[s, HELD_DONE]:
        return 0
    if live[s, DECODING] or live[s, ENDING]:
        in_flight = 1 if live[s, FIRST_SAMPLE] <= count[FLIGHT_CALL] else 0
        return in_flight + live[s, DECODING]
    completes = 1 if live[s, COMPUTED] + live[s, CHUNK] == live[s, KNOWN] else 0
    return completes + (1 if live[s, FIRST_SAMPLE] == count[FLIGHT_CALL] else 0)  # passed over with a token on its way


@part
def record_outputs(tape, row, parity, asked, live, slots, flight, out_n, count):
    """What the step's outputs bring, each list in running order, before anybody leaves."""
    begin_outputs(row, tape, count)
    due = 0
    for k in range(count[NUM_LATE]):
        if slots[k, LATE_SEQ] < 0:  # was passed over, not preempted
            continue
        i = slots[k, LATE]
        tape.late[count[LATE_RECORDED]] = i
        count[LATE_RECORDED] += 1
        if out_n[i, EMITTED] + 1 == asked[i, OUTPUT_LEN]:
            due = record_due(due, slots[k, LATE_SEQ], tape, parity, live, slots, flight, count)
            tape.finished[count[FINISHED_RECORDED]] = i
            count[FINISHED_RECORDED] += 1
    record_due(due, count[NEXT_SEQ], tape, parity, live, slots, flight, count)
    for k in range(flight[parity, F_DROPPED]):
        tape.dropped[count[DROPPED_RECORDED]] = slots[k, DROPPED]
        count[DROPPED_RECORDED] += 1


@part
def record_due(due, before_seq, tape, parity, live, slots, flight, count):
    """Record members that end, from entry `due` on, up to a place in the running order; the next entry."""
    while due < flight[parity, F_NUM_DUE]:
        s = slots[due, DUE_LIST + parity]
        if live[s, REQUEST] >= 0:  # else preempted since
            if live[s, SEQ] > before_seq:
                return due
            tape.finished[count[FINISHED_RECORDED]] = live[s, REQUEST]
            count[FINISHED_RECORDED] += 1
        due += 1
    return due


@part
def record_end(tape, row, count):
    """The call after its outputs were applied."""
    tape.numbers[row, T_FREE_END] = count[FREE]
    tape.numbers[row, T_APPLIED_AFTER] = count[STEPS_RECORDED] - 1
