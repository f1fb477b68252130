"""Blocks with content: keys, references, and the ring of free blocks of vLLM's prefix cache.

A full block has a key, the chain of all content up to its end. A key's blocks hang in one hash chain, the
newest first, so the last match is the oldest still registered. Source: golden README, section C.
"""

import numpy as np

from sim.engine.kernel import part
from sim.engine.state import (
    CACHED_IDLE,
    CONTENT,
    EPOCH,
    FREE,
    FREE_NEXT,
    FREE_PREV,
    HEAD_KNOWN_GOOD,
    HEAD_NEXT_KEY,
    HEAD_WATCH,
    KEY_HIGH,
    KEY_LOW,
    KEY_NEXT,
    KV_STRAGGLER,
    KV_TYPICAL,
    LENGTH,
    OWNER_SEQ,
    REFS,
    STAMP,
    STRAGGLER_BLOCKS,
    TYPICAL_REFS,
    UNFILLED,
    WATCH,
)

NO_KEY = 0  # key before the first block
LOW_BITS = (1 << 31) - 1


@part
def mix(key, content, length):
    """Next key of a chain after `length` tokens of `content`.

    Two polynomial hashes side by side, modulo primes below 2 ** 31 so that nothing overflows.
    """
    run = content * 512 + length
    low = ((key & LOW_BITS) * 1_103_515_245 + run) % 2_147_483_647
    high = ((key >> 31) * 1_664_525_007 + run) % 2_147_483_629
    return (high << 31) | low


@part
def next_key(key, i, block, block_size, first_segment, end_segment, segments):
    """Key of block number `block` of request `i`, from the key of the block before.

    Folds the runs of equal content in the block, so equal token sequences give equal keys however they are cut
    into segments. Text past the segments and all output is the request's own.
    """
    at = block * block_size
    end = at + block_size
    run_content = -1
    run_len = 0
    begin = 0
    for segment in range(first_segment, end_segment):
        stop = begin + segments[segment, LENGTH]
        if stop > at:
            taken = min(stop, end) - at
            if segments[segment, CONTENT] != run_content:
                if run_len > 0:
                    key = mix(key, run_content, run_len)
                run_content = segments[segment, CONTENT]
                run_len = 0
            run_len += taken
            at += taken
            if at == end:
                break
        begin = stop
    if at < end:
        if run_content != i:
            if run_len > 0:
                key = mix(key, run_content, run_len)
            run_content = i
            run_len = 0
        run_len += end - at
    return mix(key, run_content, run_len)


@part
def find(key, blocks, key_heads):
    """Oldest registered block with this key, or -1."""
    low = np.int32(key & LOW_BITS)
    high = np.int32(key >> 31)
    found = -1
    b = key_heads[key & (len(key_heads) - 1)]
    while b >= 0:
        if blocks[b, KEY_LOW] == low and blocks[b, KEY_HIGH] == high:
            found = b
        b = blocks[b, KEY_NEXT]
    return found


@part
def register(b, key, owner_seq, blocks, key_heads, count):
    """A full block becomes findable, as the newest of its hash chain.

    Within a call, and within an application of outputs, the running order counts, however members were visited.
    """
    blocks[b, KEY_LOW] = key & LOW_BITS
    blocks[b, KEY_HIGH] = key >> 31
    blocks[b, STAMP] = count[EPOCH]
    blocks[b, OWNER_SEQ] = owner_seq
    chain = key & (len(key_heads) - 1)
    newer = -1
    older = key_heads[chain]
    while older >= 0 and blocks[older, STAMP] == count[EPOCH] and blocks[older, OWNER_SEQ] > owner_seq:
        newer = older
        older = blocks[older, KEY_NEXT]
    blocks[b, KEY_NEXT] = older
    if newer >= 0:
        blocks[newer, KEY_NEXT] = b
    else:
        key_heads[chain] = b
    if key == count[HEAD_NEXT_KEY]:
        count[HEAD_KNOWN_GOOD] = 0


@part
def unregister(b, blocks, key_heads, count):
    """The block's content is about to be overwritten."""
    chain = blocks[b, KEY_LOW] & (len(key_heads) - 1)
    older = blocks[b, KEY_NEXT]
    if key_heads[chain] == b:
        key_heads[chain] = older
    else:
        newer = key_heads[chain]
        while blocks[newer, KEY_NEXT] != b:
            newer = blocks[newer, KEY_NEXT]
        blocks[newer, KEY_NEXT] = older
    blocks[b, KEY_HIGH] = -1
    forget_head_if_watched(blocks[b, WATCH], count)


@part
def forget_head_if_watched(watch, count):
    """What was found for the queue's head must be looked up again when one of its blocks changes."""
    if watch == count[HEAD_WATCH]:
        count[HEAD_KNOWN_GOOD] = 0


@part
def take_free_block(typical, blocks, key_heads, count):
    """The block at the front of the free ring, for one request; it loses its key."""
    b = blocks[0, FREE_NEXT]
    blocks[0, FREE_NEXT] = blocks[b, FREE_NEXT]
    blocks[blocks[b, FREE_NEXT], FREE_PREV] = 0
    if blocks[b, KEY_HIGH] >= 0:
        unregister(b, blocks, key_heads, count)
        count[CACHED_IDLE] -= 1
    blocks[b, REFS] = 1
    blocks[b, TYPICAL_REFS] = typical
    return b


@part
def share_block(b, typical, block_size, blocks, count):
    """One more request refers to a full block found by its key."""
    if blocks[b, REFS] == 0:
        blocks[blocks[b, FREE_PREV], FREE_NEXT] = blocks[b, FREE_NEXT]
        blocks[blocks[b, FREE_NEXT], FREE_PREV] = blocks[b, FREE_PREV]
        count[FREE] -= 1
        count[CACHED_IDLE] -= 1
        forget_head_if_watched(blocks[b, WATCH], count)
        if typical:
            count[KV_TYPICAL] += block_size
        else:
            count[KV_STRAGGLER] += block_size
            count[STRAGGLER_BLOCKS] += 1
    elif typical and blocks[b, TYPICAL_REFS] == 0:
        count[KV_STRAGGLER] -= block_size
        count[KV_TYPICAL] += block_size
        count[STRAGGLER_BLOCKS] -= 1
    blocks[b, REFS] += 1
    blocks[b, TYPICAL_REFS] += typical


@part
def drop_block(b, typical, tokens, block_size, to_back, blocks, count):
    """One request less refers to a block that holds `tokens` tokens."""
    was_typical = blocks[b, TYPICAL_REFS] > 0
    blocks[b, REFS] -= 1
    blocks[b, TYPICAL_REFS] -= typical
    if blocks[b, REFS] == 0:
        if was_typical:
            count[KV_TYPICAL] -= tokens
        else:
            count[KV_STRAGGLER] -= tokens
            count[STRAGGLER_BLOCKS] -= 1
        count[UNFILLED] -= block_size - tokens
        forget_head_if_watched(blocks[b, WATCH], count)
        free_block(b, to_back, blocks, count)
    elif was_typical and blocks[b, TYPICAL_REFS] == 0:
        count[KV_TYPICAL] -= tokens
        count[KV_STRAGGLER] += tokens
        count[STRAGGLER_BLOCKS] += 1


@part
def free_block(b, to_back, blocks, count):
    """Into the free ring: with a key to the back, without one to the front or, in older releases, to the back."""
    count[CACHED_IDLE] += blocks[b, KEY_HIGH] >= 0
    if to_back or blocks[b, KEY_HIGH] >= 0:
        before = blocks[0, FREE_PREV]
        after = 0
    else:
        before = 0
        after = blocks[0, FREE_NEXT]
    blocks[b, FREE_PREV] = before
    blocks[b, FREE_NEXT] = after
    blocks[before, FREE_NEXT] = b
    blocks[after, FREE_PREV] = b
    count[FREE] += 1
