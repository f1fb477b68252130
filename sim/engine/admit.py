"""Second half of a call: waiting requests join. Head of line blocks: nobody overtakes.

Source: golden README, section 3 A (vLLM V1); schedulers.md 3.1 (static batching).
"""

from numba import njit

from sim.engine.head import head_needs, look_at_head, reserved_blocks
from sim.engine.jit import JIT
from sim.engine.kv_memory import fill
from sim.engine.members import join
from sim.engine.prefix_cache import share_block
from sim.engine.state import (
    CACHED,
    CHAIN,
    CHUNK,
    CLOCK,
    COMPUTED,
    EMITTED,
    FIRST_SCHEDULED_S,
    FREE,
    HEAD,
    HEAD_CHAIN,
    HEAD_HIT,
    HEAD_IDLE,
    HELD_DONE,
    KNOWN,
    NUM_FRESH,
    NUM_RUNNING,
    NUM_WAITING,
    PAUSE_S,
    PAUSED_SINCE_S,
    PLEDGED,
    PREEMPTED,
    RESERVED,
    STRAGGLER,
    SUM_HIT_BLOCKS,
)
from sim.engine.waiting import dequeue


@njit(**JIT)
def admit_at_iteration(left, limit, rules, requests, state):
    """Admit heads of the queue while budget, slots and blocks allow."""
    count = state.count
    while left > 0 and count[NUM_WAITING] > 0 and count[NUM_RUNNING] < rules.max_num_seqs:
        look_at_head(rules, requests, state)
        i = count[HEAD]
        known = requests.prompt_len[i] + state.out_n[i, EMITTED]
        computed = count[HEAD_HIT] * rules.block_size
        tokens = min(known - computed, limit)
        if tokens > left:
            if not rules.chunked_prefill:
                return
            tokens = left
        _, asked = head_needs(tokens, known, rules, count)
        keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
        if asked > count[FREE] - count[HEAD_IDLE] - keep:
            return
        admit_head(known, computed, tokens, 0, rules, requests, state)
        left -= tokens


@njit(**JIT)
def admit_batch(rules, requests, state):
    """An empty server takes as many heads of the queue as slots and reservations allow, with their whole prompts."""
    count = state.count
    while count[NUM_WAITING] > 0 and count[NUM_RUNNING] < rules.max_num_seqs:
        look_at_head(rules, requests, state)
        i = count[HEAD]
        reserved = reserved_blocks(i, rules, requests)
        if reserved > count[FREE]:
            return
        admit_head(requests.prompt_len[i], 0, requests.prompt_len[i], reserved, rules, requests, state)


@njit(**JIT)
def admit_head(known, computed, tokens, reserved, rules, requests, state):
    """The head of the queue becomes a member and gets `tokens` tokens of its prompt."""
    count = state.count
    live = state.live
    i = count[HEAD]
    s = join(i, requests.is_straggler[i], live, state.free_slots, count)
    row = live[s]
    row[KNOWN] = known
    row[COMPUTED] = computed
    row[CHUNK] = tokens
    row[HELD_DONE] = 0
    row[RESERVED] = reserved
    row[CHAIN] = count[HEAD_CHAIN]
    if reserved > 0:
        count[FREE] -= reserved
        count[PLEDGED] += reserved
    if rules.prefix_caching:
        share_prefix(s, rules.block_size, live, state.blocks, state.block_table, state.head_blocks, count)
    note_admission(i, rules.block_size, state.out_s, state.out_n, count, state.real)
    dequeue(rules.order, state.heap_key, state.heap_id, state.out_n, count)
    fill(
        s,
        computed,
        tokens,
        rules,
        requests,
        live,
        state.blocks,
        state.block_table,
        state.key_heads,
        count,
    )
    state.fresh[count[NUM_FRESH]] = s
    count[NUM_FRESH] += 1


@njit(**JIT)
def share_prefix(s, block_size, live, blocks, block_table, head_blocks, count):
    """Refer to the blocks that were found for the head."""
    typical = 1 - live[s, STRAGGLER]
    for j in range(count[HEAD_HIT]):
        block_table[s, j] = head_blocks[j]
        share_block(head_blocks[j], typical, block_size, blocks, count)
    count[SUM_HIT_BLOCKS] += count[HEAD_HIT]


@njit(**JIT)
def note_admission(i, block_size, out_s, out_n, count, real):
    """First admission or end of a pause."""
    if out_n[i, PREEMPTED] > 0:
        out_s[i, PAUSE_S] += real[CLOCK] - out_s[i, PAUSED_SINCE_S]
    else:
        out_s[i, FIRST_SCHEDULED_S] = real[CLOCK]
        out_n[i, CACHED] = count[HEAD_HIT] * block_size
