"""The step table of this loop, a row for each iteration."""

from sim.engine.general.state import TICKS
from sim.engine.kernel import kernel
from sim.engine.record import begin_outputs, begin_row, record_chunk
from sim.engine.state import (
    BASE,
    CALL,
    CHUNK,
    COMPUTED,
    DECODING,
    DUE_LIST,
    FINISHED_RECORDED,
    HELD_DONE,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
)


@kernel
def record_iteration(end_s, block_size, tape, live, slots, count, real):
    """The iteration as it stands right after scheduling; its row."""
    row = begin_row(end_s, tape, slots, count, real)
    s = count[RUN_HEAD]
    while s >= 0:
        is_decoding = live[s, DECODING] == 1
        tokens = count[TICKS] if is_decoding else live[s, CHUNK]
        if tokens > 0 and not live[s, HELD_DONE]:
            before = live[s, BASE] + count[CALL] - 1 if is_decoding else live[s, COMPUTED]
            record_chunk(live[s, REQUEST], tokens, before, block_size, tape, count)
        s = live[s, RUN_NEXT]
    return row


@kernel
def record_outputs(tape, row, due, live, slots, count):
    """Who ends with the iteration, before anybody leaves."""
    begin_outputs(row, tape, count)
    for k in range(due):
        tape.finished[count[FINISHED_RECORDED]] = live[slots[k, DUE_LIST], REQUEST]
        count[FINISHED_RECORDED] += 1
