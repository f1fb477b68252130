"""First half of a call: running members take their tokens, and somebody gives way when blocks run out.

The quiet path grants all decoding members at once. The walk visits every member in running order, as vLLM does; it is
taken when blocks are short or the token budget may run out among prompts. Source: golden README, section 3.
"""

from numba import njit

from sim.engine.inputs import Order, Reserve
from sim.engine.jit import JIT
from sim.engine.kv_memory import age, age_blocks, blocks_for, fill
from sim.engine.preempt import computed_before, preempt, victim
from sim.engine.state import (
    CALL,
    CALL_PHASE,
    CHUNK,
    COMPUTED,
    DECODING,
    DECODING_KV,
    FREE,
    KNOWN,
    NUM_DECODING,
    NUM_PARTIAL,
    RUN_HEAD,
    RUN_NEXT,
    RUN_TAIL,
    SERVED,
)


@njit(**JIT)
def grow_running(limit, rules, requests, state):
    """Schedule the running members; the tokens left of the budget."""
    count = state.count
    needed = state.boundary[count[CALL_PHASE], 0]
    if rules.reserve != Reserve.CHUNK:
        grow_quietly(rules, requests, state)
        return rules.max_num_batched_tokens - count[NUM_DECODING]
    left = rules.max_num_batched_tokens - count[NUM_DECODING]
    if count[NUM_PARTIAL] > 0:
        tokens, blocks = plan_chunks(
            left, limit, rules.block_size, state.partial, state.live, count
        )
        left -= tokens
        needed += blocks
        if tokens < 0:
            return walk_running(limit, rules, requests, state)
    if needed > count[FREE]:
        return walk_running(limit, rules, requests, state)
    grow_quietly(rules, requests, state)
    return left


@njit(**JIT)
def plan_chunks(left, limit, block_size, partial, live, count):
    """Set CHUNK of members in mid-prompt; (tokens, blocks they need), or -1 tokens where only the walk can tell."""
    tokens = 0
    blocks = 0
    for k in range(count[NUM_PARTIAL]):
        s = partial[k]
        chunk = min(live[s, KNOWN] - live[s, COMPUTED], limit)
        if tokens + chunk > left:
            if s != count[RUN_TAIL]:  # members behind it would have taken from the budget first
                return -1, 0
            chunk = left - tokens
        live[s, CHUNK] = chunk
        tokens += chunk
        computed = live[s, COMPUTED]
        blocks += blocks_for(computed + chunk, block_size) - blocks_for(computed, block_size)
    return tokens, blocks


@njit(**JIT)
def grow_quietly(rules, requests, state):
    """Everybody gets what they want; only members in mid-prompt are visited."""
    count = state.count
    phase = count[CALL_PHASE]
    needed = state.boundary[phase, 0]
    age(needed, state.boundary[phase, 1], rules.block_size, rules.reserve != Reserve.CHUNK, count)
    count[DECODING_KV] += count[NUM_DECODING]
    if rules.prefix_caching:
        age_blocks(
            phase,
            rules,
            requests,
            state.live,
            state.phase_list,
            state.blocks,
            state.block_table,
            state.key_heads,
            count,
        )
    for k in range(count[NUM_PARTIAL]):
        s = state.partial[k]
        fill(
            s,
            state.live[s, COMPUTED],
            state.live[s, CHUNK],
            rules,
            requests,
            state.live,
            state.blocks,
            state.block_table,
            state.key_heads,
            count,
        )


@njit(**JIT)
def walk_running(limit, rules, requests, state):
    """Visit every member in running order, preempting where blocks are short; the tokens left of the budget."""
    count = state.count
    live = state.live
    left = rules.max_num_batched_tokens
    s = count[RUN_HEAD]
    while s >= 0:
        after = live[s, RUN_NEXT]
        before = computed_before(s, live, count)
        wanted = 1 if live[s, DECODING] else live[s, KNOWN] - before
        tokens = min(wanted, limit, left)
        if tokens == 0:
            break
        needed = blocks_for(before + tokens, rules.block_size) - blocks_for(before, rules.block_size)
        gave_way = False
        while needed > count[FREE] and not gave_way:
            v = victim(rules.order, requests.priority, live, state.out_s, count)
            gave_way = v == s
            after = live[s, RUN_NEXT]
            if live[v, SERVED] == count[CALL]:
                left += live[v, CHUNK]
            preempt(v, rules, requests, state)
        if gave_way:
            if rules.order == Order.FCFS:
                break
            s = after
            continue
        serve(s, before, tokens, rules, requests, state)
        left -= tokens
        s = live[s, RUN_NEXT]
    return left


@njit(**JIT)
def serve(s, before, tokens, rules, requests, state):
    """Give one member its tokens and their blocks."""
    live = state.live
    live[s, SERVED] = state.count[CALL]
    live[s, CHUNK] = tokens
    if live[s, DECODING]:
        state.count[DECODING_KV] += 1
    fill(
        s,
        before,
        tokens,
        rules,
        requests,
        live,
        state.blocks,
        state.block_table,
        state.key_heads,
        state.count,
    )


