"""Who gives way when blocks run out, and what becomes of it."""

from sim.engine.general.choices import Eviction, Peak, Reservation, Victim
from sim.engine.general.decoding import drop_from, interrupt
from sim.engine.general.queue import change_key, join_queue
from sim.engine.general.refresh import tell_stopped
from sim.engine.general.reserve import believed_output, held_tokens, output_to_reserve
from sim.engine.general.state import (
    HOST_FREE,
    HOST_TOKENS,
    IS_DIRTY,
    IS_RUNNING,
    IS_SHUFFLED,
    KEY,
    LOST_TOKENS,
    MOST_SETBACKS,
    MOVED_BLOCKS,
    NUM_FIRST,
    NUM_SWAPPED,
    OUTPUT_SLOTS,
    QUANTUM,
    RESCUED,
    SEATS,
    SETBACKS,
    SLOT,
    STEP,
    SUM_OUT_OF_MEMORY,
    SUM_SWAPPED,
    SWAPPED,
    WHERE,
)
from sim.engine.general.told import GUESS
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for, release
from sim.engine.members import leave
from sim.engine.segments import settle_held
from sim.engine.state import (
    CAP,
    DECODING,
    EMITTED,
    FREE_SLOT,
    HELD_DONE,
    HIGH_WATER,
    LOST,
    NUM_FREE_SLOTS,
    NUM_HELD_DONE,
    NUM_PARTIAL,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PARTIAL,
    PAUSED_SINCE_S,
    PREEMPTED,
    REQUEST,
    RESERVED,
    RUN_HEAD,
    RUN_NEXT,
    RUN_PREV,
    RUN_TAIL,
    START_S,
    STRAGGLER,
    SUM_PREEMPTED,
    VICTIM,
)


@kernel
def choose_victim(rules, inputs, hints, records, members, more, count):
    """The running member that gives way; who is done keeps its place in a held batch."""
    live = members.live
    if rules.victim == Victim.LAST_ADMITTED:
        s = count[RUN_TAIL]
        while live[s, HELD_DONE]:
            s = live[s, RUN_PREV]
        return s
    chosen = -1
    worst = 0.0
    s = count[RUN_HEAD]
    while s >= 0:
        i = live[s, REQUEST]
        held = held_tokens(s, live, count)
        generated = records.out_n[i, EMITTED] - records.out_n[i, LOST_TOKENS]
        if live[s, DECODING]:
            generated = held + 1 - inputs.asked[i, 0]
        if rules.victim == Victim.LATEST_ARRIVAL:
            badness = float(i)
        elif rules.victim == Victim.LARGEST_KEY:
            badness = more.kept_s[i, KEY]
        elif rules.victim == Victim.FEWEST_GENERATED:
            badness = -float(generated)
        elif rules.victim == Victim.SMALLEST_BOUND:
            badness = -float(believed_output(i, generated, count[STEP], rules, inputs.asked, hints, more, count))
        else:
            badness = float(hints.numbers[i, GUESS] - generated)
        if not live[s, HELD_DONE] and (chosen < 0 or badness >= worst):
            chosen = s
            worst = badness
        s = live[s, RUN_NEXT]
    return chosen


@kernel
def evict(s, rules, inputs, hints, members, records, gap_stack, heap, more, count, real):
    """A member loses its place and its blocks in this iteration."""
    live = members.live
    i = live[s, REQUEST]
    before = held_tokens(s, live, count)
    is_running = live[s, IS_RUNNING] == 1
    stop_serving(s, inputs, members, records, gap_stack, count, real)
    release(before, live[s, STRAGGLER], live[s, RESERVED], rules.block_size, count)
    members.slots[count[NUM_PREEMPTED], VICTIM] = i
    members.slots[count[NUM_PREEMPTED], LOST] = before
    count[NUM_PREEMPTED] += 1
    count[SUM_PREEMPTED] += 1
    count[IS_DIRTY] = 1
    records.out_n[i, PREEMPTED] += 1
    give_up_slot(s, is_running, live, members.slots, more.kept, count)
    is_doubled = rules.doubles and rules.eviction != Eviction.FAIL
    if is_doubled:
        double_reservation(i, rules, inputs.asked, hints, more, count)
    blocks = blocks_for(before, rules.block_size)
    if rules.eviction == Eviction.SWAP and before > 0 and count[HOST_FREE] >= blocks:
        count[HOST_FREE] -= blocks
        count[MOVED_BLOCKS] += blocks
        count[SUM_SWAPPED] += 1
        count[NUM_SWAPPED] += 1
        more.kept[i, HOST_TOKENS] = before
    else:
        records.out_n[i, HIGH_WATER] = max(records.out_n[i, HIGH_WATER], before)
    if rules.victim == Victim.SMALLEST_BOUND and not is_doubled:  # the bound becomes what it had produced
        more.kept[i, OUTPUT_SLOTS] = max(records.out_n[i, EMITTED] - records.out_n[i, LOST_TOKENS], 1)
        if rules.peak == Peak.BOUND and rules.reservation == Reservation.PEAK:
            change_key(i, float(more.kept[i, OUTPUT_SLOTS]), more)
    if rules.eviction >= Eviction.RESTART:
        records.out_n[i, LOST_TOKENS] = records.out_n[i, EMITTED]
    if rules.is_preemptive:
        more.kept[i, SETBACKS] += 1
        if more.kept[i, SETBACKS] == MOST_SETBACKS:  # else some would undo each other's prompts for ever
            more.kept[i, QUANTUM] = RESCUED
            count[IS_SHUFFLED] = 1
        more.kept[i, WHERE] = SWAPPED  # in the ranked list, without memory of the GPU
        tell_stopped(i, rules, hints, records.out_n, more, count)
        if rules.eviction >= Eviction.RESTART:  # more is left than before
            count[IS_SHUFFLED] = 1
        count[NUM_FIRST] = 0
        if is_running:
            count[NUM_WAITING] += 1
        return
    join_queue(i, True, rules, inputs, hints, records, heap, more, count)


@kernel
def stop_serving(s, inputs, members, records, gap_stack, count, real):
    """The member computes nothing in this iteration; it keeps its slot and its blocks."""
    live = members.live
    i = live[s, REQUEST]
    if live[s, DECODING]:
        interrupt(s, inputs, members, records, gap_stack, count, real)
    elif live[s, IS_RUNNING]:
        count[NUM_PARTIAL] = drop_from(s, PARTIAL, count[NUM_PARTIAL], members.slots)
    else:
        settle_held(s, live, members.live_s, records.out_s, real)
    if live[s, IS_RUNNING]:
        records.out_s[i, PAUSED_SINCE_S] = real[START_S]


@kernel
def give_up_slot(s, is_running, live, slots, kept, count):
    """Slot and place in the running order come free."""
    i = live[s, REQUEST]
    kept[i, SLOT] = -1
    if is_running:
        leave(s, live, slots, count)
    else:
        live[s, REQUEST] = -1
        slots[count[NUM_FREE_SLOTS], FREE_SLOT] = s
        count[NUM_FREE_SLOTS] += 1


@kernel
def double_reservation(i, rules, asked, hints, more, count):
    """The next admission reserves twice the output, up to the cap."""
    former = output_to_reserve(i, rules, asked, hints, more, count)
    more.kept[i, OUTPUT_SLOTS] = min(2 * former, asked[i, CAP])


@kernel
def evict_for_blocks(rules, inputs, hints, members, records, gap_stack, heap, more, count, real):
    """Blocks are short: one member gives way; where the engine fails, all but those that have their whole answer."""
    if rules.eviction != Eviction.FAIL:
        s = choose_victim(rules, inputs, hints, records, members, more, count)
        evict(s, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        return
    count[SUM_OUT_OF_MEMORY] += 1
    at_work = count[NUM_RUNNING] - count[NUM_HELD_DONE]
    count[SEATS] = max(at_work // 2, 1)  # else the same batch would die again, for ever
    s = count[RUN_TAIL]
    while s >= 0:
        before = members.live[s, RUN_PREV]
        if not members.live[s, HELD_DONE]:
            evict(s, rules, inputs, hints, members, records, gap_stack, heap, more, count, real)
        s = before
