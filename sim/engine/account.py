"""The two ledgers and the time bins. The state right after scheduling holds for the whole iteration.

Every row has a counter of its own; none is what the others leave over. Source: metrics.md, section 8.
"""

from numba import njit

from sim.engine.accounts import NUM_COLUMNS, Bin
from sim.engine.head import head_needs, look_at_head, prefill_limit, reserved_blocks
from sim.engine.inputs import Batching, Reserve
from sim.engine.jit import JIT
from sim.engine.kv_memory import blocks_for
from sim.engine.state import (
    BIN,
    BIN_END,
    BIN_WIDTH,
    CACHED_IDLE,
    CHUNK_REDO,
    CHUNK_REDO_S,
    CHUNK_TOKENS,
    CHUNK_USEFUL_S,
    CHUNKS_DONE,
    CLOCK,
    DECODING_KV,
    EMITTED,
    FREE,
    HEAD,
    HEAD_HIT,
    HEAD_IDLE,
    HELD_DONE_BLOCKS,
    HELD_DONE_KV,
    KV_STRAGGLER,
    KV_TYPICAL,
    NUM_BINS,
    NUM_DECODING,
    NUM_HELD_DONE,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PLEDGED,
    STRAGGLER_BLOCKS,
    UNFILLED,
)


@njit(**JIT)
def row_of_free_blocks(is_filling, rules, requests, state):
    """Why free blocks are not used although somebody waits: the first reason that applies to the queue's head."""
    count = state.count
    if is_filling:
        return Bin.WITHHELD_WAIT
    if rules.batching == Batching.REQUEST and count[NUM_RUNNING] > 0:
        return Bin.WITHHELD_BATCH
    look_at_head(rules, requests, state)
    physical, asked = head_demand(rules, requests, state.out_n, count)
    if count[NUM_PREEMPTED] > 0 or physical > count[FREE]:
        if physical <= count[FREE] + count[STRAGGLER_BLOCKS]:
            return Bin.WITHHELD_MEMORY_STRAGGLER
        return Bin.WITHHELD_MEMORY_OTHER
    if asked > count[FREE]:
        return Bin.WITHHELD_MARGIN
    return Bin.WITHHELD_CAP


@njit(**JIT)
def head_demand(rules, requests, out_n, count):
    """Blocks the head's next iteration would take from the free ones, and blocks the admission test wants there."""
    i = count[HEAD]
    known = requests.prompt_len[i] + out_n[i, EMITTED]
    if rules.reserve != Reserve.CHUNK:
        asked = reserved_blocks(i, rules, requests)
        return blocks_for(known, rules.block_size), asked
    tokens = min(known - count[HEAD_HIT] * rules.block_size, prefill_limit(rules, count))
    if rules.chunked_prefill:
        tokens = min(tokens, rules.max_num_batched_tokens)
    physical, asked = head_needs(tokens, known, rules, count)
    keep = rules.keep_blocks if count[NUM_RUNNING] > 0 else 0
    return physical + count[HEAD_IDLE], asked + count[HEAD_IDLE] + keep


@njit(**JIT)
def add_memory(duration_s, free_row, block_size, sums, count):
    """Block-seconds of every kind of block over one iteration or pause."""
    per_token = duration_s / block_size
    sums[Bin.RUNNING] = count[NUM_RUNNING] * duration_s
    sums[Bin.WAITING] = count[NUM_WAITING] * duration_s
    sums[Bin.HELD_TYPICAL] = count[KV_TYPICAL] * per_token
    sums[Bin.HELD_STRAGGLER] = count[KV_STRAGGLER] * per_token
    sums[Bin.FRAGMENTATION] = count[UNFILLED] * per_token
    sums[Bin.FINISHED_HELD] = count[HELD_DONE_BLOCKS] * duration_s
    sums[Bin.RESERVED_UNUSED] = count[PLEDGED] * duration_s
    for row in range(Bin.CACHED_PREFIX, Bin.WITHHELD_CAP + 1):
        sums[row] = 0.0
    if count[NUM_WAITING] == 0:
        sums[Bin.CACHED_PREFIX] = count[CACHED_IDLE] * duration_s
        sums[Bin.FREE_NO_DEMAND] = (count[FREE] - count[CACHED_IDLE]) * duration_s
    else:
        sums[free_row] = count[FREE] * duration_s


@njit(**JIT)
def add_time(fixed_s, per_token_s, kv_s, sums, count, real):
    """Seconds of one iteration by what they were spent on."""
    useful = count[CHUNK_TOKENS] - count[CHUNK_REDO]
    sums[Bin.IDLE] = 0.0
    sums[Bin.STALLED] = 0.0
    sums[Bin.FIXED] = fixed_s
    sums[Bin.PREFILL] = useful * per_token_s + real[CHUNK_USEFUL_S]
    sums[Bin.RECOMPUTE] = count[CHUNK_REDO] * per_token_s + real[CHUNK_REDO_S]
    sums[Bin.DECODE] = count[NUM_DECODING] * per_token_s + kv_s * count[DECODING_KV]
    sums[Bin.PADDING] = count[NUM_HELD_DONE] * per_token_s + kv_s * count[HELD_DONE_KV]
    sums[Bin.PREFILL_TOKENS] = count[CHUNK_TOKENS]
    sums[Bin.RECOMPUTED_TOKENS] = count[CHUNK_REDO]
    sums[Bin.DECODE_TOKENS] = count[NUM_DECODING]
    sums[Bin.OUTPUT_TOKENS] = count[NUM_DECODING] + count[CHUNKS_DONE]
    sums[Bin.PREEMPTIONS] = count[NUM_PREEMPTED]


@njit(**JIT)
def add_pause(duration_s, sums, count):
    """Seconds in which nothing runs."""
    for column in range(Bin.PREFILL_TOKENS, Bin.PREEMPTIONS + 1):
        sums[column] = 0.0
    for row in range(Bin.IDLE, Bin.PADDING + 1):
        sums[row] = 0.0
    sums[Bin.IDLE if count[NUM_WAITING] == 0 else Bin.STALLED] = duration_s


@njit(**JIT)
def spread(start_s, end_s, sums, bins, count, real):
    """Add the sums of [start, end] to the time bins, split by overlap where a border is crossed."""
    if end_s <= real[BIN_END]:
        row = bins[count[BIN]]
        for column in range(NUM_COLUMNS):
            row[column] += sums[column]
        return
    while end_s > NUM_BINS * real[BIN_WIDTH]:
        merge_pairs(bins, count, real)
    duration = end_s - start_s
    at = start_s
    while at < end_s:
        until = min(end_s, real[BIN_END])
        share = (until - at) / duration
        row = bins[count[BIN]]
        for column in range(NUM_COLUMNS):
            row[column] += share * sums[column]
        at = until
        if at < end_s:
            count[BIN] += 1
            real[BIN_END] = (count[BIN] + 1) * real[BIN_WIDTH]


@njit(**JIT)
def merge_pairs(bins, count, real):
    """The run outgrew the bins: neighbours become one bin of twice the width."""
    for pair in range(NUM_BINS // 2):
        for column in range(NUM_COLUMNS):
            bins[pair, column] = bins[2 * pair, column] + bins[2 * pair + 1, column]
    for spare in range(NUM_BINS // 2, NUM_BINS):
        for column in range(NUM_COLUMNS):
            bins[spare, column] = 0.0
    real[BIN_WIDTH] *= 2.0
    count[BIN] //= 2
    real[BIN_END] = (count[BIN] + 1) * real[BIN_WIDTH]


@njit(**JIT)
def pause_until(end_s, is_filling, rules, requests, state):
    """Nothing runs until `end_s`; the state holds."""
    count = state.count
    real = state.real
    duration = end_s - real[CLOCK]
    count[NUM_PREEMPTED] = 0
    free_row = Bin.FREE_NO_DEMAND
    if count[NUM_WAITING] > 0:
        free_row = row_of_free_blocks(is_filling, rules, requests, state)
    add_memory(duration, free_row, rules.block_size, state.step_sums, count)
    add_pause(duration, state.step_sums, count)
    spread(real[CLOCK], end_s, state.step_sums, state.bins, count, real)
    real[CLOCK] = end_s
