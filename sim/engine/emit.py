"""Outputs of a call: tokens are emitted, prompts become decoding members, finished requests leave."""

from numba import njit

from sim.engine.accounts import Status
from sim.engine.arrivals import think
from sim.engine.gaps import note_gap, push_duration
from sim.engine.jit import JIT
from sim.engine.kv_memory import release, release_blocks
from sim.engine.members import leave, start_decoding, stop_decoding
from sim.engine.segments import close_segment, open_segment
from sim.engine.state import (
    AGE,
    BASE,
    CALL,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    DUE_NEXT,
    EMITTED,
    FINISHED,
    FIRST_TOKEN_S,
    FREE,
    FRESH,
    HELD_DONE,
    HELD_DONE_BLOCKS,
    HELD_DONE_KV,
    ISSUED,
    KNOWN,
    LAST_TOKEN_S,
    MAX_ITL_S,
    MEMORY_TOKEN_S,
    NUM_DECODING,
    NUM_DONE,
    NUM_FINISHED,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_PARTIAL,
    NUM_RUNNING,
    OUTPUT_LEN,
    PARTIAL,
    PROMPT_LEN,
    REQUEST,
    RESERVED,
    RUN_HEAD,
    SEQ,
    STATUS,
    STRAGGLER,
)


@njit(**JIT)
def pass_time(duration_s, end_s, batch_delivery, gap_stack, gap_hist, count, real):
    """The clock moves to the end of the iteration; decoding members waited that long for their token."""
    real[CLOCK] = end_s
    real[AGE] += count[CALL] * duration_s
    if not batch_delivery:
        push_duration(count[CALL], duration_s, gap_stack, count)
        if count[NUM_DECODING] > 0:
            note_gap(duration_s, count[NUM_DECODING], gap_hist, count, real)


@njit(**JIT)
def end_chunks(duration_s, rules, asked, live, live_s, slots, calendar, phases, out_s, out_n, gap_hist, count, real):
    """The call's prefill chunks are done: prompts that are complete bring a token and go on decoding."""
    still_partial = 0
    for k in range(count[NUM_PARTIAL] + count[NUM_FRESH]):
        s = slots[k, PARTIAL] if k < count[NUM_PARTIAL] else slots[k - count[NUM_PARTIAL], FRESH]
        i = live[s, REQUEST]
        computed = live[s, COMPUTED] + live[s, CHUNK]
        live[s, COMPUTED] = computed
        out_s[i, MEMORY_TOKEN_S] += computed * duration_s
        if computed < live[s, KNOWN]:
            slots[still_partial, PARTIAL] = s  # never ahead of k: the list is read before it is overwritten
            still_partial += 1
            continue
        note_token(i, rules.batch_delivery, out_s, out_n, gap_hist, count, real)
        left = asked[i, OUTPUT_LEN] - out_n[i, EMITTED]
        if left == 0:
            slots[count[NUM_FINISHED], FINISHED] = s
            count[NUM_FINISHED] += 1
        else:
            start_decoding(s, computed, left, rules.block_size, rules.prefix_caching, live, calendar, phases, count)
            open_segment(s, live, live_s, count, real)
    count[NUM_PARTIAL] = still_partial
    count[NUM_FRESH] = 0


@njit(**JIT)
def note_token(i, batch_delivery, out_s, out_n, gap_hist, count, real):
    """The last chunk of a prompt brings a token: the first, or the next after a preemption."""
    now = real[CLOCK]
    if out_n[i, EMITTED] == 0:
        out_s[i, FIRST_TOKEN_S] = now
    elif not batch_delivery:
        gap = now - out_s[i, LAST_TOKEN_S]
        out_s[i, MAX_ITL_S] = max(out_s[i, MAX_ITL_S], gap)
        note_gap(gap, 1, gap_hist, count, real)
    out_n[i, EMITTED] += 1
    out_s[i, LAST_TOKEN_S] = now


@njit(**JIT)
def collect_due(live, slots, calendar, count):
    """Decoding members whose last token this call produced."""
    s = calendar[count[CALL] & (len(calendar) - 1), 0]
    while s >= 0:
        slots[count[NUM_FINISHED], FINISHED] = s
        count[NUM_FINISHED] += 1
        s = live[s, DUE_NEXT]


@njit(**JIT)
def sort_by_admission(slots, live, count):
    """Put finished members into running order; an insertion sort, as the list is a few runs already in order."""
    for k in range(1, count[NUM_FINISHED]):
        s = slots[k, FINISHED]
        at = k
        while at > 0 and live[slots[at - 1, FINISHED], SEQ] > live[s, SEQ]:
            slots[at, FINISHED] = slots[at - 1, FINISHED]
            at -= 1
        slots[at, FINISHED] = s


@njit(**JIT)
def finish_members(
    rules,
    arrival_s,
    asked,
    live,
    live_s,
    slots,
    calendar,
    phases,
    out_s,
    out_n,
    gap_stack,
    thinking,
    blocks,
    table,
    count,
    real,
):
    """Members with their last token leave, or keep their slots until the batch ends."""
    for k in range(count[NUM_FINISHED]):
        s = slots[k, FINISHED]
        i = live[s, REQUEST]
        computed = live[s, COMPUTED]
        if live[s, DECODING]:
            computed = live[s, BASE] + count[CALL]
            close_segment(s, count[CALL], asked[i, PROMPT_LEN], live, live_s, out_s, out_n, gap_stack, count, real)
            stop_decoding(s, computed, rules.prefix_caching, live, calendar, phases, count)
        if rules.hold:
            hold_until_batch_ends(s, computed, rules.block_size, live, count)
        else:
            if rules.prefix_caching:
                release_blocks(
                    s, computed, live[s, STRAGGLER], rules.block_size, rules.free_to_back, blocks, table, count
                )
            else:
                release(computed, live[s, STRAGGLER], live[s, RESERVED], rules.block_size, count)
            leave(s, live, slots, count)
        if not rules.batch_delivery:
            deliver(i, arrival_s, thinking, out_n, count, real)
    count[NUM_FINISHED] = 0
    if rules.hold and count[NUM_HELD_DONE] == count[NUM_RUNNING]:
        end_batch(rules.batch_delivery, arrival_s, live, slots, out_s, out_n, thinking, count, real)


@njit(**JIT)
def deliver(i, arrival_s, thinking, out_n, count, real):
    """The user has the whole answer."""
    out_n[i, STATUS] = Status.FINISHED
    count[NUM_DONE] += 1
    if count[ISSUED] < len(arrival_s):
        think(real[CLOCK], arrival_s, thinking, count)


@njit(**JIT)
def hold_until_batch_ends(s, computed, block_size, live, count):
    """Everything the member holds or was promised moves to one row of the memory ledger."""
    reserved = live[s, RESERVED]
    release(computed, live[s, STRAGGLER], reserved, block_size, count)
    count[FREE] -= reserved
    live[s, HELD_DONE] = 1
    count[NUM_HELD_DONE] += 1
    count[HELD_DONE_KV] += computed
    count[HELD_DONE_BLOCKS] += reserved


@njit(**JIT)
def end_batch(batch_delivery, arrival_s, live, slots, out_s, out_n, thinking, count, real):
    """The last member of a held batch is done: all slots and blocks come free."""
    while count[NUM_RUNNING] > 0:
        s = count[RUN_HEAD]
        i = live[s, REQUEST]
        count[FREE] += live[s, RESERVED]
        leave(s, live, slots, count)
        if batch_delivery:
            out_s[i, FIRST_TOKEN_S] = real[CLOCK]
            out_s[i, LAST_TOKEN_S] = real[CLOCK]
            out_s[i, MAX_ITL_S] = 0.0
            deliver(i, arrival_s, thinking, out_n, count, real)
    count[NUM_HELD_DONE] = 0
    count[HELD_DONE_KV] = 0
    count[HELD_DONE_BLOCKS] = 0
