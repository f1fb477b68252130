"""What the request at the head of the queue would need, looked up once and kept until something changes it."""

from numba import njit

from sim.engine.inputs import Reserve
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.prefix_cache import NO_KEY, find, next_key
from sim.engine.state import (
    CAP,
    EMITTED,
    END_SEGMENT,
    FIRST_SEGMENT,
    HEAD,
    HEAD_CHAIN,
    HEAD_HIT,
    HEAD_IDLE,
    HEAD_KNOWN,
    HEAD_KNOWN_GOOD,
    HEAD_NEXT_KEY,
    HEAD_WATCH,
    NUM_RUNNING,
    NUM_WAITING,
    PROMPT_LEN,
    REFS,
    WATCH,
)
from sim.engine.waiting import head_of_queue


@njit(**JIT)
def look_at_head(rules, asked, segments, heap, out_n, blocks, table, key_heads, count):
    """Make the HEAD entries hold for the queue's head."""
    i = head_of_queue(rules.order, heap, count)
    count[HEAD] = i
    count[HEAD_KNOWN] = asked[i, PROMPT_LEN] + out_n[i, EMITTED]
    count[HEAD_HIT] = 0
    count[HEAD_IDLE] = 0
    count[HEAD_CHAIN] = NO_KEY
    count[HEAD_KNOWN_GOOD] = 1
    if rules.prefix_caching:
        find_prefix(i, rules.block_size, asked, segments, blocks, table, key_heads, count)


@njit(**JIT)
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


@njit(**JIT)
def prefill_limit(threshold, max_model_len, count):
    """Largest chunk of one request in a call; a request that is alone is not limited."""
    if threshold == 0 or count[NUM_RUNNING] + count[NUM_WAITING] <= 1:
        return max_model_len
    return threshold


@njit(**JIT)
def reserved_blocks(i, rules, asked):
    """Blocks that admission sets aside for a whole request."""
    if rules.reserve == Reserve.MAX_MODEL_LEN:
        return blocks_for(rules.max_model_len, rules.block_size)
    return blocks_for(asked[i, PROMPT_LEN] + asked[i, CAP], rules.block_size)


@njit(**JIT)
def head_needs(tokens, rules, count):
    """(blocks for the first chunk, blocks the admission test asks for), without idle hits and watermark."""
    hit = count[HEAD_HIT]
    physical = blocks_for(hit * rules.block_size + tokens, rules.block_size) - hit
    if not rules.reserve_full_isl:
        return physical, physical
    whole = blocks_for(min(count[HEAD_KNOWN], rules.max_model_len), rules.block_size) - hit
    return physical, max(physical, whole)
