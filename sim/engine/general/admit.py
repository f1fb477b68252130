"""A request joins the running set with memory, slot and the first tokens it computes."""

from numba import njit

from sim.engine.general.choices import Prefill, Queue, Reservation
from sim.engine.general.queue import leave_queue, next_in_queue, note_served
from sim.engine.general.reserve import future_fits, known_tokens, reserved_blocks
from sim.engine.general.state import (
    HOST_FREE,
    HOST_TOKENS,
    IS_RUNNING,
    MOVED_BLOCKS,
    NUM_SWAPPED,
    RUNNING,
    SLOT,
    WHERE,
)
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for, fill
from sim.engine.members import join
from sim.engine.state import (
    CHUNK,
    COMPUTED,
    FIRST_SCHEDULED_S,
    FREE,
    FRESH,
    HELD_DONE,
    IS_STRAGGLER,
    KNOWN,
    NUM_FRESH,
    NUM_RUNNING,
    NUM_WAITING,
    PAUSE_S,
    PAUSED_SINCE_S,
    PLEDGED,
    RESERVED,
    START_S,
)


@njit(**JIT)
def admit_waiting(left, rules, inputs, hints, members, records, heap, more, count, real):
    """Admit from the queue while budget, seats and memory allow."""
    while left > 0 and count[NUM_RUNNING] < rules.max_num_seqs and count[NUM_WAITING] > 0:
        keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
        i = next_in_queue(count[FREE] - keep, rules, hints, records, heap, more, count, real)
        if i < 0:
            return
        tokens = tokens_to_admit(i, left, rules, inputs, records, more, count)
        if tokens == 0 or not has_memory(i, tokens, keep, rules, inputs, hints, records, members, more, count):
            return
        leave_queue(i, rules, hints, more, count)
        admit(i, tokens, rules, inputs, hints, members, records, more, count, real)
        left -= tokens


@njit(**JIT)
def tokens_to_admit(i, left, rules, inputs, records, more, count):
    """Tokens that the request computes on admission; 0 when the budget does not allow any."""
    tokens = known_tokens(i, inputs.asked, records.out_n) - more.kept[i, HOST_TOKENS]
    if rules.prefill >= Prefill.CHUNKED:
        if rules.long_prefill_token_threshold > 0 and count[NUM_RUNNING] + count[NUM_WAITING] > 1:
            tokens = min(tokens, rules.long_prefill_token_threshold)
        return min(tokens, left)
    is_first = count[NUM_FRESH] == 0 and count[NUM_RUNNING] == 0  # alone, a text longer than the budget runs as well
    return tokens if tokens <= left or is_first else 0


@njit(**JIT)
def has_memory(i, tokens, keep, rules, inputs, hints, records, members, more, count):
    """Whether the reservation's test lets the request in."""
    if more.kept[i, HOST_TOKENS] == 0 and rules.host_keep > 0 and count[HOST_FREE] < rules.host_keep:
        return count[NUM_RUNNING] == 0
    reached = more.kept[i, HOST_TOKENS] + tokens
    if rules.reservation == Reservation.CHUNK:
        if rules.reserve_full_isl:
            reached = known_tokens(i, inputs.asked, records.out_n)
        return blocks_for(reached, rules.block_size) + keep <= count[FREE]
    if rules.reservation == Reservation.PEAK:
        if blocks_for(known_tokens(i, inputs.asked, records.out_n), rules.block_size) + keep > count[FREE]:
            return False
        is_alone = count[NUM_RUNNING] == 0
        return is_alone or future_fits(i, rules, inputs, hints, records, members, more, count)
    return reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count) + keep <= count[FREE]


@njit(**JIT)
def admit(i, tokens, rules, inputs, hints, members, records, more, count, real):
    """The request takes a slot and its blocks, and computes `tokens` tokens; KV in host memory moves back."""
    live = members.live
    straggler = inputs.asked[i, IS_STRAGGLER]
    s = join(i, straggler, live, members.slots, count)
    moved = more.kept[i, HOST_TOKENS]
    reserved = 0
    if rules.reservation == Reservation.PROMPT or rules.reservation == Reservation.OUTPUT:
        reserved = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    live[s, IS_RUNNING] = 1
    live[s, KNOWN] = known_tokens(i, inputs.asked, records.out_n)
    live[s, COMPUTED] = moved
    live[s, CHUNK] = tokens
    live[s, HELD_DONE] = 0
    live[s, RESERVED] = reserved
    count[FREE] -= reserved
    count[PLEDGED] += reserved
    fill(0, moved + tokens, straggler, reserved > 0, rules.block_size, count)
    if moved > 0:
        blocks = blocks_for(moved, rules.block_size)
        count[HOST_FREE] += blocks
        count[MOVED_BLOCKS] += blocks
        count[NUM_SWAPPED] -= 1
        more.kept[i, HOST_TOKENS] = 0
    if records.out_s[i, FIRST_SCHEDULED_S] >= 0.0:
        records.out_s[i, PAUSE_S] += real[START_S] - records.out_s[i, PAUSED_SINCE_S]
    else:
        records.out_s[i, FIRST_SCHEDULED_S] = real[START_S]
        if rules.queue == Queue.CLASS:
            note_served(i, rules, inputs, hints, more.counter)
    more.kept[i, SLOT] = s
    more.kept[i, WHERE] = RUNNING
    members.slots[count[NUM_FRESH], FRESH] = s
    count[NUM_FRESH] += 1
