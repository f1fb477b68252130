"""What the results of a step bring: tokens, ends, and texts for the cache.

Source: README of the SGLang goldens, findings 1, 17 and 27 to 29.
"""

from sim.engine.accounts import Status
from sim.engine.arrivals import note_answer
from sim.engine.gaps import note_gap
from sim.engine.kernel import kernel
from sim.engine.sglang.batch import cache_prefill
from sim.engine.sglang.memory import finish
from sim.engine.sglang.state import (
    DEPARTED,
    EMITTED,
    END_AT,
    F_DEPARTED,
    F_NUM_PREFILL,
    F_SIZE,
    FLYING,
    IS_FINISHED,
    IS_RETRACTED,
    MIDDLE_CHUNKS,
    NOTHING,
    READS,
    RETRY,
)
from sim.engine.state import (
    CLOCK,
    F_CHUNKS_DONE,
    F_DECODING_KV,
    F_DROPPED,
    F_HELD_KV,
    FINISHED_RECORDED,
    FIRST_TOKEN_S,
    LAST_TOKEN_S,
    MAX_ITL_S,
    NUM_DONE,
    STATUS,
)


@kernel
def note_departed(parity, lists, req, flight, count):
    """Members that have left since the step was launched: of a finished one the token is padding, of one that was
    retracted the work was useful, though the token comes to nothing.
    """
    if flight[parity, F_DEPARTED] == count[DEPARTED]:
        return
    for k in range(flight[parity, F_SIZE]):
        i = lists[FLYING + parity, k]
        if req[i, IS_FINISHED]:
            flight[parity, F_DROPPED] += 1
            flight[parity, F_DECODING_KV] -= lists[READS + parity, k]
            flight[parity, F_HELD_KV] += lists[READS + parity, k]
        elif req[i, IS_RETRACTED]:
            flight[parity, F_CHUNKS_DONE] -= 1


@kernel
def take_results(
    parity,
    rules,
    recording,
    arrival_s,
    thinking,
    lists,
    req,
    records,
    gap_hist,
    texts,
    tree,
    finished,
    flight,
    count,
    real,
):
    """Everybody in the step gets a token, unless a chunk of the prompt is still to come."""
    out_s, out_n = records
    radix_cache = rules.radix_cache
    now = real[CLOCK]
    gap_s = -1.0
    alike = NOTHING  # members that waited `gap_s`
    prefilled = flight[parity, F_NUM_PREFILL]
    for k in range(flight[parity, F_SIZE]):
        i = lists[FLYING + parity, k]
        if req[i, IS_FINISHED] or req[i, IS_RETRACTED]:
            continue
        if k < prefilled and req[i, MIDDLE_CHUNKS] > 0:
            req[i, MIDDLE_CHUNKS] -= 1
            continue
        emitted = req[i, EMITTED] + 1
        req[i, EMITTED] = emitted
        if emitted == 1:
            out_s[i, FIRST_TOKEN_S] = now
        else:
            waited = now - out_s[i, LAST_TOKEN_S]
            if waited != gap_s:
                if alike > 0:
                    note_gap(gap_s, alike, gap_hist, count, real)
                gap_s = waited
                alike = NOTHING
            alike += 1
            if waited > out_s[i, MAX_ITL_S]:
                out_s[i, MAX_ITL_S] = waited
        out_s[i, LAST_TOKEN_S] = now
        if emitted >= req[i, END_AT]:
            if recording:
                finished[count[FINISHED_RECORDED]] = i
                count[FINISHED_RECORDED] += 1
            req[i, IS_FINISHED] = 1
            finish(i, radix_cache, req, out_s, texts, tree, count, real)
            out_n[i, STATUS] = Status.FINISHED
            count[NUM_DONE] += 1
            count[DEPARTED] += 1
            note_answer(texts.texts[i, RETRY], arrival_s, thinking, count, real)
        elif k < prefilled:
            cache_prefill(i, radix_cache, req, texts, tree, count)
    if alike > 0:
        note_gap(gap_s, alike, gap_hist, count, real)
