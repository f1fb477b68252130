"""First half of a call: running members take their tokens, and somebody gives way when blocks run out.

The quiet path grants all decoding members at once. The walk visits every member in running order, as vLLM does; it is
taken when blocks are short or the token budget may run out among prompts. Source: golden README, section 3.
"""

from sim.engine.inputs import Order, Reserve
from sim.engine.kernel import part
from sim.engine.kv_memory import age, age_blocks, blocks_for, fill, fill_blocks, take
from sim.engine.members import stop_decoding
from sim.engine.preempt import computed_before, note_late, preempt, victim
from sim.engine.segments import settle_memory, settle_tokens
from sim.engine.state import (
    APPLIED_CALL,
    BASE,
    CALL,
    CALL_PHASE,
    CHUNK,
    COMPUTED,
    DECODING,
    DECODING_KV,
    ENDING,
    FIRST_SAMPLE,
    FLIGHT_CALL,
    FREE,
    KNOWN,
    LATE_SEQ,
    MEMBERS,
    NEVER,
    NUM_DECODING,
    NUM_LATE,
    NUM_PARTIAL,
    PARTIAL,
    PHASE,
    PROMPT_LEN,
    REQUEST,
    RUN_HEAD,
    RUN_NEXT,
    RUN_TAIL,
    SERVED,
    STRAGGLER,
    STRAGGLER_MEMBERS,
)


@part
def is_quiet(rules, phases, count):
    """Whether all running members decode and find their blocks, and no block has a content to keep."""
    if count[NUM_PARTIAL] > 0 or rules.prefix_caching:
        return False
    return rules.reserve != Reserve.CHUNK or phases[count[CALL_PHASE], MEMBERS] <= count[FREE]


@part
def grow_running(limit, rules, inputs, members, records, gap_stack, heap, cache, count, real):
    """Schedule the running members, preempting where blocks are short; the tokens left of the budget."""
    if rules.reserve == Reserve.CHUNK:
        victims_are_last = rules.order == Order.FCFS and not rules.prefix_caching
        left = rules.max_num_batched_tokens - count[NUM_DECODING]
        tokens, new = plan_chunks(left, limit, rules.block_size, members.slots, members.live, count)
        is_short = members.phases[count[CALL_PHASE], MEMBERS] + new > count[FREE]
        if tokens < 0 or (is_short and not victims_are_last):
            return walk_running(limit, rules, inputs, members, records, gap_stack, heap, cache, count, real)
        if is_short:
            make_room(limit, rules, inputs, members, records, gap_stack, heap, cache, count, real)
    else:
        tokens = 0
    grow_quietly(rules.block_size, rules.reserve != Reserve.CHUNK, members.phases, count)
    if rules.prefix_caching:
        age_blocks(
            count[CALL_PHASE],
            rules.block_size,
            inputs.asked,
            inputs.segments,
            members.live,
            members.phases,
            cache.blocks,
            cache.table,
            cache.key_heads,
            count,
        )
    if count[NUM_PARTIAL] > 0:
        grow_chunks(rules, inputs, members, cache, count)
    return rules.max_num_batched_tokens - count[NUM_DECODING] - tokens


@part
def plan_chunks(left, limit, block_size, slots, live, count):
    """Set CHUNK of members in mid-prompt; (tokens, blocks they need), or -1 tokens where only the walk can tell."""
    tokens = 0
    blocks = 0
    for k in range(count[NUM_PARTIAL]):
        s = slots[k, PARTIAL]
        computed = live[s, COMPUTED]
        chunk = min(live[s, KNOWN] - computed, limit)
        if tokens + chunk > left:
            if s != count[RUN_TAIL]:  # members behind it would have taken from the budget first
                return -1, 0
            chunk = left - tokens
        live[s, CHUNK] = chunk
        tokens += chunk
        blocks += blocks_for(computed + chunk, block_size) - blocks_for(computed, block_size)
    return tokens, blocks


@part
def grow_quietly(block_size, is_reserved, phases, count):
    """Every decoding member gets its token and its block."""
    phase = count[CALL_PHASE]
    age(phases[phase, MEMBERS], phases[phase, STRAGGLER_MEMBERS], block_size, is_reserved, count)
    count[DECODING_KV] += count[NUM_DECODING]


@part
def grow_chunks(rules, inputs, members, cache, count):
    """Members in mid-prompt get their planned chunks."""
    for k in range(count[NUM_PARTIAL]):
        s = members.slots[k, PARTIAL]
        computed = members.live[s, COMPUTED]
        fill(computed, members.live[s, CHUNK], members.live[s, STRAGGLER], False, rules.block_size, count)
        if rules.prefix_caching:
            fill_blocks(
                s,
                computed,
                members.live[s, CHUNK],
                members.live[s, KNOWN],
                rules.block_size,
                inputs.asked,
                inputs.segments,
                members.live,
                cache.blocks,
                cache.table,
                cache.key_heads,
                count,
            )


@part
def make_room(limit, rules, inputs, members, records, gap_stack, heap, cache, count, real):
    """Preempt from the end of the running order until those that stay find their blocks.

    The outcome of `walk_running` where victims come from the end and have not been served: whoever lacks a block,
    the last member goes, and members are short exactly if all that stay want more than is free.
    """
    while True:
        needed = members.phases[count[CALL_PHASE], MEMBERS]
        if count[NUM_PARTIAL] > 0:
            left = rules.max_num_batched_tokens - count[NUM_DECODING]
            needed += plan_chunks(left, limit, rules.block_size, members.slots, members.live, count)[1]
        if needed <= count[FREE]:
            return
        preempt(count[RUN_TAIL], rules, inputs, members, records, gap_stack, heap, cache, count, real)


@part
def walk_running(limit, rules, inputs, members, records, gap_stack, heap, cache, count, real):
    """Visit every member in running order, preempting where blocks are short; the tokens left of the budget."""
    left = rules.max_num_batched_tokens
    filling = count[CALL_PHASE] + 1 if count[CALL_PHASE] + 1 < rules.block_size else 0  # phase of blocks now full
    s = count[RUN_HEAD]
    while s >= 0:
        if members.live[s, ENDING]:
            s = members.live[s, RUN_NEXT]
            continue
        is_decoding = members.live[s, DECODING] == 1
        before = computed_before(s, members.live, count)
        tokens = min(1 if is_decoding else members.live[s, KNOWN] - before, limit, left)
        if tokens == 0:
            break
        if is_decoding:
            needed = 1 if members.live[s, PHASE] == count[CALL_PHASE] else 0
        else:
            needed = blocks_for(before + tokens, rules.block_size) - blocks_for(before, rules.block_size)
        gave_way = False
        after = -1
        while needed > count[FREE] and not gave_way:
            v = victim(rules.order, inputs.asked, members.live, records.out_s, count)
            gave_way = v == s
            after = members.live[s, RUN_NEXT]
            if members.live[v, SERVED] == count[CALL]:
                left += members.live[v, CHUNK]
            preempt(v, rules, inputs, members, records, gap_stack, heap, cache, count, real)
        if gave_way:
            if rules.order == Order.FCFS:
                break
            if rules.self_preempt_stops:
                pass_over(after, rules, inputs, members, records, gap_stack, count, real)
                break
            s = after
            continue
        members.live[s, SERVED] = count[CALL]
        members.live[s, CHUNK] = tokens
        count[DECODING_KV] += is_decoding
        take(tokens, needed, members.live[s, STRAGGLER], False, rules.block_size, count)
        fills = needed > 0 or members.live[s, PHASE] == filling
        if rules.prefix_caching and (fills or not is_decoding):
            known = members.live[s, BASE] + count[APPLIED_CALL] + 1 if is_decoding else members.live[s, KNOWN]
            fill_blocks(
                s,
                before,
                tokens,
                known,
                rules.block_size,
                inputs.asked,
                inputs.segments,
                members.live,
                cache.blocks,
                cache.table,
                cache.key_heads,
                count,
            )
        left -= tokens
        s = members.live[s, RUN_NEXT]
    return left


@part
def pass_over(s, rules, inputs, members, records, gap_stack, count, real):
    """Older releases: from member `s` on nobody is served in this call.

    A member that decoded goes on as one in mid-prompt that lacks its last token, since it no longer ages with the
    others; its next token counts as a prefill chunk of one.
    """
    while s >= 0:
        if members.live[s, DECODING]:
            before = computed_before(s, members.live, count)
            prompt_len = inputs.asked[members.live[s, REQUEST], PROMPT_LEN]
            settle_tokens(s, prompt_len, members.live, records.out_s, records.out_n, gap_stack, count, real)
            settle_memory(s, members.live, members.live_s, records.out_s, real)
            if members.live[s, FIRST_SAMPLE] < count[FLIGHT_CALL]:
                note_late(s, members.live, members.slots, count)
                members.slots[count[NUM_LATE] - 1, LATE_SEQ] = -1  # on its way, but not after a preemption
            stop_decoding(s, before, rules.prefix_caching, members.live, members.calendar, members.phases, count)
            members.live[s, FIRST_SAMPLE] = (
                count[FLIGHT_CALL] if members.live[s, FIRST_SAMPLE] <= count[FLIGHT_CALL] else NEVER
            )
            members.live[s, COMPUTED] = before
            members.live[s, KNOWN] = before + 1
        members.live[s, CHUNK] = 0
        s = members.live[s, RUN_NEXT]
    count[NUM_PARTIAL] = 0
    s = count[RUN_HEAD]
    while s >= 0:
        if not members.live[s, DECODING] and not members.live[s, ENDING]:
            members.slots[count[NUM_PARTIAL], PARTIAL] = s
            count[NUM_PARTIAL] += 1
        s = members.live[s, RUN_NEXT]
