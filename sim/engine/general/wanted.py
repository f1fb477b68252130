"""What requests would take in this iteration, tokens and blocks, and what those behind the chosen hold."""

from sim.engine.general.choices import Reservation
from sim.engine.general.reserve import held_tokens, known_tokens, reserved_blocks
from sim.engine.general.state import (
    CHOSEN_BLOCKS,
    HOST_TOKENS,
    LAST_RUNNING,
    NUM_CHOSEN,
    NUM_LATE_RUNNING,
    NUM_RANKED,
    NUM_TAKEN,
    PAUSED,
    PLAN,
    RUNNING,
    SLOT,
    WHERE,
)
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for
from sim.engine.state import CALL_PHASE, COMPUTED, DECODING, MEMBERS, NUM_FREE_SLOTS, RESERVED


@kernel
def tokens_wanted(i, inputs, members, records, more):
    """Tokens that the request could compute now."""
    s = more.kept[i, SLOT]
    if more.kept[i, WHERE] == RUNNING and members.live[s, DECODING]:
        return 1
    known = known_tokens(i, inputs.asked, records.out_n)
    if more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED:
        return known - members.live[s, COMPUTED]
    return known - more.kept[i, HOST_TOKENS]


@kernel
def blocks_wanted(i, rules, inputs, hints, records, members, more, count):
    """Blocks that the planned tokens take from the pool."""
    s = more.kept[i, SLOT]
    if more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED:
        is_decoding = more.kept[i, WHERE] == RUNNING and members.live[s, DECODING]
        held = max(blocks_for(held_tokens(s, members.live, count), rules.block_size), members.live[s, RESERVED])
        reached = held_tokens(s, members.live, count) + (1 if is_decoding else more.kept[i, PLAN])
        return max(blocks_for(reached, rules.block_size) - held, 0)
    if rules.reservation != Reservation.CHUNK:
        return reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
    return blocks_for(more.kept[i, HOST_TOKENS] + more.kept[i, PLAN], rules.block_size)


@kernel
def blocks_of_choice(rules, inputs, hints, records, members, more, count):
    """Blocks that all planned tokens take from the pool."""
    needed = members.phases[count[CALL_PHASE], MEMBERS] + count[CHOSEN_BLOCKS]
    left = count[NUM_LATE_RUNNING]  # not taken, or looked at one by one
    k = count[LAST_RUNNING] - 1
    while left > 0:
        i = more.ranked[k]
        if more.kept[i, WHERE] == RUNNING:
            left -= 1
            if members.live[more.kept[i, SLOT], DECODING]:
                needed -= blocks_wanted(i, rules, inputs, hints, records, members, more, count)
        k -= 1
    return needed


@kernel
def blocks_behind(first, block_size, live, more, count):
    """Blocks held behind the first entries of the ranked list, which all run."""
    blocks = 0
    left = len(live) - count[NUM_FREE_SLOTS] - first
    k = count[NUM_RANKED] - 1
    while left > 0:
        i = more.ranked[k]
        if more.kept[i, WHERE] == RUNNING or more.kept[i, WHERE] == PAUSED:
            s = more.kept[i, SLOT]
            blocks += max(blocks_for(held_tokens(s, live, count), block_size), live[s, RESERVED])
            left -= 1
        k -= 1
    return blocks


@kernel
def slots_behind(live, more, count):
    """Requests not taken that hold memory."""
    holding = len(live) - count[NUM_FREE_SLOTS] - (count[NUM_TAKEN] - count[NUM_CHOSEN])
    for k in range(count[NUM_CHOSEN]):
        where = more.kept[more.chosen[k], WHERE]
        holding -= where in (RUNNING, PAUSED)
    return holding
