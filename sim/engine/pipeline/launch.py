"""The batch that was scheduled enters the pipeline: what it has to compute, and when it is on which stage.

Source: cost.md; schedulers.md 1.3.
"""

from numba import njit

from sim.engine.accounts import Bin
from sim.engine.general.reserve import known_tokens
from sim.engine.jit import JIT
from sim.engine.loop import linear_time
from sim.engine.pipeline.state import (
    AHEAD,
    B_CHUNK_CONTEXT,
    B_CHUNK_REDO,
    B_CHUNK_TOKENS,
    B_DECODING,
    B_DECODING_KV,
    B_DROPPED,
    B_REDO,
    B_REDO_KV,
    B_ROW,
    B_SIZE,
    B_TOKENS,
    E_BEFORE,
    E_DECODES,
    E_REQUEST,
    E_SAMPLES,
    E_TOKENS,
    ELIGIBLE,
    ENTERS_S,
    FLYING,
    HAS_SAMPLED,
    LEAVES_S,
    NUM_BATCH_COLUMNS,
    PREDICTOR_S,
    REDO_CONTEXT,
    REDO_WORK,
    SERVED,
    SWAP_S,
    USEFUL_CONTEXT,
    USEFUL_WORK,
)
from sim.engine.state import (
    CLOCK,
    HIGH_WATER,
    IN_FLIGHT,
    PROMPT_LEN,
    PUSHED,
    RECOMPUTED,
    START_S,
    SUM_STEPS,
    SUM_TOKENS,
)

FIRST_ROW = Bin.IDLE  # of the time ledger


@njit(**JIT)
def next_start_s(rules, flight, count, real):
    """When the batch being scheduled enters the first stage, if it computes anything.

    Asynchronously its members' tokens come from the batch as many calls before as there are stages.
    """
    start_s = max(real[CLOCK], flight.free_s[0])
    if rules.is_async and count[PUSHED] >= rules.stages:
        before = (count[PUSHED] - rules.stages) % rules.most_in_flight
        start_s = max(start_s, flight.spans[before, rules.stages - 1, LEAVES_S])
    return start_s


@njit(**JIT)
def launch(swap_s, predictor_s, rules, inputs, records, times, flight, count, real):
    """Put the batch into the queue; its tokens."""
    at = count[PUSHED] % rules.most_in_flight
    batch = flight.batches[at]
    size = drop_undone(batch[B_SIZE], at, flight)
    for column in range(NUM_BATCH_COLUMNS):
        batch[column] = 0
    batch[B_ROW] = -1
    batch[B_SIZE] = size
    flight.work[at, :] = 0.0
    flight.work[at, SWAP_S] = swap_s
    flight.work[at, PREDICTOR_S] = predictor_s
    for k in range(size):
        measure(flight.entries[at, k], batch, flight.work[at], flight.on_way, rules, inputs, records, count)
    start_s = real[START_S]
    if batch[B_TOKENS] > 0:
        for j in range(rules.stages):
            start_s = max(start_s, flight.free_s[j])
            flight.spans[at, j, ENTERS_S] = start_s
            start_s += time_on_stage(j, at, times, flight)
            flight.spans[at, j, LEAVES_S] = start_s
            flight.free_s[j] = start_s
    else:
        flight.spans[at, :, :] = max(start_s, flight.free_s[rules.stages - 1])
        flight.rows[at, :, :] = 0.0
    count[PUSHED] += 1
    count[IN_FLIGHT] += 1
    count[SUM_STEPS] += batch[B_TOKENS] > 0
    count[SUM_TOKENS] += batch[B_TOKENS]
    return batch[B_TOKENS]


@njit(**JIT)
def drop_undone(size, at, flight):
    """Entries whose member gave way later in the same call leave the batch; its size."""
    kept = 0
    for k in range(size):
        if flight.entries[at, k, E_TOKENS] > 0:
            for column in range(flight.entries.shape[2]):
                flight.entries[at, kept, column] = flight.entries[at, k, column]
            kept += 1
    return kept


@njit(**JIT)
def measure(entry, batch, work, on_way, rules, inputs, records, count):
    """Add one member to the batch's sums, cut at the high-water mark of tokens that were computed once before."""
    i = entry[E_REQUEST]
    tokens = entry[E_TOKENS]
    before = entry[E_BEFORE]
    high = records.out_n[i, HIGH_WATER]
    known = known_tokens(i, inputs.asked, records.out_n) + on_way[i, AHEAD]
    is_new = before >= high or on_way[i, HAS_SAMPLED]
    entry[E_SAMPLES] = before + tokens == known
    entry[E_DECODES] = tokens == 1 and before + 1 == known and known > inputs.asked[i, PROMPT_LEN] and is_new
    redo = max(min(before + tokens, high) - before, 0)
    records.out_n[i, RECOMPUTED] += redo
    batch[B_TOKENS] += tokens
    if entry[E_DECODES]:
        batch[B_DECODING] += 1
        batch[B_DECODING_KV] += before + 1
        batch[B_REDO] += redo
        batch[B_REDO_KV] += redo * (before + 1)
    else:
        batch[B_CHUNK_TOKENS] += tokens
        batch[B_CHUNK_REDO] += redo
        batch[B_CHUNK_CONTEXT] += before
        all_work = tokens * before + 0.5 * tokens * tokens
        share = redo / tokens
        work[REDO_CONTEXT] += share * before
        work[REDO_WORK] += share * all_work
        work[USEFUL_CONTEXT] += (1.0 - share) * before
        work[USEFUL_WORK] += (1.0 - share) * all_work
    on_way[i, SERVED] = 0
    on_way[i, FLYING] += tokens
    if entry[E_SAMPLES]:
        on_way[i, HAS_SAMPLED] = 1
        on_way[i, AHEAD] += rules.is_async
        on_way[i, ELIGIBLE] = count[PUSHED] + rules.stages


@njit(**JIT)
def time_on_stage(j, at, times, flight):
    """Seconds of a batch on one stage, written into the rows of the time ledger as well."""
    batch = flight.batches[at]
    work = flight.work[at]
    rows = flight.rows[at, j]
    tokens = batch[B_TOKENS]
    kv_s = times.kv_s[j]
    attention_s = times.attention_s[j]
    linear_s = linear_time(tokens, times.linear_s[j], times.beyond_s[j])
    fixed_s = times.linear_s[j, 0]
    token_s = (linear_s - fixed_s) / tokens
    redo, dropped = batch[B_REDO], batch[B_DROPPED]
    chunk_redo = batch[B_CHUNK_REDO]
    rows[:] = 0.0
    rows[Bin.FIXED - FIRST_ROW] = fixed_s
    rows[Bin.PREFILL - FIRST_ROW] = (
        (batch[B_CHUNK_TOKENS] - chunk_redo) * token_s + kv_s * work[USEFUL_CONTEXT] + attention_s * work[USEFUL_WORK]
    )
    rows[Bin.DECODE - FIRST_ROW] = (batch[B_DECODING] - redo - dropped) * token_s + kv_s * (
        batch[B_DECODING_KV] - batch[B_REDO_KV]
    )
    rows[Bin.RECOMPUTE - FIRST_ROW] = (
        (redo + chunk_redo) * token_s + kv_s * (batch[B_REDO_KV] + work[REDO_CONTEXT]) + attention_s * work[REDO_WORK]
    )
    rows[Bin.PADDING - FIRST_ROW] = dropped * token_s
    reading_s = kv_s * (batch[B_DECODING_KV] + batch[B_CHUNK_CONTEXT])
    seconds = linear_s + reading_s + attention_s * (work[USEFUL_WORK] + work[REDO_WORK])
    extra_s = work[SWAP_S]  # every stage moves its layers' part
    rows[Bin.SWAP - FIRST_ROW] = work[SWAP_S]
    if j == 0:
        extra_s += work[PREDICTOR_S]
        rows[Bin.PREDICTOR - FIRST_ROW] = work[PREDICTOR_S]
    return seconds + extra_s
