"""From who ran to who was chosen: those left out pause with their memory, the chosen take their tokens."""

from sim.engine.general.admit import admit
from sim.engine.general.decoding import catch_up, grow_decoding
from sim.engine.general.evict import stop_serving
from sim.engine.general.grow import fill_chunk
from sim.engine.general.refresh import tell_stopped
from sim.engine.general.reserve import known_tokens, reserved_blocks
from sim.engine.general.state import (
    IS_RUNNING,
    LAST_RUNNING,
    NUM_CHOSEN,
    NUM_FIRST,
    NUM_RANKED,
    NUM_REDO,
    NUM_TAKEN,
    PAUSED,
    PLAN,
    RUNNING,
    SINCE_S,
    SLOT,
    SWAPPED,
    WHERE,
)
from sim.engine.kernel import kernel
from sim.engine.members import line_up, step_out
from sim.engine.segments import mark_memory, settle_held
from sim.engine.state import (
    CHUNK,
    CLOCK,
    FRESH,
    HEAD_KNOWN,
    HEAD_WHOLE,
    KNOWN,
    NUM_FRESH,
    NUM_PARTIAL,
    NUM_RUNNING,
    NUM_WAITING,
    PARTIAL,
    PAUSE_S,
    PAUSED_SINCE_S,
    REQUEST,
    START_S,
)


@kernel
def apply_choice(rules, inputs, hints, members, records, gap_stack, more, count, real):
    """Pause who runs and was not chosen; let the chosen run."""
    live = members.live
    left = count[NUM_RUNNING] - (count[NUM_TAKEN] - count[NUM_CHOSEN])
    for k in range(count[NUM_CHOSEN]):
        left -= more.kept[more.chosen[k], WHERE] == RUNNING
    k = min(count[LAST_RUNNING], count[NUM_RANKED]) - 1
    while left > 0:
        i = more.ranked[k]
        if more.kept[i, WHERE] == RUNNING:
            left -= 1
            pause(more.kept[i, SLOT], inputs, members, records, gap_stack, more, count, real)
            tell_stopped(i, rules, hints, records.out_n, more, count)
        k -= 1
    for k in range(count[NUM_PARTIAL]):
        s = members.slots[k, PARTIAL]
        live[s, CHUNK] = more.kept[live[s, REQUEST], PLAN]
    grow_decoding(rules.block_size, members.phases, count)
    if count[NUM_REDO] > 0:
        catch_up(members, records, count)
    for k in range(count[NUM_PARTIAL]):
        s = members.slots[k, PARTIAL]
        fill_chunk(s, rules.block_size, live, count)
    for k in range(count[NUM_CHOSEN]):
        i = more.chosen[k]
        if more.kept[i, WHERE] == PAUSED:
            resume(i, rules, inputs, members, records, more, count, real)
        elif more.kept[i, WHERE] == SWAPPED:
            count[NUM_WAITING] -= 1
            count[HEAD_KNOWN] = known_tokens(i, inputs.asked, records.out_n)
            count[HEAD_WHOLE] = reserved_blocks(i, rules, inputs.asked, hints, records.out_n, more, count)
            admit(i, more.kept[i, PLAN], rules, inputs, hints, members, records, more, count, real)
            more.kept_s[i, SINCE_S] = real[CLOCK]
    count[NUM_FIRST] = count[NUM_TAKEN]


@kernel
def pause(s, inputs, members, records, gap_stack, more, count, real):
    """The member keeps its memory and is not served."""
    live = members.live
    i = live[s, REQUEST]
    stop_serving(s, inputs, members, records, gap_stack, count, real)
    mark_memory(s, members.live_s, real)
    step_out(s, live, count)
    live[s, IS_RUNNING] = 0
    more.kept[i, WHERE] = PAUSED
    more.kept_s[i, SINCE_S] = real[CLOCK]
    count[NUM_WAITING] += 1


@kernel
def resume(i, rules, inputs, members, records, more, count, real):
    """A paused request is served again from where it stood."""
    live = members.live
    s = more.kept[i, SLOT]
    settle_held(s, live, members.live_s, records.out_s, real)
    line_up(s, live, count)
    live[s, IS_RUNNING] = 1
    live[s, KNOWN] = known_tokens(i, inputs.asked, records.out_n)
    live[s, CHUNK] = more.kept[i, PLAN]
    fill_chunk(s, rules.block_size, live, count)
    records.out_s[i, PAUSE_S] += real[START_S] - records.out_s[i, PAUSED_SINCE_S]
    more.kept[i, WHERE] = RUNNING
    more.kept_s[i, SINCE_S] = real[CLOCK]
    count[NUM_WAITING] -= 1
    members.slots[count[NUM_FRESH], FRESH] = s
    count[NUM_FRESH] += 1
