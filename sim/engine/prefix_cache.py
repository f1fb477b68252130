"""Blocks with content: keys, references, and the ring of free blocks of vLLM's prefix cache.

A full block has a key, the chain of all content up to its end. A key's blocks hang in one hash chain in the order in
which they were registered, so the first match is the oldest still registered. Source: golden README, section C.
"""

from numba import njit

from sim.engine.jit import JIT
from sim.engine.state import (
    CACHED_IDLE,
    CALL,
    FREE,
    FREE_NEXT,
    FREE_PREV,
    HEAD_KNOWN_GOOD,
    HEAD_NEXT_KEY,
    HEAD_WATCH,
    KEY,
    KEY_NEXT,
    KEY_PREV,
    KEYED,
    KV_STRAGGLER,
    KV_TYPICAL,
    OWNER_SEQ,
    REFS,
    STAMP,
    STRAGGLER_BLOCKS,
    TYPICAL_REFS,
    UNFILLED,
    WATCH,
)

NO_KEY = 0  # key before the first block


@njit(**JIT)
def mix(key, value):
    """Next value of a 64-bit hash chain (wraps around)."""
    x = (key ^ (value * -7046029254386353131)) * -4658895280553007687
    x ^= x >> 29
    x *= -7723592293110705685
    x ^= x >> 32
    return x


@njit(**JIT)
def next_key(key, i, block, block_size, segment_start, segment_content, segment_len):
    """Key of block number `block` of request `i`, from the key of the block before.

    Folds the runs of equal content in the block, so equal token sequences give equal keys however they are cut
    into segments. Text past the segments and all output is the request's own.
    """
    at = block * block_size
    end = at + block_size
    run_content = -1
    run_len = 0
    begin = 0
    for segment in range(segment_start[i], segment_start[i + 1]):
        stop = begin + segment_len[segment]
        if stop > at:
            taken = min(stop, end) - at
            if segment_content[segment] != run_content:
                if run_len > 0:
                    key = mix(mix(key, run_content), run_len)
                run_content = segment_content[segment]
                run_len = 0
            run_len += taken
            at += taken
            if at == end:
                break
        begin = stop
    if at < end:
        if run_content != i:
            if run_len > 0:
                key = mix(mix(key, run_content), run_len)
            run_content = i
            run_len = 0
        run_len += end - at
    return mix(mix(key, run_content), run_len)


@njit(**JIT)
def find(key, blocks, key_heads):
    """Oldest registered block with this key, or -1."""
    b = key_heads[key & (len(key_heads) - 1), 0]
    while b >= 0 and blocks[b, KEY] != key:
        b = blocks[b, KEY_NEXT]
    return b


@njit(**JIT)
def register(b, key, owner_seq, blocks, key_heads, count):
    """A full block becomes findable, behind the older blocks of its hash chain.

    Within a call the running order counts, in whatever order the members were visited.
    """
    row = blocks[b]
    row[KEYED] = 1
    row[KEY] = key
    row[STAMP] = count[CALL]
    row[OWNER_SEQ] = owner_seq
    chain = key & (len(key_heads) - 1)
    before = key_heads[chain, 1]
    while before >= 0 and blocks[before, STAMP] == count[CALL] and blocks[before, OWNER_SEQ] > owner_seq:
        before = blocks[before, KEY_PREV]
    after = key_heads[chain, 0] if before < 0 else blocks[before, KEY_NEXT]
    row[KEY_PREV] = before
    row[KEY_NEXT] = after
    if before >= 0:
        blocks[before, KEY_NEXT] = b
    else:
        key_heads[chain, 0] = b
    if after >= 0:
        blocks[after, KEY_PREV] = b
    else:
        key_heads[chain, 1] = b
    if key == count[HEAD_NEXT_KEY]:
        count[HEAD_KNOWN_GOOD] = 0


@njit(**JIT)
def unregister(b, blocks, key_heads, count):
    """The block's content is about to be overwritten."""
    row = blocks[b]
    chain = row[KEY] & (len(key_heads) - 1)
    before = row[KEY_PREV]
    after = row[KEY_NEXT]
    if before >= 0:
        blocks[before, KEY_NEXT] = after
    else:
        key_heads[chain, 0] = after
    if after >= 0:
        blocks[after, KEY_PREV] = before
    else:
        key_heads[chain, 1] = before
    row[KEYED] = 0
    forget_head_if_watched(row[WATCH], count)


@njit(**JIT)
def forget_head_if_watched(watch, count):
    """What was found for the queue's head must be looked up again when one of its blocks changes."""
    if watch == count[HEAD_WATCH]:
        count[HEAD_KNOWN_GOOD] = 0


@njit(**JIT)
def take_free_block(typical, blocks, key_heads, count):
    """The block at the front of the free ring, for one request; it loses its key."""
    b = blocks[0, FREE_NEXT]
    row = blocks[b]
    blocks[0, FREE_NEXT] = row[FREE_NEXT]
    blocks[row[FREE_NEXT], FREE_PREV] = 0
    if row[KEYED]:
        unregister(b, blocks, key_heads, count)
        count[CACHED_IDLE] -= 1
    row[REFS] = 1
    row[TYPICAL_REFS] = typical
    return b


@njit(**JIT)
def share_block(b, typical, block_size, blocks, count):
    """One more request refers to a full block found by its key."""
    row = blocks[b]
    if row[REFS] == 0:
        blocks[row[FREE_PREV], FREE_NEXT] = row[FREE_NEXT]
        blocks[row[FREE_NEXT], FREE_PREV] = row[FREE_PREV]
        count[FREE] -= 1
        count[CACHED_IDLE] -= 1
        if typical:
            count[KV_TYPICAL] += block_size
        else:
            count[KV_STRAGGLER] += block_size
            count[STRAGGLER_BLOCKS] += 1
    elif typical and row[TYPICAL_REFS] == 0:
        count[KV_STRAGGLER] -= block_size
        count[KV_TYPICAL] += block_size
        count[STRAGGLER_BLOCKS] -= 1
    row[REFS] += 1
    row[TYPICAL_REFS] += typical
    forget_head_if_watched(row[WATCH], count)


@njit(**JIT)
def drop_block(b, typical, tokens, block_size, blocks, count):
    """One request less refers to a block that holds `tokens` tokens."""
    row = blocks[b]
    was_typical = row[TYPICAL_REFS] > 0
    row[REFS] -= 1
    row[TYPICAL_REFS] -= typical
    if row[REFS] == 0:
        if was_typical:
            count[KV_TYPICAL] -= tokens
        else:
            count[KV_STRAGGLER] -= tokens
            count[STRAGGLER_BLOCKS] -= 1
        count[UNFILLED] -= block_size - tokens
        free_block(b, blocks, count)
    elif was_typical and row[TYPICAL_REFS] == 0:
        count[KV_TYPICAL] -= tokens
        count[KV_STRAGGLER] += tokens
        count[STRAGGLER_BLOCKS] += 1
    forget_head_if_watched(row[WATCH], count)


@njit(**JIT)
def free_block(b, blocks, count):
    """Into the free ring: with a key to the back, without one to the front."""
    row = blocks[b]
    if row[KEYED]:
        before = blocks[0, FREE_PREV]
        after = 0
        count[CACHED_IDLE] += 1
    else:
        before = 0
        after = blocks[0, FREE_NEXT]
    row[FREE_PREV] = before
    row[FREE_NEXT] = after
    blocks[before, FREE_NEXT] = b
    blocks[after, FREE_PREV] = b
    count[FREE] += 1
