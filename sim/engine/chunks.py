"""Prefill chunks of one call, summed up for the step time and the accounts."""

from sim.engine.kernel import kernel, part
from sim.engine.state import (
    CHUNK,
    CHUNK_CONTEXT,
    CHUNK_REDO,
    CHUNK_REDO_S,
    CHUNK_TOKENS,
    CHUNK_USEFUL_S,
    CHUNK_WORK,
    CHUNKS_DONE,
    COMPUTED,
    FRESH,
    HIGH_WATER,
    KNOWN,
    NUM_FRESH,
    NUM_PARTIAL,
    PARTIAL,
    RECOMPUTED,
    REQUEST,
)


@kernel
def clear_chunks(count, real):
    """No chunks in this call."""
    count[CHUNK_TOKENS] = 0
    count[CHUNK_REDO] = 0
    count[CHUNK_CONTEXT] = 0
    count[CHUNKS_DONE] = 0
    real[CHUNK_WORK] = 0.0
    real[CHUNK_USEFUL_S] = 0.0
    real[CHUNK_REDO_S] = 0.0


@part
def measure_chunks(kv_s, attention_s, live, slots, out_n, count, real):
    """Sum up members in mid-prompt and those just admitted."""
    for k in range(count[NUM_PARTIAL]):
        measure_chunk(slots[k, PARTIAL], kv_s, attention_s, live, out_n, count, real)
    for k in range(count[NUM_FRESH]):
        measure_chunk(slots[k, FRESH], kv_s, attention_s, live, out_n, count, real)


@part
def measure_chunk(s, kv_s, attention_s, live, out_n, count, real):
    """Add a member's chunk of this call."""
    i = live[s, REQUEST]
    tokens = live[s, CHUNK]
    if tokens == 0:  # passed over in this call
        return
    context = live[s, COMPUTED]
    count[CHUNKS_DONE] += context + tokens == live[s, KNOWN]
    add_chunk(i, tokens, context, out_n[i, HIGH_WATER], kv_s, attention_s, out_n, count, real)


@kernel
def add_chunk(i, tokens, context, high_water, kv_s, attention_s, out_n, count, real):
    """Add `tokens` of request `i` after `context` others; what was computed before counts as done again."""
    work = float(tokens) * context + 0.5 * float(tokens) * tokens
    seconds = kv_s * context + attention_s * work
    count[CHUNK_TOKENS] += tokens
    count[CHUNK_CONTEXT] += context
    real[CHUNK_WORK] += work
    redo = min(context + tokens, high_water) - context
    if redo > 0:
        count[CHUNK_REDO] += redo
        out_n[i, RECOMPUTED] += redo
        real[CHUNK_REDO_S] += seconds * redo / tokens
        seconds *= (tokens - redo) / tokens
    real[CHUNK_USEFUL_S] += seconds
