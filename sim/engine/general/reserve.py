"""What admission asks for: blocks now, and a future that fits."""

import math

from sim.engine.general.choices import Peak, Prefill, Reservation
from sim.engine.general.refine import random_53
from sim.engine.general.state import (
    HOST_TOKENS,
    LOST_TOKENS,
    NUM_HISTORY,
    NUM_RESIDUALS,
    OUTPUT_SLOTS,
    READY_POINT,
)
from sim.engine.general.told import GUESS, RESERVE_OUT
from sim.engine.kernel import kernel
from sim.engine.kv_memory import blocks_for
from sim.engine.state import BASE, CALL, CAP, COMPUTED, DECODING, EMITTED, PROMPT_LEN

SORTED = 1  # column of `history` and `residual`
UNIT = 1.0 / (1 << 53)


@kernel
def known_tokens(i, asked, out_n):
    """Tokens of prompt and answer that must be in memory before the next token."""
    return asked[i, PROMPT_LEN] + out_n[i, EMITTED] - out_n[i, LOST_TOKENS]


@kernel
def output_to_reserve(i, rules, asked, hints, more, count):
    """Output tokens that the request's next admission reserves."""
    if i >= count[READY_POINT]:
        return asked[i, CAP]
    if more.kept[i, OUTPUT_SLOTS] > 0:
        return more.kept[i, OUTPUT_SLOTS]
    tokens = hints.numbers[i, RESERVE_OUT]
    if rules.residuals > 0 and count[NUM_RESIDUALS] > 0:
        seen = count[NUM_RESIDUALS]
        rank = min(math.ceil((seen + 1) * rules.residual_rank), seen)
        tokens = max(math.ceil(hints.numbers[i, GUESS] * more.residual[rank - 1, SORTED]), 1)
        return min(tokens, asked[i, CAP])
    return tokens


@kernel
def reserved_blocks(i, rules, asked, hints, out_n, more, count):
    """Blocks that admission takes from the pool at once."""
    known = known_tokens(i, asked, out_n)
    if rules.reservation == Reservation.OUTPUT:
        reserved = asked[i, PROMPT_LEN] + output_to_reserve(i, rules, asked, hints, more, count) + rules.reserve_offset
        known = max(known, reserved)
    return min(blocks_for(known, rules.block_size), max(rules.usable_blocks, 1))


@kernel
def first_chunk(i, rules, asked, out_n, more):
    """Tokens of the request's next iteration if budget and seats were free, beyond what waits in host memory."""
    tokens = known_tokens(i, asked, out_n) - more.kept[i, HOST_TOKENS]
    if rules.prefill < Prefill.CHUNKED:
        return tokens
    if rules.long_prefill_token_threshold > 0:
        tokens = min(tokens, rules.long_prefill_token_threshold)
    return min(tokens, rules.max_num_batched_tokens)


@kernel
def believed_output(i, generated, draw, rules, asked, hints, more, count):
    """Output tokens that the peak test expects of a request that has generated so many."""
    cap = asked[i, CAP]
    if rules.peak == Peak.HISTORY:
        return drawn_output(i, generated, draw, rules.seed, cap, more.history, count)
    if i >= count[READY_POINT]:
        return cap
    guess = hints.numbers[i, GUESS]
    if rules.peak == Peak.AGGRESSIVE:
        return min(max(guess, int(1.1 * generated)), cap)
    if more.kept[i, OUTPUT_SLOTS] > 0:
        guess = more.kept[i, OUTPUT_SLOTS]
    return max(guess, generated)


@kernel
def drawn_output(i, generated, draw, seed, cap, history, count):
    """An output length drawn from those in the history above `generated`, with the cap as the largest."""
    size = count[NUM_HISTORY]
    low = 0
    high = size
    while low < high:
        middle = (low + high) >> 1
        if history[middle, SORTED] > generated:
            high = middle
        else:
            low = middle + 1
    place = random_53(seed, i, draw) * UNIT * (size - low)
    at = low + int(place)
    below = min(history[at, SORTED], cap) if at < size else cap
    above = min(history[at + 1, SORTED], cap) if at + 1 < size else cap
    return max(int(below + (place - int(place)) * (above - below)), generated)


@kernel
def note_ratio(value, values, size, limit):
    """Remember a value, forgetting the oldest of `limit`; column 0 is in order of time, column 1 sorted. New size."""
    if size == limit:
        oldest = values[0, 0]
        for k in range(size - 1):
            values[k, 0] = values[k + 1, 0]
        at = 0
        while values[at, SORTED] != oldest:
            at += 1
        for k in range(at, size - 1):
            values[k, SORTED] = values[k + 1, SORTED]
        size -= 1
    values[size, 0] = value
    at = size
    while at > 0 and values[at - 1, SORTED] > value:
        values[at, SORTED] = values[at - 1, SORTED]
        at -= 1
    values[at, SORTED] = value
    return size + 1


@kernel
def held_tokens(s, live, count):
    """KV tokens of a member before this iteration."""
    return live[s, BASE] + count[CALL] - 1 if live[s, DECODING] else live[s, COMPUTED]
