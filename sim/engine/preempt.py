"""Preemption by recompute: a victim loses its blocks, keeps its tokens and returns to the queue."""

from sim.engine.inputs import Order
from sim.engine.kernel import part
from sim.engine.kv_memory import release, release_blocks
from sim.engine.members import leave, stop_decoding
from sim.engine.segments import settle_held, settle_memory, settle_tokens
from sim.engine.state import (
    ARRIVAL_S,
    BASE,
    CALL,
    CHUNK,
    COMPUTED,
    DECODING,
    ENDING,
    FIRST_SAMPLE,
    FLIGHT_CALL,
    HIGH_WATER,
    LATE,
    LATE_DECODING,
    LATE_SEQ,
    LOST,
    NUM_LATE,
    NUM_PARTIAL,
    NUM_PREEMPTED,
    PARTIAL,
    PAUSED_SINCE_S,
    PREEMPTED,
    PRIORITY,
    PROMPT_LEN,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    RUN_TAIL,
    SEQ,
    SERVED,
    START_S,
    STRAGGLER,
    SUM_PREEMPTED,
    VICTIM,
)
from sim.engine.waiting import put_back


@part
def computed_before(s, live, count):
    """KV tokens of a member before this call."""
    if live[s, DECODING]:
        return live[s, BASE] + count[CALL] - 1
    return live[s, COMPUTED]


@part
def victim(order, asked, live, out_s, count):
    """Who gives way: the last admitted; by priority the largest (priority, arrival), the earliest of equals."""
    if order == Order.FCFS:
        return count[RUN_TAIL]
    chosen = count[RUN_HEAD]
    s = live[chosen, RUN_NEXT]
    while s >= 0:
        a = live[s, REQUEST]
        b = live[chosen, REQUEST]
        more = asked[a, PRIORITY] - asked[b, PRIORITY]
        if more > 0 or (more == 0 and out_s[a, ARRIVAL_S] > out_s[b, ARRIVAL_S]):
            chosen = s
        s = live[s, RUN_NEXT]
    return chosen


@part
def preempt(s, rules, inputs, members, records, gap_stack, heap, cache, count, real):
    """Throw a member out; what this call had scheduled for it is undone, but keys it set stay (vLLM's phantoms)."""
    i = members.live[s, REQUEST]
    before = computed_before(s, members.live, count)
    now = before + members.live[s, CHUNK] if members.live[s, SERVED] == count[CALL] else before
    if members.live[s, DECODING] or members.live[s, ENDING]:
        settle_tokens(
            s, inputs.asked[i, PROMPT_LEN], members.live, records.out_s, records.out_n, gap_stack, count, real
        )
        note_late(s, members.live, members.slots, count)
    if members.live[s, DECODING]:
        settle_memory(s, members.live, members.live_s, records.out_s, real)
        stop_decoding(s, now, rules.prefix_caching, members.live, members.calendar, members.phases, count)
    elif members.live[s, ENDING]:
        settle_held(s, members.live, members.live_s, records.out_s, real)
    else:
        drop_partial(s, members.slots, count)
    if rules.prefix_caching:
        release_blocks(
            s, now, members.live[s, STRAGGLER], rules.block_size, rules.free_to_back, cache.blocks, cache.table, count
        )
    else:
        release(now, members.live[s, STRAGGLER], 0, rules.block_size, count)
    leave(s, members.live, members.slots, count)
    records.out_n[i, HIGH_WATER] = max(records.out_n[i, HIGH_WATER], before)
    records.out_n[i, PREEMPTED] += 1
    records.out_s[i, PAUSED_SINCE_S] = real[START_S]
    members.slots[count[NUM_PREEMPTED], VICTIM] = i
    members.slots[count[NUM_PREEMPTED], LOST] = before
    count[NUM_PREEMPTED] += 1
    count[SUM_PREEMPTED] += 1
    put_back(i, rules.order, inputs.asked[i, PRIORITY], heap, records.out_n, count)


@part
def note_late(s, live, slots, count):
    """The step in flight samples a token for a victim: it will be delivered all the same."""
    if live[s, FIRST_SAMPLE] > count[FLIGHT_CALL]:
        return
    slots[count[NUM_LATE], LATE] = live[s, REQUEST]
    slots[count[NUM_LATE], LATE_SEQ] = live[s, SEQ]
    count[NUM_LATE] += 1
    count[LATE_DECODING] += live[s, FIRST_SAMPLE] < count[FLIGHT_CALL]


@part
def drop_partial(s, slots, count):
    """Take a slot out of the list of members in mid-prompt, which stays in running order."""
    kept = 0
    for k in range(count[NUM_PARTIAL]):
        if slots[k, PARTIAL] != s:
            slots[kept, PARTIAL] = slots[k, PARTIAL]
            kept += 1
    count[NUM_PARTIAL] = kept
