"""Time passes: both ledgers, with the stages that work and those that stand empty beside them.

Every row is added up from its own counter: what a stage does in a stretch of time, and the gaps between two batches.
Source: metrics.md, section 8.
"""

from sim.engine.account import add_memory
from sim.engine.accounts import Bin
from sim.engine.general.choices import Eviction
from sim.engine.general.state import GONE, HOST_FREE, LOST_TOKENS, RUNNING, WHERE
from sim.engine.kernel import kernel
from sim.engine.pipeline.launch import FIRST_ROW
from sim.engine.pipeline.state import (
    B_CHUNK_CONTEXT,
    B_CHUNK_REDO,
    B_CHUNK_TOKENS,
    B_DECODING,
    B_DECODING_KV,
    B_REDO,
    B_SIZE,
    E_REQUEST,
    E_SAMPLES,
    ENTERS_S,
    LEAVES_S,
)
from sim.engine.state import BIN_END, CLOCK, HOST_USED, IN_FLIGHT, NUM_RUNNING, NUM_WAITING, PUSHED
from sim.engine.time_bins import OPEN, flush, split


@kernel
def pass_until(end_s, landing, free_row, rules, engine):
    """The clock moves on; `landing` is the place of the batch that is through then, or -1."""
    _, _, _, records, _, _, more, flight, count, real, _, _, bins = engine
    start_s = real[CLOCK]
    if end_s > real[BIN_END]:
        flush(bins, count)
    count[HOST_USED] = rules.host_blocks - count[HOST_FREE]
    add_memory(end_s - start_s, free_row, rules.block_size, bins, count)
    add_stages(start_s, end_s, rules, flight, bins, count)
    if landing >= 0:
        add_batch(landing, rules, records, more, flight, bins)
    if end_s > real[BIN_END]:
        split(start_s, end_s, bins, count, real)
    real[CLOCK] = end_s


@kernel
def add_stages(start_s, end_s, rules, flight, bins, count):
    """Seconds of all stages: at work, empty beside one that works, or all empty.

    From its first stage to its last a batch is at work or waits for one before it that is, so that the pipeline works
    without a break while any batch is in it.
    """
    last = rules.stages - 1
    at_s = start_s
    k = 0
    while k < count[IN_FLIGHT]:
        first = k
        opens_s = min(max(flight.spans[place_of(k, rules, count), 0, ENTERS_S], at_s), end_s)
        closes_s = flight.spans[place_of(k, rules, count), last, LEAVES_S]
        k += 1
        while k < count[IN_FLIGHT] and flight.spans[place_of(k, rules, count), 0, ENTERS_S] <= closes_s:
            closes_s = flight.spans[place_of(k, rules, count), last, LEAVES_S]
            k += 1
        closes_s = min(closes_s, end_s)
        if closes_s > opens_s:
            add_empty(opens_s - at_s, rules, bins, count)
            for j in range(rules.stages):
                add_stage(j, first, k, opens_s, closes_s, rules, flight, bins, count)
            at_s = closes_s
    add_empty(end_s - at_s, rules, bins, count)


@kernel
def place_of(k, rules, count):
    """Where in the ring the k-th oldest batch of the queue is."""
    return (count[PUSHED] - count[IN_FLIGHT] + k) % rules.most_in_flight


@kernel
def add_stage(j, first, end, opens_s, closes_s, rules, flight, bins, count):
    """One stage while the pipeline works: its batches, and the gaps before, between and after them."""
    at_s = opens_s
    for k in range(first, end):
        place = place_of(k, rules, count)
        enters_s = flight.spans[place, j, ENTERS_S]
        leaves_s = flight.spans[place, j, LEAVES_S]
        low_s = max(enters_s, opens_s)
        high_s = min(leaves_s, closes_s)
        if high_s > low_s:
            share = (high_s - low_s) / (leaves_s - enters_s)
            for row in range(flight.rows.shape[2]):
                bins[OPEN, FIRST_ROW + row] += share * flight.rows[place, j, row]
            bins[OPEN, Bin.BUBBLE] += low_s - at_s
            at_s = high_s
    bins[OPEN, Bin.BUBBLE] += closes_s - at_s


@kernel
def add_empty(seconds, rules, bins, count):
    """No stage works: nobody is there, who is there cannot run, or the engine's loop pauses."""
    if count[NUM_RUNNING] > 0:
        bins[OPEN, Bin.FIXED] += rules.stages * seconds
    else:
        bins[OPEN, Bin.IDLE if count[NUM_WAITING] == 0 else Bin.STALLED] += rules.stages * seconds


@kernel
def add_batch(at, rules, records, more, flight, bins):
    """Tokens of a batch, in the stretch of time at whose end its outputs come."""
    batches = flight.batches
    producing = 0
    for k in range(batches[at, B_SIZE]):
        i = flight.entries[at, k, E_REQUEST]
        where = more.kept[i, WHERE]
        is_heard = where == RUNNING or (where != GONE and rules.eviction != Eviction.RESTART)
        is_heard = is_heard and records.out_n[i, LOST_TOKENS] == 0
        producing += flight.entries[at, k, E_SAMPLES] and is_heard
    seconds = flight.spans[at, rules.stages - 1, LEAVES_S] - flight.spans[at, 0, ENTERS_S]
    bins[OPEN, Bin.OUTPUT_TOKENS] += producing
    bins[OPEN, Bin.PRODUCING] += producing * seconds
    bins[OPEN, Bin.PREFILL_TOKENS] += batches[at, B_CHUNK_TOKENS]
    bins[OPEN, Bin.DECODE_TOKENS] += batches[at, B_DECODING]
    bins[OPEN, Bin.RECOMPUTED_TOKENS] += batches[at, B_CHUNK_REDO] + batches[at, B_REDO]
    bins[OPEN, Bin.KV_READ] += batches[at, B_DECODING_KV] + batches[at, B_CHUNK_CONTEXT]
