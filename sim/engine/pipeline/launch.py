"""The batch that was scheduled enters the pipeline: what it has to compute, and when it is on which stage.

Source: cost.md; schedulers.md 1.3.
"""

from sim.engine.accounts import Bin
from sim.engine.general.reserve import known_tokens
from sim.engine.kernel import kernel
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


@kernel
def next_start_s(rules, flight, count, real):
    """When the batch being scheduled enters the first stage, if it computes anything.

    Asynchronously its members' tokens come from the batch as many calls before as there are stages.
    """
    start_s = max(real[CLOCK], flight.free_s[0])
    if rules.is_async and count[PUSHED] >= rules.stages:
        before = (count[PUSHED] - rules.stages) % rules.most_in_flight
        start_s = max(start_s, flight.spans[before, rules.stages - 1, LEAVES_S])
    return start_s


@kernel
def launch(swap_s, predictor_s, rules, inputs, records, times, flight, count, real):
    """Put the batch into the queue; its tokens."""
    at = count[PUSHED] % rules.most_in_flight
    size = drop_undone(at, flight)
    clear(at, flight)
    flight.batches[at, B_ROW] = -1
    flight.batches[at, B_SIZE] = size
    flight.work[at, SWAP_S] = swap_s
    flight.work[at, PREDICTOR_S] = predictor_s
    for k in range(size):
        measure(at, k, flight, rules, inputs, records, count)
    tokens = flight.batches[at, B_TOKENS]
    at_s = real[START_S]
    if tokens == 0:
        at_s = max(at_s, flight.free_s[rules.stages - 1])
    for j in range(rules.stages):
        if tokens > 0:
            at_s = max(at_s, flight.free_s[j])
        flight.spans[at, j, ENTERS_S] = at_s
        if tokens > 0:
            at_s += time_on_stage(j, at, times, flight)
            flight.free_s[j] = at_s
        flight.spans[at, j, LEAVES_S] = at_s
    count[PUSHED] += 1
    count[IN_FLIGHT] += 1
    count[SUM_STEPS] += tokens > 0
    count[SUM_TOKENS] += tokens
    return tokens


@kernel
def drop_undone(at, flight):
    """Entries whose member gave way later in the same call leave the batch; its size."""
    kept = 0
    for k in range(flight.batches[at, B_SIZE]):
        if flight.entries[at, k, E_TOKENS] > 0:
            for column in range(flight.entries.shape[2]):
                flight.entries[at, kept, column] = flight.entries[at, k, column]
            kept += 1
    return kept


@kernel
def clear(at, flight):
    """Nothing is known yet of the batch at this place."""
    for column in range(flight.batches.shape[1]):
        flight.batches[at, column] = 0
    for column in range(flight.work.shape[1]):
        flight.work[at, column] = 0.0


@kernel
def measure(at, k, flight, rules, inputs, records, count):
    """Add one member to the batch's sums, cut at the high-water mark of tokens that were computed once before."""
    batches, work, on_way = flight.batches, flight.work, flight.on_way
    i = flight.entries[at, k, E_REQUEST]
    tokens = flight.entries[at, k, E_TOKENS]
    before = flight.entries[at, k, E_BEFORE]
    high = records.out_n[i, HIGH_WATER]
    known = known_tokens(i, inputs.asked, records.out_n) + on_way[i, AHEAD]
    is_sampled = before + tokens == known
    is_new = before >= high or on_way[i, HAS_SAMPLED] == 1
    is_decode = is_sampled and tokens == 1 and known > inputs.asked[i, PROMPT_LEN] and is_new
    flight.entries[at, k, E_SAMPLES] = is_sampled
    flight.entries[at, k, E_DECODES] = is_decode
    redo = max(min(before + tokens, high) - before, 0)
    records.out_n[i, RECOMPUTED] += redo
    batches[at, B_TOKENS] += tokens
    if is_decode:
        batches[at, B_DECODING] += 1
        batches[at, B_DECODING_KV] += before + 1
        batches[at, B_REDO] += redo
        batches[at, B_REDO_KV] += redo * (before + 1)
    else:
        batches[at, B_CHUNK_TOKENS] += tokens
        batches[at, B_CHUNK_REDO] += redo
        batches[at, B_CHUNK_CONTEXT] += before
        all_work = tokens * before + 0.5 * tokens * tokens
        share = redo / tokens
        work[at, REDO_CONTEXT] += share * before
        work[at, REDO_WORK] += share * all_work
        work[at, USEFUL_CONTEXT] += (1.0 - share) * before
        work[at, USEFUL_WORK] += (1.0 - share) * all_work
    on_way[i, SERVED] = 0
    on_way[i, FLYING] += tokens
    if is_sampled:
        on_way[i, HAS_SAMPLED] = 1
        on_way[i, AHEAD] += rules.is_async
        on_way[i, ELIGIBLE] = count[PUSHED] + rules.stages


@kernel
def time_on_stage(j, at, times, flight):
    """Seconds of a batch on one stage, written into the rows of the time ledger as well."""
    batches, work, rows = flight.batches, flight.work, flight.rows
    tokens = batches[at, B_TOKENS]
    kv_s = times.kv_s[j]
    attention_s = times.attention_s[j]
    last = times.linear_s.shape[1] - 1
    linear_s = times.linear_s[j, min(tokens, last)] + max(tokens - last, 0) * times.beyond_s[j]
    fixed_s = times.linear_s[j, 0]
    token_s = (linear_s - fixed_s) / tokens
    redo = batches[at, B_REDO]
    chunk_redo = batches[at, B_CHUNK_REDO]
    decoding = batches[at, B_DECODING] - redo - batches[at, B_DROPPED]
    prompts = batches[at, B_CHUNK_TOKENS] - chunk_redo
    decoding_kv = batches[at, B_DECODING_KV] - batches[at, B_REDO_KV]
    redo_kv = batches[at, B_REDO_KV] + work[at, REDO_CONTEXT]
    rows[at, j, Bin.FIXED - FIRST_ROW] = fixed_s
    rows[at, j, Bin.PREFILL - FIRST_ROW] = (
        prompts * token_s + kv_s * work[at, USEFUL_CONTEXT] + attention_s * work[at, USEFUL_WORK]
    )
    rows[at, j, Bin.DECODE - FIRST_ROW] = decoding * token_s + kv_s * decoding_kv
    rows[at, j, Bin.RECOMPUTE - FIRST_ROW] = (
        (redo + chunk_redo) * token_s + kv_s * redo_kv + attention_s * work[at, REDO_WORK]
    )
    rows[at, j, Bin.PADDING - FIRST_ROW] = batches[at, B_DROPPED] * token_s
    rows[at, j, Bin.SWAP - FIRST_ROW] = work[at, SWAP_S]  # every stage moves its layers' part
    rows[at, j, Bin.PREDICTOR - FIRST_ROW] = work[at, PREDICTOR_S] if j == 0 else 0.0
    reading_s = kv_s * (batches[at, B_DECODING_KV] + batches[at, B_CHUNK_CONTEXT])
    seconds = linear_s + reading_s + attention_s * (work[at, USEFUL_WORK] + work[at, REDO_WORK])
    return seconds + (work[at, SWAP_S] + rows[at, j, Bin.PREDICTOR - FIRST_ROW])
