"""The two ledgers. The state right after scheduling holds for the whole iteration.

Every row has a counter of its own; none is what the others leave over. Source: metrics.md, section 8.
"""

from numba import njit

from sim.engine.accounts import Bin
from sim.engine.inputs import Batching
from sim.engine.jit import JIT
from sim.engine.state import (
    BIN_END,
    CACHED_IDLE,
    CHUNK_CONTEXT,
    CHUNK_REDO,
    CHUNK_REDO_S,
    CHUNK_TOKENS,
    CHUNK_USEFUL_S,
    CHUNKS_DONE,
    CLOCK,
    DECODING_KV,
    FREE,
    HEAD_FIRST,
    HEAD_IDLE,
    HEAD_WHOLE,
    HELD_DONE_BLOCKS,
    HELD_DONE_KV,
    KV_STRAGGLER,
    KV_TYPICAL,
    NUM_DECODING,
    NUM_HELD_DONE,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PLEDGED,
    STRAGGLER_BLOCKS,
    UNFILLED,
)
from sim.engine.time_bins import OPEN, flush, split


@njit(**JIT)
def account_for(end_s, tokens, token_s, fixed_s, kv_s, free_row, block_size, bins, count, real):
    """Add the iteration that ends at `end_s` to both ledgers."""
    start_s = real[CLOCK]
    duration_s = end_s - start_s
    if end_s > real[BIN_END]:
        flush(bins, count)
    add_memory(duration_s, free_row, block_size, bins, count)
    if tokens > 0:
        per_token_s = (token_s - fixed_s) / tokens
        add_time(duration_s, fixed_s, per_token_s, kv_s, bins, count)
        if count[CHUNK_TOKENS] > 0:
            add_chunks(per_token_s, bins, count, real)
    else:  # somebody waits for memory that nobody will free
        bins[OPEN, Bin.STALLED] += duration_s
    if end_s > real[BIN_END]:
        split(start_s, end_s, bins, count, real)


@njit(**JIT)
def account_for_pause(end_s, block_size, bins, count, real):
    """Nothing runs until `end_s`; who waits then waits for the batch to fill."""
    duration_s = end_s - real[CLOCK]
    if end_s > real[BIN_END]:
        flush(bins, count)
    add_memory(duration_s, Bin.WITHHELD_WAIT, block_size, bins, count)
    bins[OPEN, Bin.IDLE if count[NUM_WAITING] == 0 else Bin.STALLED] += duration_s
    if end_s > real[BIN_END]:
        split(real[CLOCK], end_s, bins, count, real)


@njit(**JIT)
def row_of_free_blocks(batching, keep_blocks, count):
    """Why free blocks are not used although somebody waits: the first reason that applies to the queue's head.

    The head's entries must hold.
    """
    if batching == Batching.REQUEST and count[NUM_RUNNING] > 0:
        return Bin.WITHHELD_BATCH
    physical = count[HEAD_FIRST] + count[HEAD_IDLE]
    if count[NUM_PREEMPTED] > 0 or physical > count[FREE]:
        if physical <= count[FREE] + count[STRAGGLER_BLOCKS]:
            return Bin.WITHHELD_MEMORY_STRAGGLER
        return Bin.WITHHELD_MEMORY_OTHER
    wanted = max(count[HEAD_FIRST], count[HEAD_WHOLE]) + count[HEAD_IDLE]
    if count[NUM_RUNNING] > 0:
        wanted += keep_blocks
    return Bin.WITHHELD_MARGIN if wanted > count[FREE] else Bin.WITHHELD_CAP


@njit(**JIT)
def add_memory(duration_s, free_row, block_size, bins, count):
    """Block-seconds of every kind of block over one iteration or pause."""
    per_token = duration_s / block_size
    bins[OPEN, Bin.RUNNING] += count[NUM_RUNNING] * duration_s
    bins[OPEN, Bin.HELD_TYPICAL] += count[KV_TYPICAL] * per_token
    bins[OPEN, Bin.HELD_STRAGGLER] += count[KV_STRAGGLER] * per_token
    bins[OPEN, Bin.FRAGMENTATION] += count[UNFILLED] * per_token
    bins[OPEN, Bin.FINISHED_HELD] += count[HELD_DONE_BLOCKS] * duration_s
    bins[OPEN, Bin.RESERVED_UNUSED] += count[PLEDGED] * duration_s
    if count[NUM_WAITING] == 0:
        bins[OPEN, Bin.CACHED_PREFIX] += count[CACHED_IDLE] * duration_s
        bins[OPEN, Bin.FREE_NO_DEMAND] += (count[FREE] - count[CACHED_IDLE]) * duration_s
    else:
        bins[OPEN, Bin.WAITING] += count[NUM_WAITING] * duration_s
        bins[OPEN, free_row] += count[FREE] * duration_s


@njit(**JIT)
def add_time(duration_s, fixed_s, per_token_s, kv_s, bins, count):
    """Seconds and tokens of one iteration's decoding members, and of finished ones that are held."""
    producing = count[NUM_DECODING] + count[CHUNKS_DONE]
    bins[OPEN, Bin.FIXED] += fixed_s
    bins[OPEN, Bin.DECODE] += count[NUM_DECODING] * per_token_s + kv_s * count[DECODING_KV]
    bins[OPEN, Bin.PADDING] += count[NUM_HELD_DONE] * per_token_s + kv_s * count[HELD_DONE_KV]
    bins[OPEN, Bin.DECODE_TOKENS] += count[NUM_DECODING]
    bins[OPEN, Bin.OUTPUT_TOKENS] += producing
    bins[OPEN, Bin.PRODUCING] += producing * duration_s
    bins[OPEN, Bin.KV_READ] += count[DECODING_KV] + count[HELD_DONE_KV] + count[CHUNK_CONTEXT]
    bins[OPEN, Bin.PREEMPTIONS] += count[NUM_PREEMPTED]


@njit(**JIT)
def add_chunks(per_token_s, bins, count, real):
    """Seconds and tokens of one iteration's prefill chunks."""
    redo = count[CHUNK_REDO]
    bins[OPEN, Bin.PREFILL] += (count[CHUNK_TOKENS] - redo) * per_token_s + real[CHUNK_USEFUL_S]
    bins[OPEN, Bin.RECOMPUTE] += redo * per_token_s + real[CHUNK_REDO_S]
    bins[OPEN, Bin.PREFILL_TOKENS] += count[CHUNK_TOKENS]
    bins[OPEN, Bin.RECOMPUTED_TOKENS] += redo
