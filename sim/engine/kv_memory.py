"""KV blocks of running members: taking, filling and returning them, with or without a prefix cache.

Without a cache only counts matter. The counters that change here are the memory ledger's.
"""

from numba import njit

from sim.engine.jit import JIT
from sim.engine.prefix_cache import drop_block, next_key, register, take_free_block
from sim.engine.state import (
    BASE,
    CALL,
    CHAIN,
    FREE,
    KV_STRAGGLER,
    KV_TYPICAL,
    NUM_DECODING,
    PHASE_NEXT,
    PLEDGED,
    REQUEST,
    RESERVED,
    SEQ,
    STRAGGLER,
    STRAGGLER_BLOCKS,
    STRAGGLERS_DECODING,
    SUM_BLOCKS,
    UNFILLED,
)


@njit(**JIT)
def blocks_for(tokens, block_size):
    """Blocks that hold so many tokens."""
    return (tokens + block_size - 1) // block_size


@njit(**JIT)
def fill(s, computed, tokens, rules, requests, live, blocks, block_table, key_heads, count):
    """A member takes the blocks for `tokens` more tokens (they are known to be there) and fills them."""
    block_size = rules.block_size
    row = live[s]
    held = blocks_for(computed, block_size)
    new = blocks_for(computed + tokens, block_size) - held
    straggler = row[STRAGGLER]
    count[KV_STRAGGLER if straggler else KV_TYPICAL] += tokens
    count[UNFILLED] += new * block_size - tokens
    count[STRAGGLER_BLOCKS] += new * straggler
    count[SUM_BLOCKS] += new
    if row[RESERVED] > 0:
        count[PLEDGED] -= new
    else:
        count[FREE] -= new
    if rules.prefix_caching:
        for j in range(held, held + new):
            block_table[s, j] = take_free_block(1 - straggler, blocks, key_heads, count)
        register_full(s, computed, computed + tokens, rules, requests, live, blocks, block_table, key_heads, count)


@njit(**JIT)
def register_full(s, before, after, rules, requests, live, blocks, block_table, key_heads, count):
    """Blocks that become full between `before` and `after` tokens get their keys."""
    row = live[s]
    for j in range(before // rules.block_size, after // rules.block_size):
        row[CHAIN] = next_key(
            row[CHAIN],
            row[REQUEST],
            j,
            rules.block_size,
            requests.segment_start,
            requests.segment_content,
            requests.segment_len,
        )
        register(block_table[s, j], row[CHAIN], row[SEQ], blocks, key_heads, count)


@njit(**JIT)
def release(s, computed, block_size, prefix_caching, live, blocks, block_table, count):
    """A member gives all its blocks back, from its last to its first."""
    row = live[s]
    held = blocks_for(computed, block_size)
    straggler = row[STRAGGLER]
    if prefix_caching:
        tokens = computed - (held - 1) * block_size
        for j in range(held - 1, -1, -1):
            drop_block(block_table[s, j], 1 - straggler, tokens, block_size, blocks, count)
            tokens = block_size
    else:
        count[KV_STRAGGLER if straggler else KV_TYPICAL] -= computed
        count[UNFILLED] -= held * block_size - computed
        count[STRAGGLER_BLOCKS] -= held * straggler
        count[FREE] += max(held, row[RESERVED])
        count[PLEDGED] -= max(row[RESERVED] - held, 0)


@njit(**JIT)
def age(needed, straggler_blocks, block_size, is_reserving, count):
    """Every decoding member takes one token; `needed` of them take a block."""
    decoding = count[NUM_DECODING]
    stragglers = count[STRAGGLERS_DECODING]
    count[KV_STRAGGLER] += stragglers
    count[KV_TYPICAL] += decoding - stragglers
    count[UNFILLED] += needed * block_size - decoding
    count[STRAGGLER_BLOCKS] += straggler_blocks
    count[SUM_BLOCKS] += needed
    if is_reserving:
        count[PLEDGED] -= needed
    else:
        count[FREE] -= needed


@njit(**JIT)
def age_blocks(phase, rules, requests, live, phase_list, blocks, block_table, key_heads, count):
    """Prefix caching: hand out the blocks of this phase, and give keys to those that this call fills."""
    s = phase_list[phase, 0]
    while s >= 0:
        row = live[s]
        last = (row[BASE] + count[CALL] - 1) // rules.block_size
        block_table[s, last] = take_free_block(1 - row[STRAGGLER], blocks, key_heads, count)
        s = row[PHASE_NEXT]
    filling = phase + 1 if phase + 1 < rules.block_size else 0
    s = phase_list[filling, 0]
    while s >= 0:
        after = live[s, BASE] + count[CALL]
        register_full(s, after - 1, after, rules, requests, live, blocks, block_table, key_heads, count)
        s = live[s, PHASE_NEXT]
