"""Outputs of a call: tokens are emitted, prompts become decoding members, finished requests leave."""

from numba import njit

from sim.engine.accounts import Status
from sim.engine.arrivals import think
from sim.engine.gaps import note_gap
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for, release
from sim.engine.members import leave, start_decoding, stop_decoding
from sim.engine.segments import close_segment, open_segment
from sim.engine.state import (
    BASE,
    CALL,
    CHUNK,
    CLOCK,
    COMPUTED,
    DECODING,
    DUE_NEXT,
    EMITTED,
    FIRST_TOKEN_S,
    FREE,
    HELD_DONE,
    HELD_DONE_BLOCKS,
    HELD_DONE_KV,
    KNOWN,
    KV_STRAGGLER,
    KV_TYPICAL,
    LAST_TOKEN_S,
    MAX_ITL_S,
    MEMORY_TOKEN_S,
    NUM_DONE,
    NUM_FINISHED,
    NUM_FRESH,
    NUM_HELD_DONE,
    NUM_PARTIAL,
    NUM_RUNNING,
    PLEDGED,
    REQUEST,
    RESERVED,
    RUN_HEAD,
    SEQ,
    STATUS,
    STRAGGLER,
    STRAGGLER_BLOCKS,
    UNFILLED,
)


@njit(**JIT)
def emit_tokens(duration_s, rules, requests, state):
    """Apply what the call computed; the clock already stands at its end."""
    count = state.count
    count[NUM_FINISHED] = 0
    still_partial = 0
    for k in range(count[NUM_PARTIAL]):
        s = state.partial[k]
        if not end_chunk(s, duration_s, rules, requests, state):
            state.partial[still_partial] = s
            still_partial += 1
    for k in range(count[NUM_FRESH]):
        s = state.fresh[k]
        if not end_chunk(s, duration_s, rules, requests, state):
            state.partial[still_partial] = s
            still_partial += 1
    count[NUM_PARTIAL] = still_partial
    s = state.calendar[count[CALL] & (len(state.calendar) - 1), 0]
    while s >= 0:
        state.finished[count[NUM_FINISHED]] = s
        count[NUM_FINISHED] += 1
        s = state.live[s, DUE_NEXT]


@njit(**JIT)
def end_chunk(s, duration_s, rules, requests, state):
    """A prefill chunk is done; whether the prompt is, which brings a token."""
    count = state.count
    row = state.live[s]
    i = row[REQUEST]
    row[COMPUTED] += row[CHUNK]
    state.out_s[i, MEMORY_TOKEN_S] += row[COMPUTED] * duration_s
    if row[COMPUTED] < row[KNOWN]:
        return False
    note_token(i, rules.batch_delivery, state)
    left = requests.output_len[i] - state.out_n[i, EMITTED]
    if left == 0:
        state.finished[count[NUM_FINISHED]] = s
        count[NUM_FINISHED] += 1
        return True
    start_decoding(
        s,
        row[COMPUTED],
        left,
        rules.block_size,
        rules.prefix_caching,
        state.live,
        state.calendar,
        state.boundary,
        state.phase_list,
        count,
    )
    open_segment(s, state.live, state.live_s, count, state.real)
    return True


@njit(**JIT)
def note_token(i, batch_delivery, state):
    """The last chunk of a prompt brings a token: the first, or the next after a preemption."""
    now = state.real[CLOCK]
    if state.out_n[i, EMITTED] == 0:
        state.out_s[i, FIRST_TOKEN_S] = now
    elif not batch_delivery:
        gap = now - state.out_s[i, LAST_TOKEN_S]
        state.out_s[i, MAX_ITL_S] = max(state.out_s[i, MAX_ITL_S], gap)
        note_gap(gap, 1, state.gap_count, state.gap_sum, state.count, state.real)
    state.out_n[i, EMITTED] += 1
    state.out_s[i, LAST_TOKEN_S] = now


@njit(**JIT)
def sort_by_admission(slots, size, live):
    """Insertion sort: the list is a few runs already in order."""
    for k in range(1, size):
        s = slots[k]
        at = k
        while at > 0 and live[slots[at - 1], SEQ] > live[s, SEQ]:
            slots[at] = slots[at - 1]
            at -= 1
        slots[at] = s


@njit(**JIT)
def finish_members(rules, requests, state):
    """Members with their last token leave, or keep their slots until the batch ends."""
    count = state.count
    for k in range(count[NUM_FINISHED]):
        s = state.finished[k]
        i = state.live[s, REQUEST]
        computed = settle_finished(s, rules, requests, state)
        if rules.hold:
            hold_until_batch_ends(s, computed, rules.block_size, state.live, count)
        else:
            release(
                s, computed, rules.block_size, rules.prefix_caching, state.live, state.blocks, state.block_table, count
            )
            leave(s, state.live, state.free_slots, count)
        if not rules.batch_delivery:
            deliver(i, requests, state)
    if rules.hold and count[NUM_HELD_DONE] == count[NUM_RUNNING]:
        end_batch(rules.batch_delivery, requests, state)


@njit(**JIT)
def deliver(i, requests, state):
    """The user has the whole answer."""
    state.out_n[i, STATUS] = Status.FINISHED
    state.count[NUM_DONE] += 1
    think(state.real[CLOCK], requests, state)


@njit(**JIT)
def settle_finished(s, rules, requests, state):
    """Close a finished member's records; its KV tokens."""
    count = state.count
    if not state.live[s, DECODING]:
        return state.live[s, COMPUTED]
    computed = state.live[s, BASE] + count[CALL]
    close_segment(
        s,
        count[CALL],
        requests.prompt_len,
        state.live,
        state.live_s,
        state.out_s,
        state.out_n,
        state.gap_call,
        state.gap_s,
        count,
        state.real,
    )
    stop_decoding(
        s, computed, rules.prefix_caching, state.live, state.calendar, state.boundary, state.phase_list, count
    )
    return computed


@njit(**JIT)
def hold_until_batch_ends(s, computed, block_size, live, count):
    """Everything the member holds or was promised moves to one row of the memory ledger."""
    row = live[s]
    held = blocks_for(computed, block_size)
    straggler = row[STRAGGLER]
    count[KV_STRAGGLER if straggler else KV_TYPICAL] -= computed
    count[UNFILLED] -= held * block_size - computed
    count[STRAGGLER_BLOCKS] -= held * straggler
    count[PLEDGED] -= row[RESERVED] - held
    row[HELD_DONE] = 1
    count[NUM_HELD_DONE] += 1
    count[HELD_DONE_KV] += computed
    count[HELD_DONE_BLOCKS] += row[RESERVED]


@njit(**JIT)
def end_batch(batch_delivery, requests, state):
    """The last member of a held batch is done: all slots and blocks come free."""
    count = state.count
    while count[NUM_RUNNING] > 0:
        s = count[RUN_HEAD]
        i = state.live[s, REQUEST]
        count[FREE] += state.live[s, RESERVED]
        leave(s, state.live, state.free_slots, count)
        if batch_delivery:
            state.out_s[i, FIRST_TOKEN_S] = state.real[CLOCK]
            state.out_s[i, LAST_TOKEN_S] = state.real[CLOCK]
            state.out_s[i, MAX_ITL_S] = 0.0
            deliver(i, requests, state)
    count[NUM_HELD_DONE] = 0
    count[HELD_DONE_KV] = 0
    count[HELD_DONE_BLOCKS] = 0
