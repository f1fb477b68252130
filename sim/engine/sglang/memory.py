"""KV memory: pages of requests' own tails beside the tree, and what passes between the two.

Pages are handed out whole. Source: README of the SGLang goldens, findings 14 and 16 to 20.
"""

import numpy as np

from sim.engine.kernel import kernel
from sim.engine.sglang.evict import evict_for
from sim.engine.sglang.state import (
    BATCH_SIZE,
    COMMITTED,
    EMITTED,
    EXTEND_END,
    FILLED,
    FLYING,
    IS_BROKEN,
    LOCK,
    NOTHING,
    POOL_FREE,
    PREFIX,
    PROMPT,
    PROTECTED,
    READS,
    ROOT,
    RUNNING,
    SINCE_S,
    TYPICAL,
    UNFILLED_STRAGGLER,
)
from sim.engine.sglang.tree import insert, lock, unlock
from sim.engine.state import (
    CLOCK,
    DECODING_KV,
    KV_STRAGGLER,
    KV_TYPICAL,
    MEMORY_TOKEN_S,
    NUM_DECODING,
    SUM_BLOCKS,
    UNFILLED,
)


@kernel
def pages(tokens, page_size):
    """The tokens of all pages that so many tokens begin."""
    return (tokens + page_size - 1) // page_size * page_size


@kernel
def take(tokens, page_size, count):
    """Hand out pages; SGLang ends where there are none left."""
    if tokens > count[POOL_FREE]:
        count[IS_BROKEN] = 1
    count[POOL_FREE] -= tokens
    count[SUM_BLOCKS] += tokens // page_size


@kernel
def settle_memory(i, req, out_s, real):
    """Record what the request has held since the last change."""
    out_s[i, MEMORY_TOKEN_S] += req[i, COMMITTED] * (real[CLOCK] - out_s[i, SINCE_S])
    out_s[i, SINCE_S] = real[CLOCK]


@kernel
def hold(i, committed, protected, page_size, req, count):
    """The request holds so many tokens of KV, the first `protected` of them in the tree."""
    before = np.int64(req[i, COMMITTED])
    tail = committed - protected - before + req[i, PROTECTED]
    unfilled = pages(committed, page_size) - committed - pages(before, page_size) + before
    count[UNFILLED] += unfilled
    if req[i, TYPICAL]:
        count[KV_TYPICAL] += tail
    else:
        count[KV_STRAGGLER] += tail
        count[UNFILLED_STRAGGLER] += unfilled
    req[i, COMMITTED] = committed
    req[i, PROTECTED] = protected


@kernel
def extend(parity, size, page_size, lists, req, out_s, tree, count, real):
    """Allocate a prefill batch; larger pages overestimate what has to be evicted."""
    news = 0
    for k in range(size):
        i = lists[FLYING + parity, k]
        news += req[i, EXTEND_END] - req[i, PREFIX]
    overestimate = 0 if page_size == 1 else size * page_size
    evict_for(news + overestimate, tree.nodes, tree.heads, tree.heap, count)
    for k in range(size):
        i = lists[FLYING + parity, k]
        take(
            pages(np.int64(req[i, EXTEND_END]), page_size) - pages(np.int64(req[i, PREFIX]), page_size),
            page_size,
            count,
        )
        settle_memory(i, req, out_s, real)
        hold(i, np.int64(req[i, EXTEND_END]), np.int64(req[i, PROTECTED]), page_size, req, count)


@kernel
def decode_fits(size, page_size, lists, req, tree, count):
    """Whether each of the first members of the running batch can get one more token; evicts what that takes."""
    new_pages = size
    if page_size > 1:
        new_pages = 0
        for k in range(size):
            new_pages += req[lists[RUNNING, k], COMMITTED] % page_size == 0
    return evict_for(new_pages * page_size, tree.nodes, tree.heads, tree.heap, count)


@kernel
def decode(parity, size, page_size, lists, req, out_s, tree, count, real):
    """Allocate one token for each member of the running batch, all of whom join the step being built."""
    evict_for(size * page_size, tree.nodes, tree.heads, tree.heap, count)
    now = real[CLOCK]
    offset = count[BATCH_SIZE]
    typical = 0
    reads = 0
    new_pages = 0
    new_pages_straggler = 0
    for k in range(size):
        i = lists[RUNNING, k]
        committed = req[i, COMMITTED]
        out_s[i, MEMORY_TOKEN_S] += committed * (now - out_s[i, SINCE_S])
        out_s[i, SINCE_S] = now
        typical += req[i, TYPICAL]
        if page_size == 1 or committed % page_size == 0:
            new_pages += 1
            new_pages_straggler += 1 - req[i, TYPICAL]
        committed += 1
        req[i, COMMITTED] = committed
        reads += committed
        lists[FLYING + parity, offset + k] = i
        lists[READS + parity, offset + k] = committed
    take(new_pages * page_size, page_size, count)
    count[NUM_DECODING] = size
    count[DECODING_KV] = reads
    count[KV_TYPICAL] += typical
    count[KV_STRAGGLER] += size - typical
    count[UNFILLED] += new_pages * page_size - size
    count[UNFILLED_STRAGGLER] += new_pages_straggler * page_size - (size - typical)


@kernel
def cache(i, tokens, radix_cache, req, texts, tree, count):
    """Give the tree a request's first tokens; the lock moves to their end. KV the tree had already is freed."""
    tokens = np.int64(min(tokens, req[i, FILLED]))
    if not radix_cache or tokens == 0:
        return
    matched, last = insert(i, tokens, texts, tree, count)
    prompt = np.int64(min(req[i, PROMPT], tokens))
    protected = tokens - tokens % texts.page_size
    if prompt - prompt % texts.page_size < protected:
        insert(i, prompt, texts, tree, count)  # so that the answer can be evicted without the prompt
    count[POOL_FREE] += matched - req[i, PROTECTED]
    hold(i, np.int64(req[i, COMMITTED]), protected, texts.page_size, req, count)
    move_lock(i, last, req, tree, count)


@kernel
def move_lock(i, node, req, tree, count):
    """Lock the path to a node instead of the request's path so far."""
    typical = req[i, TYPICAL]
    lock(node, typical, tree.nodes, count)
    unlock(np.int64(req[i, LOCK]), typical, tree.nodes, tree.heap, count)
    req[i, LOCK] = node


@kernel
def finish(i, radix_cache, req, out_s, texts, tree, count, real):
    """The request has its last token: its text is cached as far as its KV goes, and its memory comes free."""
    req[i, FILLED] = req[i, PROMPT] + req[i, EMITTED]
    cache(i, np.int64(req[i, COMMITTED]), radix_cache, req, texts, tree, count)
    release(i, texts.page_size, req, out_s, tree, count, real)


@kernel
def release(i, page_size, req, out_s, tree, count, real):
    """Take back all KV of a request that finished or was retracted; what the tree has stays there."""
    settle_memory(i, req, out_s, real)
    count[POOL_FREE] += pages(np.int64(req[i, COMMITTED]), page_size) - req[i, PROTECTED]
    hold(i, NOTHING, NOTHING, page_size, req, count)
    move_lock(i, ROOT, req, tree, count)
    req[i, PREFIX] = 0
    req[i, EXTEND_END] = 0
