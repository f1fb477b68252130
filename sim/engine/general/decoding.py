"""Members that decode: they age together, and only those with an event are visited.

Events wait in the calendar under DUE: the last token, or the last token that the reservation has room for. Blocks of
growth are counted by phase, apart for members that grow into a reservation and those that take from the pool.
"""

from sim.engine.general.state import (
    END_CALL,
    IS_PLEDGED,
    IS_YOUNG,
    LOST_TOKENS,
    NUM_OUTGROWN,
    NUM_REDO,
    NUM_YOUNG,
    OUTGROWN,
    REDO,
    REDO_KV,
    REDO_UNTIL,
    YOUNG,
)
from sim.engine.kernel import kernel, part
from sim.engine.members import append_to_list, remove_from_list
from sim.engine.segments import settle_memory, settle_tokens
from sim.engine.state import (
    BASE,
    CALL,
    CALL_PHASE,
    COMPUTED,
    DECODING,
    DECODING_KV,
    DUE,
    DUE_LIST,
    DUE_NEXT,
    DUE_PREV,
    EMITTED,
    ENDING,
    FIRST_SAMPLE,
    FREE,
    KV_STRAGGLER,
    KV_TYPICAL,
    MEMBERS,
    NUM_DECODING,
    PHASE,
    PLEDGED,
    PROMPT_LEN,
    RECOMPUTED,
    REQUEST,
    RESERVED,
    SEGMENT,
    STRAGGLER,
    STRAGGLER_BLOCKS,
    STRAGGLER_MEMBERS,
    STRAGGLERS_DECODING,
    SUM_BLOCKS,
    UNFILLED,
)


@kernel
def start_decoding(s, kv_tokens, tokens_left, rules, members, count):
    """From the next decoding iteration on the member takes a token in each; it holds `kv_tokens` now."""
    live = members.live
    call = count[CALL]
    live[s, DECODING] = 1
    live[s, SEGMENT] = -1
    live[s, IS_YOUNG] = 0
    live[s, REDO_UNTIL] = -1
    live[s, FIRST_SAMPLE] = call
    live[s, BASE] = kv_tokens - call
    live[s, END_CALL] = call + tokens_left
    live[s, DUE] = live[s, END_CALL]
    room = live[s, RESERVED] * rules.block_size - kv_tokens
    live[s, IS_PLEDGED] = room > 0
    if room > 0:
        live[s, DUE] = min(live[s, DUE], call + room)
    elif rules.doubles and tokens_left > 0:
        members.slots[count[NUM_OUTGROWN], OUTGROWN] = s
        count[NUM_OUTGROWN] += 1
    mask = len(members.calendar) - 1
    append_to_list(s, members.calendar, live[s, DUE] & mask, 0, 1, DUE_PREV, DUE_NEXT, live)
    live[s, PHASE] = (call + 1 - kv_tokens) % rules.block_size + (rules.block_size if room > 0 else 0)
    count_phase(s, 1, live, members.phases)
    count[NUM_DECODING] += 1
    count[STRAGGLERS_DECODING] += live[s, STRAGGLER]
    count[DECODING_KV] += kv_tokens


@kernel
def stop_decoding(s, kv_tokens, members, count):
    """The member, which holds `kv_tokens`, finished or is not served for now."""
    live = members.live
    live[s, DECODING] = 0
    live[s, COMPUTED] = kv_tokens
    mask = len(members.calendar) - 1
    remove_from_list(s, members.calendar, live[s, DUE] & mask, 0, 1, DUE_PREV, DUE_NEXT, live)
    count_phase(s, -1, live, members.phases)
    count[NUM_DECODING] -= 1
    count[STRAGGLERS_DECODING] -= live[s, STRAGGLER]
    count[DECODING_KV] -= kv_tokens


@kernel
def interrupt(s, inputs, members, records, gap_stack, count, real):
    """A decoding member is not served in this iteration, nor until it starts again."""
    live = members.live
    i = live[s, REQUEST]
    computed = live[s, BASE] + count[CALL] - 1
    settle_tokens(s, inputs.asked[i, PROMPT_LEN], live, records.out_s, records.out_n, gap_stack, count, real)
    settle_memory(s, live, members.live_s, records.out_s, real)
    if live[s, IS_YOUNG]:
        count[NUM_YOUNG] = drop_from(s, YOUNG, count[NUM_YOUNG], members.slots)
    if live[s, REDO_UNTIL] >= 0:
        count[NUM_REDO] = drop_from(s, REDO, count[NUM_REDO], members.slots)
        count[REDO_KV] -= computed
        generated = computed + 1 - inputs.asked[i, PROMPT_LEN]
        records.out_n[i, LOST_TOKENS] = records.out_n[i, EMITTED] - generated
        records.out_n[i, RECOMPUTED] += count[CALL] - 1 - live[s, FIRST_SAMPLE]
    stop_decoding(s, computed, members, count)


@kernel
def catch_up(members, records, count):
    """Members that decode, in this iteration, the first token that was not delivered before."""
    live = members.live
    behind = 0
    for k in range(count[NUM_REDO]):
        s = members.slots[k, REDO]
        if live[s, REDO_UNTIL] > count[CALL]:
            members.slots[behind, REDO] = s
            behind += 1
            continue
        i = live[s, REQUEST]
        live[s, REDO_UNTIL] = -1
        live[s, IS_YOUNG] = 1
        members.slots[count[NUM_YOUNG], YOUNG] = s
        count[NUM_YOUNG] += 1
        count[REDO_KV] -= live[s, BASE] + count[CALL]
        records.out_n[i, LOST_TOKENS] = 0
        records.out_n[i, RECOMPUTED] += count[CALL] - 1 - live[s, FIRST_SAMPLE]
    count[NUM_REDO] = behind


@kernel
def count_phase(s, sign, live, phases):
    """Count the member where its next block comes from, or no longer."""
    phases[live[s, PHASE], MEMBERS] += sign
    phases[live[s, PHASE], STRAGGLER_MEMBERS] += sign * live[s, STRAGGLER]


@kernel
def drop_from(s, column, size, slots):
    """Take a slot out of a list that keeps its order; the new size."""
    kept = 0
    for k in range(size):
        if slots[k, column] != s:
            slots[kept, column] = slots[k, column]
            kept += 1
    return kept


@part
def grow_decoding(block_size, phases, count):
    """Every decoding member takes a token and, at a border, a block, which must be there."""
    phase = count[CALL_PHASE]
    from_pool = phases[phase, MEMBERS]
    pledged = phases[phase + block_size, MEMBERS]
    decoding = count[NUM_DECODING]
    stragglers = count[STRAGGLERS_DECODING]
    count[KV_STRAGGLER] += stragglers
    count[KV_TYPICAL] += decoding - stragglers
    count[UNFILLED] += (from_pool + pledged) * block_size - decoding
    count[STRAGGLER_BLOCKS] += phases[phase, STRAGGLER_MEMBERS] + phases[phase + block_size, STRAGGLER_MEMBERS]
    count[SUM_BLOCKS] += from_pool + pledged
    count[FREE] -= from_pool
    count[PLEDGED] -= pledged
    count[DECODING_KV] += decoding
    count[REDO_KV] += count[NUM_REDO]


@kernel
def collect_due(rules, members, records, count, real):
    """Members whose last token this iteration brings stop; others whose reservation it fills take from the pool."""
    live = members.live
    mask = len(members.calendar) - 1
    due = 0
    s = members.calendar[count[CALL] & mask, 0]
    while s >= 0:
        after = live[s, DUE_NEXT]
        if live[s, END_CALL] == count[CALL]:
            members.slots[due, DUE_LIST] = s
            due += 1
            settle_memory(s, live, members.live_s, records.out_s, real)
            stop_decoding(s, live[s, BASE] + count[CALL], members, count)
            live[s, ENDING] = 1
        else:
            use_up_reservation(s, rules, members, count)
        s = after
    return due


@kernel
def use_up_reservation(s, rules, members, count):
    """From now on the member's blocks come from the pool, or it must go."""
    live = members.live
    mask = len(members.calendar) - 1
    count_phase(s, -1, live, members.phases)
    live[s, PHASE] -= rules.block_size
    count_phase(s, 1, live, members.phases)
    live[s, IS_PLEDGED] = 0
    remove_from_list(s, members.calendar, live[s, DUE] & mask, 0, 1, DUE_PREV, DUE_NEXT, live)
    live[s, DUE] = live[s, END_CALL]
    append_to_list(s, members.calendar, live[s, DUE] & mask, 0, 1, DUE_PREV, DUE_NEXT, live)
    if rules.doubles:
        members.slots[count[NUM_OUTGROWN], OUTGROWN] = s
        count[NUM_OUTGROWN] += 1
