"""What the request at the head of the queue would need, looked up once and kept until something changes it."""

from numba import njit

from sim.engine.inputs import Reserve
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.prefix_cache import NO_KEY, find, next_key
from sim.engine.state import (
    EMITTED,
    HEAD,
    HEAD_CHAIN,
    HEAD_HIT,
    HEAD_IDLE,
    HEAD_KNOWN_GOOD,
    HEAD_NEXT_KEY,
    HEAD_WATCH,
    NUM_RUNNING,
    NUM_WAITING,
    REFS,
    WATCH,
)
from sim.engine.waiting import head_of_queue


@njit(**JIT)
def look_at_head(rules, requests, state):
    """Make the HEAD entries hold for the queue's head."""
    count = state.count
    if count[HEAD_KNOWN_GOOD]:
        return
    i = head_of_queue(rules.order, state.heap_id, count)
    count[HEAD] = i
    count[HEAD_HIT] = 0
    count[HEAD_IDLE] = 0
    count[HEAD_CHAIN] = NO_KEY
    count[HEAD_KNOWN_GOOD] = 1
    if rules.prefix_caching:
        find_prefix(
            i,
            requests.prompt_len[i] + state.out_n[i, EMITTED],
            rules.block_size,
            requests.segment_start,
            requests.segment_content,
            requests.segment_len,
            state.blocks,
            state.key_heads,
            state.head_blocks,
            count,
        )


@njit(**JIT)
def find_prefix(i, known, block_size, segment_start, segment_content, segment_len, blocks, key_heads, head_blocks, count):
    """Longest run of findable blocks from the start; the last token is always computed again."""
    count[HEAD_WATCH] += 1
    count[HEAD_NEXT_KEY] = NO_KEY
    for j in range((known - 1) // block_size):
        key = next_key(count[HEAD_CHAIN], i, j, block_size, segment_start, segment_content, segment_len)
        b = find(key, blocks, key_heads)
        if b < 0:
            count[HEAD_NEXT_KEY] = key
            return
        head_blocks[j] = b
        count[HEAD_CHAIN] = key
        count[HEAD_HIT] += 1
        count[HEAD_IDLE] += blocks[b, REFS] == 0
        blocks[b, WATCH] = count[HEAD_WATCH]


@njit(**JIT)
def prefill_limit(rules, count):
    """Largest chunk of one request in a call; a request that is alone is not limited."""
    threshold = rules.long_prefill_token_threshold
    if threshold == 0 or count[NUM_RUNNING] + count[NUM_WAITING] <= 1:
        return rules.max_model_len
    return threshold


@njit(**JIT)
def reserved_blocks(i, rules, requests):
    """Blocks that admission sets aside for a whole request."""
    if rules.reserve == Reserve.MAX_MODEL_LEN:
        return blocks_for(rules.max_model_len, rules.block_size)
    return blocks_for(requests.prompt_len[i] + requests.cap[i], rules.block_size)


@njit(**JIT)
def head_needs(tokens, known, rules, count):
    """(blocks for the first chunk, blocks the admission test asks for), without idle hits and watermark."""
    hit = count[HEAD_HIT]
    physical = blocks_for(hit * rules.block_size + tokens, rules.block_size) - hit
    asked = physical
    if rules.reserve_full_isl:
        asked = max(physical, blocks_for(min(known, rules.max_model_len), rules.block_size) - hit)
    return physical, asked
