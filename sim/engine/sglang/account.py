"""SGLang's memory and steps as the ledgers of all systems take them.

Source: metrics.md, section 8.
"""

from sim.engine.account import add_memory
from sim.engine.accounts import Bin
from sim.engine.chunks import add_chunk
from sim.engine.kernel import kernel
from sim.engine.sglang.state import CHUNKED, EVICTABLE, EXTEND_END, FLYING, HIGH_WATER, POOL_FREE, PREFIX
from sim.engine.state import (
    ARRIVED,
    BIN_END,
    CACHED_IDLE,
    CHUNKS_DONE,
    CLOCK,
    FREE,
    NUM_DONE,
    NUM_RUNNING,
    NUM_WAITING,
)
from sim.engine.time_bins import OPEN, flush, split


@kernel
def count_pages(page_size, count):
    """Bring the counters up to date that the ledgers read: free pages, and who is served."""
    count[FREE] = (count[POOL_FREE] + count[EVICTABLE]) // page_size
    count[CACHED_IDLE] = count[EVICTABLE] // page_size
    count[NUM_RUNNING] = count[ARRIVED] - count[NUM_DONE] - count[NUM_WAITING]


@kernel
def account_for_pause(end_s, free_row, page_size, bins, count, real):
    """Nothing runs until `end_s`."""
    duration_s = end_s - real[CLOCK]
    if end_s > real[BIN_END]:
        flush(bins, count)
    count_pages(page_size, count)
    add_memory(duration_s, free_row, page_size, bins, count)
    bins[OPEN, Bin.IDLE if count[NUM_WAITING] == 0 else Bin.STALLED] += duration_s
    if end_s > real[BIN_END]:
        split(real[CLOCK], end_s, bins, count, real)


@kernel
def measure_prefills(parity, prefilled, kv_s, attention_s, lists, req, out_n, count, real):
    """Sum up the prefills of a step."""
    for k in range(prefilled):
        i = lists[FLYING + parity, k]
        context = req[i, PREFIX]
        tokens = req[i, EXTEND_END] - context
        count[CHUNKS_DONE] += i != count[CHUNKED]
        add_chunk(i, tokens, context, req[i, HIGH_WATER], kv_s, attention_s, out_n, count, real)
