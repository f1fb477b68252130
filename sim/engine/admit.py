"""Second half of a call: waiting requests join. Head of line blocks: nobody overtakes.

Source: golden README, section 3 A (vLLM V1); schedulers.md 3.1 (static batching).
"""

from sim.engine.head import look_at_head
from sim.engine.inputs import Batching
from sim.engine.kernel import part
from sim.engine.kv_memory import blocks_for, fill, fill_blocks
from sim.engine.members import join
from sim.engine.prefix_cache import share_block
from sim.engine.state import (
    CACHED,
    CHAIN,
    CHUNK,
    COMPUTED,
    FIRST_SCHEDULED_S,
    FREE,
    FRESH,
    HEAD,
    HEAD_CHAIN,
    HEAD_HIT,
    HEAD_IDLE,
    HEAD_KNOWN,
    HEAD_KNOWN_GOOD,
    HEAD_WHOLE,
    HELD_DONE,
    IS_STRAGGLER,
    KEYED_BLOCKS,
    KNOWN,
    NEXT_WAITING,
    NUM_FRESH,
    NUM_RUNNING,
    NUM_WAITING,
    PAUSE_S,
    PAUSED_SINCE_S,
    PLEDGED,
    PREEMPTED,
    RESERVED,
    START_S,
    STRAGGLER,
    SUM_HIT_BLOCKS,
)
from sim.engine.waiting import dequeue, put_back


@part
def admit_waiting(left, limit, rules, inputs, members, records, heap, cache, count, real):
    """Let the queue in."""
    if rules.batching == Batching.ITERATION:
        admit_at_iteration(left, limit, rules, inputs, members, records, heap, cache, count, real)
    elif count[NUM_RUNNING] == 0:
        admit_batch(rules, inputs, members, records, heap, cache, count, real)


@part
def admit_at_iteration(left, limit, rules, inputs, members, records, heap, cache, count, real):
    """Admit heads of the queue while budget, slots and blocks allow."""
    first_skipped = -1
    last_skipped = -1
    while left > 0 and count[NUM_WAITING] > 0 and count[NUM_RUNNING] < rules.max_num_seqs:
        if not count[HEAD_KNOWN_GOOD]:
            look_at_head(rules, inputs, heap, records, cache, count)
        computed = count[HEAD_HIT] * rules.block_size
        tokens = min(count[HEAD_KNOWN] - computed, limit)
        if tokens > left and not rules.chunked_prefill:
            if not rules.skip_oversized:
                break
            i = count[HEAD]
            dequeue(rules.order, heap, records.out_n, count)
            if first_skipped < 0:
                first_skipped = i
            else:
                records.out_n[last_skipped, NEXT_WAITING] = i
            last_skipped = i
            records.out_n[i, NEXT_WAITING] = -1
            continue
        tokens = min(tokens, left)
        wanted = count[HEAD_WHOLE]
        if not rules.reserve_full_isl:
            wanted = blocks_for(computed + tokens, rules.block_size) - count[HEAD_HIT]
        keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
        if wanted > count[FREE] - count[HEAD_IDLE] - keep:
            break
        s = admit_head(
            computed,
            tokens,
            0,
            inputs.asked,
            members.live,
            members.slots,
            records.out_s,
            records.out_n,
            rules.block_size,
            count,
            real,
        )
        if rules.prefix_caching:
            share_prefix(s, rules.block_size, members.live, cache.blocks, cache.table, count)
            known = members.live[s, KNOWN]
            fill_blocks(
                s,
                computed,
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
        dequeue(rules.order, heap, records.out_n, count)
        left -= tokens
    put_back_skipped(first_skipped, rules.order, heap, records.out_n, count)


@part
def put_back_skipped(i, order, heap, out_n, count):
    """Older releases, FCFS: prompts that were passed over return to the front, the last of them foremost."""
    while i >= 0:
        after = out_n[i, NEXT_WAITING]
        put_back(i, order, 0, heap, out_n, count)
        i = after


@part
def admit_batch(rules, inputs, members, records, heap, cache, count, real):
    """An empty server takes as many heads of the queue as slots and reservations allow, with their whole prompts."""
    while count[NUM_WAITING] > 0 and count[NUM_RUNNING] < rules.max_num_seqs:
        if not count[HEAD_KNOWN_GOOD]:
            look_at_head(rules, inputs, heap, records, cache, count)
        reserved = count[HEAD_WHOLE]
        if reserved > count[FREE]:
            return
        known = count[HEAD_KNOWN]
        admit_head(
            0,
            known,
            reserved,
            inputs.asked,
            members.live,
            members.slots,
            records.out_s,
            records.out_n,
            rules.block_size,
            count,
            real,
        )
        dequeue(rules.order, heap, records.out_n, count)


@part
def admit_head(computed, tokens, reserved, asked, live, slots, out_s, out_n, block_size, count, real):
    """The head of the queue becomes a member and gets `tokens` tokens of its prompt; its slot."""
    i = count[HEAD]
    straggler = asked[i, IS_STRAGGLER]
    s = join(i, straggler, live, slots, count)
    live[s, KNOWN] = count[HEAD_KNOWN]
    live[s, COMPUTED] = computed
    live[s, CHUNK] = tokens
    live[s, HELD_DONE] = 0
    live[s, RESERVED] = reserved
    live[s, CHAIN] = count[HEAD_CHAIN]
    live[s, KEYED_BLOCKS] = count[HEAD_HIT]
    count[FREE] -= reserved
    count[PLEDGED] += reserved
    if out_n[i, PREEMPTED] > 0:
        out_s[i, PAUSE_S] += real[START_S] - out_s[i, PAUSED_SINCE_S]
    else:
        out_s[i, FIRST_SCHEDULED_S] = real[START_S]
        out_n[i, CACHED] = computed
    fill(computed, tokens, straggler, reserved > 0, block_size, count)
    slots[count[NUM_FRESH], FRESH] = s
    count[NUM_FRESH] += 1
    return s


@part
def share_prefix(s, block_size, live, blocks, table, count):
    """Refer to the blocks that were found for the head."""
    typical = 1 - live[s, STRAGGLER]
    found = len(table) - 1
    for j in range(count[HEAD_HIT]):
        table[s, j] = table[found, j]
        share_block(table[found, j], typical, block_size, blocks, count)
    count[SUM_HIT_BLOCKS] += count[HEAD_HIT]
