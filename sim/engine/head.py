"""What the request at the head of the queue would need, looked up once and kept until something changes it."""

from sim.engine.inputs import Reserve
from sim.engine.kernel import part
from sim.engine.kv_memory import blocks_for
from sim.engine.prefix_cache import NO_KEY, find, next_key
from sim.engine.state import (
    CAP,
    EMITTED,
    END_SEGMENT,
    FIRST_SEGMENT,
    FREE,
    HEAD,
    HEAD_CHAIN,
    HEAD_FIRST,
    HEAD_HIT,
    HEAD_IDLE,
    HEAD_KNOWN,
    HEAD_KNOWN_GOOD,
    HEAD_NEXT_KEY,
    HEAD_WATCH,
    HEAD_WHOLE,
    NUM_RUNNING,
    NUM_WAITING,
    PROMPT_LEN,
    REFS,
    WATCH,
)
from sim.engine.waiting import head_of_queue


@part
def look_at_head(rules, inputs, heap, records, cache, count):
    """Make the HEAD entries hold for the queue's head."""
    i = head_of_queue(rules.order, heap, count)
    count[HEAD] = i
    count[HEAD_KNOWN] = inputs.asked[i, PROMPT_LEN] + records.out_n[i, EMITTED]
    count[HEAD_HIT] = 0
    count[HEAD_IDLE] = 0
    count[HEAD_CHAIN] = NO_KEY
    count[HEAD_KNOWN_GOOD] = 1
    if rules.prefix_caching:
        find_prefix(
            i, rules.block_size, inputs.asked, inputs.segments, cache.blocks, cache.table, cache.key_heads, count
        )
    work_out_needs(i, rules, inputs.asked, count)


@part
def work_out_needs(i, rules, asked, count):
    """Blocks for the head's next iteration, and those its admission test wants in any case."""
    known = count[HEAD_KNOWN]
    hit = count[HEAD_HIT]
    if rules.reserve != Reserve.CHUNK:
        count[HEAD_FIRST] = blocks_for(known, rules.block_size)
        count[HEAD_WHOLE] = reserved_blocks(i, rules, asked)
        return
    reached = known
    if rules.chunked_prefill:
        reached = min(reached, hit * rules.block_size + rules.max_num_batched_tokens)
    if rules.long_prefill_token_threshold > 0:
        reached = min(reached, hit * rules.block_size + rules.long_prefill_token_threshold)
    count[HEAD_FIRST] = blocks_for(reached, rules.block_size) - hit
    count[HEAD_WHOLE] = blocks_for(min(known, rules.max_model_len), rules.block_size) - hit
    if not rules.reserve_full_isl:
        count[HEAD_WHOLE] = 0


@part
def may_be_admitted(count):
    """Whether it is worth trying: false when the head is known to want more than is free."""
    return not count[HEAD_KNOWN_GOOD] or count[HEAD_WHOLE] <= count[FREE] - count[HEAD_IDLE]


@part
def find_prefix(i, block_size, asked, segments, blocks, table, key_heads, count):
    """Longest run of findable blocks from the start; the last token is always computed again."""
    count[HEAD_WATCH] += 1
    count[HEAD_NEXT_KEY] = NO_KEY
    found = len(table) - 1
    for j in range((count[HEAD_KNOWN] - 1) // block_size):
        key = next_key(count[HEAD_CHAIN], i, j, block_size, asked[i, FIRST_SEGMENT], asked[i, END_SEGMENT], segments)
        b = find(key, blocks, key_heads)
        if b < 0:
            count[HEAD_NEXT_KEY] = key
            return
        table[found, j] = b
        count[HEAD_CHAIN] = key
        count[HEAD_HIT] += 1
        count[HEAD_IDLE] += blocks[b, REFS] == 0
        blocks[b, WATCH] = count[HEAD_WATCH]


@part
def prefill_limit(rules, count):
    """Largest chunk of one request in a call; a request that is alone is not limited."""
    is_alone = count[NUM_RUNNING] + count[NUM_WAITING] <= 1 and not rules.limit_lone
    if is_alone or rules.long_prefill_token_threshold == 0:
        return rules.max_model_len
    return rules.long_prefill_token_threshold


@part
def reserved_blocks(i, rules, asked):
    """Blocks that admission sets aside for a whole request."""
    if rules.reserve == Reserve.MAX_MODEL_LEN:
        return blocks_for(rules.max_model_len, rules.block_size)
    return blocks_for(asked[i, PROMPT_LEN] + asked[i, CAP], rules.block_size)
