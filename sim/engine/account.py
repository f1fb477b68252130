"""The two ledgers. The state right after scheduling holds for the whole iteration.

Every row has a counter of its own; none is what the others leave over. Source: metrics.md, section 8.
"""

from sim.engine.accounts import Bin
from sim.engine.inputs import Batching
from sim.engine.kernel import kernel, part
from sim.engine.state import (
    BIN_END,
    CACHED_IDLE,
    CLOCK,
    F_CHUNK_CONTEXT,
    F_CHUNK_REDO,
    F_CHUNK_REDO_S,
    F_CHUNK_TOKENS,
    F_CHUNK_USEFUL_S,
    F_CHUNKS_DONE,
    F_DECODING,
    F_DECODING_KV,
    F_DROPPED,
    F_HELD,
    F_HELD_KV,
    F_LINEAR_S,
    F_NUM_PREEMPTED,
    F_PREDICTOR_S,
    F_REDO,
    F_REDO_KV,
    F_SWAP_S,
    F_TOKENS,
    FREE,
    HEAD_FIRST,
    HEAD_IDLE,
    HEAD_WHOLE,
    HELD_DONE_BLOCKS,
    HOST_USED,
    KV_STRAGGLER,
    KV_TYPICAL,
    NUM_PREEMPTED,
    NUM_RUNNING,
    NUM_WAITING,
    PLEDGED,
    STRAGGLER_BLOCKS,
    UNFILLED,
)
from sim.engine.time_bins import OPEN, flush, split


@kernel
def account_for(parity, end_s, kv_s, fixed_s, free_row, block_size, flight, flight_s, bins, count, real):
    """Add the time until the end of a step to both ledgers: its tokens, and the blocks as they stand now."""
    start_s = real[CLOCK]
    duration_s = end_s - start_s
    if end_s > real[BIN_END]:
        flush(bins, count)
    add_memory(duration_s, free_row, block_size, bins, count)
    tokens = flight[parity, F_TOKENS]
    if tokens > 0:
        per_token_s = (flight_s[parity, F_LINEAR_S] - fixed_s) / tokens
        add_time(parity, duration_s, fixed_s, per_token_s, kv_s, flight, bins)
        if flight[parity, F_CHUNK_TOKENS] > 0:
            add_chunks(parity, per_token_s, flight, flight_s, bins)
    else:  # somebody waits for memory that nobody will free
        bins[OPEN, Bin.STALLED] += duration_s - (flight_s[parity, F_SWAP_S] + flight_s[parity, F_PREDICTOR_S])
    if flight_s[parity, F_SWAP_S] + flight_s[parity, F_PREDICTOR_S] > 0.0:
        bins[OPEN, Bin.SWAP] += flight_s[parity, F_SWAP_S]
        bins[OPEN, Bin.PREDICTOR] += flight_s[parity, F_PREDICTOR_S]
    bins[OPEN, Bin.PREEMPTIONS] += flight[parity, F_NUM_PREEMPTED]
    if end_s > real[BIN_END]:
        split(start_s, end_s, bins, count, real)


@part
def account_for_pause(end_s, block_size, bins, count, real):
    """No step until `end_s`: an empty server, where who waits waits for the batch to fill, or the loop's own pause."""
    duration_s = end_s - real[CLOCK]
    if end_s > real[BIN_END]:
        flush(bins, count)
    add_memory(duration_s, Bin.WITHHELD_WAIT, block_size, bins, count)
    if count[NUM_RUNNING] > 0:
        bins[OPEN, Bin.FIXED] += duration_s
    else:
        bins[OPEN, Bin.IDLE if count[NUM_WAITING] == 0 else Bin.STALLED] += duration_s
    if end_s > real[BIN_END]:
        split(real[CLOCK], end_s, bins, count, real)


@part
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


@kernel
def add_memory(duration_s, free_row, block_size, bins, count):
    """Block-seconds of every kind of block over one iteration or pause."""
    per_token = duration_s / block_size
    bins[OPEN, Bin.RUNNING] += count[NUM_RUNNING] * duration_s
    bins[OPEN, Bin.HELD_TYPICAL] += count[KV_TYPICAL] * per_token
    bins[OPEN, Bin.HELD_STRAGGLER] += count[KV_STRAGGLER] * per_token
    bins[OPEN, Bin.FRAGMENTATION] += count[UNFILLED] * per_token
    bins[OPEN, Bin.FINISHED_HELD] += count[HELD_DONE_BLOCKS] * duration_s
    bins[OPEN, Bin.RESERVED_UNUSED] += count[PLEDGED] * duration_s
    bins[OPEN, Bin.HOST_BLOCKS] += count[HOST_USED] * duration_s
    if count[NUM_WAITING] == 0:
        bins[OPEN, Bin.CACHED_PREFIX] += count[CACHED_IDLE] * duration_s
        bins[OPEN, Bin.FREE_NO_DEMAND] += (count[FREE] - count[CACHED_IDLE]) * duration_s
    else:
        bins[OPEN, Bin.WAITING] += count[NUM_WAITING] * duration_s
        bins[OPEN, free_row] += count[FREE] * duration_s


@part
def add_time(parity, duration_s, fixed_s, per_token_s, kv_s, flight, bins):
    """Seconds and tokens of one step's decoding members, and of finished ones that were computed all the same."""
    dropped = flight[parity, F_DROPPED]
    redo = flight[parity, F_REDO]
    decoding = flight[parity, F_DECODING] - dropped - redo
    producing = decoding + flight[parity, F_CHUNKS_DONE]
    held = flight[parity, F_HELD] + dropped
    bins[OPEN, Bin.FIXED] += fixed_s
    bins[OPEN, Bin.DECODE] += decoding * per_token_s + kv_s * (
        flight[parity, F_DECODING_KV] - flight[parity, F_REDO_KV]
    )
    if redo > 0:
        bins[OPEN, Bin.RECOMPUTE] += redo * per_token_s + kv_s * flight[parity, F_REDO_KV]
        bins[OPEN, Bin.RECOMPUTED_TOKENS] += redo
    bins[OPEN, Bin.PADDING] += held * per_token_s + kv_s * flight[parity, F_HELD_KV]
    bins[OPEN, Bin.DECODE_TOKENS] += flight[parity, F_DECODING]
    bins[OPEN, Bin.OUTPUT_TOKENS] += producing
    bins[OPEN, Bin.PRODUCING] += producing * duration_s
    bins[OPEN, Bin.KV_READ] += flight[parity, F_DECODING_KV] + flight[parity, F_HELD_KV]


@part
def add_chunks(parity, per_token_s, flight, flight_s, bins):
    """Seconds and tokens of one step's prefill chunks."""
    redo = flight[parity, F_CHUNK_REDO]
    useful = flight[parity, F_CHUNK_TOKENS] - redo
    bins[OPEN, Bin.PREFILL] += useful * per_token_s + flight_s[parity, F_CHUNK_USEFUL_S]
    bins[OPEN, Bin.RECOMPUTE] += redo * per_token_s + flight_s[parity, F_CHUNK_REDO_S]
    bins[OPEN, Bin.PREFILL_TOKENS] += flight[parity, F_CHUNK_TOKENS]
    bins[OPEN, Bin.RECOMPUTED_TOKENS] += redo
    bins[OPEN, Bin.KV_READ] += flight[parity, F_CHUNK_CONTEXT]
