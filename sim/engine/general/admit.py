"""A request joins the running set with memory, slot and the first tokens it computes."""

from sim.engine.general.choices import Prefill, Queue, Reservation
from sim.engine.general.head import look_at_head
from sim.engine.general.peak import future_fits
from sim.engine.general.queue import leave_queue, note_served
from sim.engine.general.state import (
    HOST_FREE,
    HOST_TOKENS,
    IS_RUNNING,
    MOVED_BLOCKS,
    NUM_SWAPPED,
    REFUSED_AT,
    RUNNING,
    SEATS,
    SLOT,
    STEP,
    WHERE,
)
from sim.engine.kernel import kernel, part
from sim.engine.kv_memory import blocks_for, fill
from sim.engine.members import join
from sim.engine.state import (
    CHUNK,
    COMPUTED,
    FIRST_SCHEDULED_S,
    FREE,
    FRESH,
    HEAD,
    HEAD_KNOWN,
    HEAD_KNOWN_GOOD,
    HEAD_WHOLE,
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


@kernel
def admit_waiting(left, only_swapped, rules, inputs, hints, members, records, heap, more, count, real):
    """Admit from the queue while budget, seats and memory allow; on request only those in host memory."""
    while left > 0 and count[NUM_RUNNING] < count[SEATS] and count[NUM_WAITING] > 0:
        if only_swapped and count[NUM_SWAPPED] == 0:
            return
        if not count[HEAD_KNOWN_GOOD]:
            look_at_head(rules, inputs, hints, records, heap, more, count, real)
        i = count[HEAD]
        if i < 0:
            return
        tokens = tokens_to_admit(left, count[HEAD_KNOWN] - more.kept[i, HOST_TOKENS], rules, count)
        if tokens == 0 or not has_memory(tokens, rules, inputs, hints, records, members, more, count):
            return
        leave_queue(i, rules, hints, heap, more, count)
        admit(i, tokens, rules, inputs, hints, members, records, more, count, real)
        left -= tokens


@part
def may_be_admitted(rules, count):
    """Whether it is worth trying: false when the queue's head is known to want more than is free."""
    if count[NUM_WAITING] == 0 or count[NUM_RUNNING] >= count[SEATS]:
        return False
    if not count[HEAD_KNOWN_GOOD] or rules.reservation == Reservation.CHUNK:
        return True
    keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
    return count[HEAD] >= 0 and count[HEAD_WHOLE] + keep <= count[FREE]


@kernel
def tokens_to_admit(left, tokens, rules, count):
    """How many of a request's tokens its first iteration computes; 0 when the budget does not allow any."""
    if rules.prefill >= Prefill.CHUNKED:
        if rules.long_prefill_token_threshold > 0 and count[NUM_RUNNING] + count[NUM_WAITING] > 1:
            tokens = min(tokens, rules.long_prefill_token_threshold)
        return min(tokens, left)
    is_first = count[NUM_FRESH] == 0 and count[NUM_RUNNING] == 0  # alone, a text longer than the budget runs as well
    return tokens if tokens <= left or is_first else 0


@kernel
def has_memory(tokens, rules, inputs, hints, records, members, more, count):
    """Whether the reservation's test lets in the request that was looked up as the queue's head."""
    i = count[HEAD]
    keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
    moved = more.kept[i, HOST_TOKENS]
    if moved == 0 and rules.host_keep > 0 and count[HOST_FREE] < rules.host_keep:
        return count[NUM_RUNNING] == 0
    if rules.reservation == Reservation.CHUNK and not rules.reserve_full_isl:
        return blocks_for(moved + tokens, rules.block_size) + keep <= count[FREE]
    if count[HEAD_WHOLE] + keep > count[FREE]:
        return False
    if rules.reservation != Reservation.PEAK or count[NUM_RUNNING] == 0:
        return True
    fits = future_fits(i, rules, inputs, hints, records, members, more, count)
    if not fits:
        count[REFUSED_AT] = count[STEP]
    return fits


@kernel
def admit(i, tokens, rules, inputs, hints, members, records, more, count, real):
    """The request takes a slot and its blocks, and computes `tokens` tokens; KV in host memory moves back.

    HEAD_KNOWN and HEAD_WHOLE must be the request's.
    """
    live = members.live
    straggler = inputs.asked[i, IS_STRAGGLER]
    s = join(i, straggler, live, members.slots, count)
    moved = more.kept[i, HOST_TOKENS]
    reserved = 0
    if rules.reservation == Reservation.PROMPT or rules.reservation == Reservation.OUTPUT:
        reserved = count[HEAD_WHOLE]
    live[s, IS_RUNNING] = 1
    live[s, KNOWN] = count[HEAD_KNOWN]
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
