"""KV blocks of running members: taking, filling and returning them, with or without a prefix cache.

Without a cache only counts matter. The counters that change here are the memory ledger's.
"""

from sim.engine.kernel import part
from sim.engine.prefix_cache import drop_block, next_key, register, take_free_block
from sim.engine.state import (
    APPLIED_CALL,
    BASE,
    CALL,
    CHAIN,
    END_SEGMENT,
    FIRST,
    FIRST_SEGMENT,
    FREE,
    KEYED_BLOCKS,
    KV_STRAGGLER,
    KV_TYPICAL,
    NUM_DECODING,
    PHASE_NEXT,
    PLEDGED,
    REQUEST,
    SEQ,
    STRAGGLER,
    STRAGGLER_BLOCKS,
    STRAGGLERS_DECODING,
    SUM_BLOCKS,
    UNFILLED,
)


@part
def blocks_for(tokens, block_size):
    """Blocks that hold so many tokens."""
    return (tokens + block_size - 1) // block_size


@part
def fill(computed, tokens, straggler, is_reserved, block_size, count):
    """A member takes the blocks for `tokens` more tokens (they are known to be there) and fills them."""
    new = blocks_for(computed + tokens, block_size) - blocks_for(computed, block_size)
    take(tokens, new, straggler, is_reserved, block_size, count)


@part
def take(tokens, new, straggler, is_reserved, block_size, count):
    """Count `tokens` more tokens of a member and the `new` blocks that they need."""
    count[KV_STRAGGLER if straggler else KV_TYPICAL] += tokens
    count[UNFILLED] += new * block_size - tokens
    count[STRAGGLER_BLOCKS] += new * straggler
    count[SUM_BLOCKS] += new
    count[PLEDGED if is_reserved else FREE] -= new


@part
def fill_blocks(s, computed, tokens, known, block_size, asked, segments, live, blocks, table, key_heads, count):
    """Prefix caching: which blocks `fill` took, and keys for those full of known tokens."""
    typical = 1 - live[s, STRAGGLER]
    for j in range(blocks_for(computed, block_size), blocks_for(computed + tokens, block_size)):
        table[s, j] = take_free_block(typical, blocks, key_heads, count)
    full_of = min(computed + tokens, known)
    register_full(s, full_of, block_size, asked, segments, live, blocks, table, key_heads, count)


@part
def register_full(s, tokens, block_size, asked, segments, live, blocks, table, key_heads, count):
    """Blocks that `tokens` tokens fill get their keys, if they have none."""
    i = live[s, REQUEST]
    key = live[s, CHAIN]
    for j in range(live[s, KEYED_BLOCKS], tokens // block_size):
        key = next_key(key, i, j, block_size, asked[i, FIRST_SEGMENT], asked[i, END_SEGMENT], segments)
        register(table[s, j], key, live[s, SEQ], blocks, key_heads, count)
        live[s, KEYED_BLOCKS] = j + 1
    live[s, CHAIN] = key


@part
def release(computed, straggler, reserved, block_size, count):
    """A member gives all its blocks back."""
    held = blocks_for(computed, block_size)
    count[KV_STRAGGLER if straggler else KV_TYPICAL] -= computed
    count[UNFILLED] -= held * block_size - computed
    count[STRAGGLER_BLOCKS] -= held * straggler
    count[FREE] += max(held, reserved)
    count[PLEDGED] -= max(reserved - held, 0)


@part
def release_blocks(s, computed, straggler, block_size, to_back, blocks, table, count):
    """Prefix caching: as `release`, from the last block to the first."""
    held = blocks_for(computed, block_size)
    tokens = computed - (held - 1) * block_size
    for j in range(held - 1, -1, -1):
        drop_block(table[s, j], 1 - straggler, tokens, block_size, to_back, blocks, count)
        tokens = block_size


@part
def age(needed, straggler_blocks, block_size, is_reserved, count):
    """Every decoding member takes one token; `needed` of them take a block."""
    decoding = count[NUM_DECODING]
    stragglers = count[STRAGGLERS_DECODING]
    count[KV_STRAGGLER] += stragglers
    count[KV_TYPICAL] += decoding - stragglers
    count[UNFILLED] += needed * block_size - decoding
    count[STRAGGLER_BLOCKS] += straggler_blocks
    count[SUM_BLOCKS] += needed
    count[PLEDGED if is_reserved else FREE] -= needed


@part
def age_blocks(phase, block_size, asked, segments, live, phases, blocks, table, key_heads, count):
    """Prefix caching: which blocks `age` took, and keys for those full of known tokens.

    A member that decodes knows the token it computes, unless that token comes from a step still in flight.
    """
    last = count[CALL] - 1
    s = phases[phase, FIRST]
    while s >= 0:
        table[s, (live[s, BASE] + last) // block_size] = take_free_block(
            1 - live[s, STRAGGLER], blocks, key_heads, count
        )
        s = live[s, PHASE_NEXT]
    known = count[APPLIED_CALL] + 1
    if known > last:
        phase = phase + 1 if phase + 1 < block_size else 0
    s = phases[phase, FIRST]
    while s >= 0:
        register_full(s, live[s, BASE] + known, block_size, asked, segments, live, blocks, table, key_heads, count)
        s = live[s, PHASE_NEXT]
