"""The five choices that make a scheduler, its limits, and what a predictor told about each request."""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from sim.engine.inputs import Batching, Floats, Ints


class Prefill(IntEnum):
    """How prompts are computed."""

    MIXED = 0  # whole, beside decoding members (Orca)
    FIRST = 1  # whole, in iterations of their own before any decoding (vLLM V0)
    CHUNKED = 2  # cut to what decoding leaves of the token budget (Sarathi, vLLM V1)
    ALTERNATE = 3  # cut to the token budget, in turns with decoding iterations


class Reservation(IntEnum):
    """KV memory that admission makes sure of."""

    CHUNK = 0  # what the first chunk fills
    PROMPT = 1  # the whole known text
    OUTPUT = 2  # the known text and `Hints.reserve_out` tokens of output
    PEAK = 3  # nothing is set aside; the future peak of all members must fit


class Peak(IntEnum):
    """What `Reservation.PEAK` believes about outputs."""

    GUESS = 0  # each member grows to `Hints.guess` and leaves
    HORIZON = 1  # each member grows for `horizon` iterations at most, none leaves
    HISTORY = 2  # outputs are drawn from those that finished last (Past-Future)
    AGGRESSIVE = 3  # 1.1 times what was generated, at least `Hints.guess`
    BOUND = 4  # each member grows to its lower bound, which rises with what it has generated


class Queue(IntEnum):
    """Which waiting request is served first. Ties: arrival, then id."""

    ARRIVAL = 0
    KEY = 1  # smallest `Hints.key`
    NEED = 2  # largest reservation that fits (decreasing first fit)
    CLASS = 3  # head of the class with the smallest counter


class Refresh(IntEnum):
    """What changes the order of live requests where iterations choose among all of them."""

    NEVER = 0
    REMAINING = 1  # guess less what was generated
    LEVELS = 2  # queues with growing quanta
    REFINED = 3  # remaining length, estimated anew while generating
    DECLARED = 4  # arrival until `declare_tokens` tokens are out, the key from then on


class Eviction(IntEnum):
    """What happens to who gives way."""

    RECOMPUTE = 0  # KV is thrown away, tokens are kept
    SWAP = 1  # KV moves to host memory while there is room, else as above
    RESTART = 2  # tokens are thrown away too
    FAIL = 3  # the whole batch dies and starts again


class Victim(IntEnum):
    """Who gives way when blocks run out."""

    LAST_ADMITTED = 0
    LATEST_ARRIVAL = 1
    LARGEST_KEY = 2
    LARGEST_REMAINING = 3
    FEWEST_GENERATED = 4
    SMALLEST_BOUND = 5


class Counting(IntEnum):
    """What moves the counter of a class (`Queue.CLASS`)."""

    TOKENS = 0  # prompt tokens at admission, twice the output tokens (VTC)
    TURNS = 1  # an admission counts 1 / weight (weighted round robin)
    NONE = 2  # nothing: the class whose first request arrived first


class GeneralRules(NamedTuple):
    """One scheduler, all known to the kernel as numbers. Names ending in `_s` are seconds and float, as are ratios."""

    batching: int
    prefill: int
    reservation: int
    queue: int
    eviction: int
    victim: int
    block_size: int  # tokens
    usable_blocks: int
    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    # details of the choices, 0 where they do not apply
    hold: int = 0  # request-level: finished members keep their slots until the batch ends
    batch_delivery: int = 0  # request-level: all tokens are handed over when the batch ends
    batch_wait_s: float = 0.0  # request-level: wait so long for a batch to fill
    is_grouped: int = 0  # request-level: a batch takes only requests of one `Hints.group`, at most `Hints.group_size`
    gather: int = 0  # request-level: requests planned together; none of them starts before all have arrived
    rerun_size: int = 0  # request-level: those cut at `Hints.stop` start again, so many to a batch
    long_prefill_token_threshold: int = 0
    reserve_full_isl: int = 0  # CHUNK: admission wants room for the whole prompt
    keep_blocks: int = 0  # free blocks that admission leaves while anything runs
    reserve_offset: int = 0  # OUTPUT: added to prompt + reserve_out
    doubles: int = 0  # OUTPUT: who outgrows the reservation is evicted and reserves twice the output
    residuals: int = 0  # OUTPUT: guess scaled by the quantile of so many past ratios of truth to guess
    residual_rank: float = 0.0  # ... that quantile, 0 to 1
    peak: int = 0
    peak_tokens: int = 0  # PEAK: largest future peak
    horizon: int = 0
    history: int = 0  # HISTORY: finished outputs that are remembered
    admission_interval: int = 1  # iterations
    is_preemptive: int = 0  # every iteration chooses among all live requests, running or not
    refresh: int = 0
    declare_tokens: int = 0
    keep_share: float = 2.0  # REFINED: after this share of the first estimate nobody displaces the request; >1: never
    guard_steps: int = 0  # iterations without service after which a request is promoted; 0: no guard
    guard_quantum: int = 0  # iterations that a promoted request runs
    guard_wait_s: float = 0.0  # KEY: the longest-waiting is served when it waited so long; 0: no guard
    guard_factor: float = 0.0  # KEY: ... or so many times its own estimate
    estimate_base_s: float = 0.0  # KEY: the estimate, and its part for each guessed token
    estimate_token_s: float = 0.0
    queue_weight: float = 0.0  # KEY: weight of `Hints.key_tail` for each waiting request per seat, and its limits
    queue_weight_low: float = 0.0
    queue_weight_high: float = 0.0
    quantum_s: float = 0.0  # LEVELS: of the first queue
    quantum_growth: float = 2.0
    boost_steps: int = 0  # LEVELS: every so many iterations ...
    boost_wait_s: float = 0.0  # ... who has not run for so long returns to the first queue
    spare_blocks: int = 0  # preemptive: displaced requests are swapped out ahead of need to keep so many blocks free
    host_blocks: int = 0  # SWAP: room in host memory
    host_keep: int = 0  # SWAP: no new prompt is admitted when fewer host blocks are free
    swap_block_s: float = 0.0  # time of moving one block
    swapped_first: int = 0  # SWAP: nobody new is admitted while anybody is swapped out
    counting: int = 0
    predict_delay_s: float = 0.0  # a request is ordered and reserved as if it generated to its cap until then
    predict_step_s: float = 0.0  # synchronous prediction: each arrival lengthens the next iteration
    timeout_s: float = 0.0  # the client gives up so long after arrival; 0: never
    seed: int = 0
    stages: int = 1  # pipeline parallelism; the loop of sim/engine/pipeline is the only one that reads these five
    most_in_flight: int = 1  # batches called and not applied
    is_async: int = 0  # calls are made ahead of the tokens that they compute
    is_overlapping: int = 0  # chunks of one prompt may be in several batches; running members in order of admission
    pause_s: float = 0.0  # sleep of the loop after an iteration that executed nothing
    head_lasts: int = 0  # filled in: who is next depends on nothing but the queue


class Hints(NamedTuple):
    """What is known about each request, besides its prompt and its cap; one row a request."""

    key: Floats  # (n,) smallest is served first
    key_tail: Floats  # (n,) weighted by the length of the queue on arrival and added to `key`
    guess: Ints  # (n,) predicted output tokens, 1 to cap
    reserve_out: Ints  # (n,) output tokens that admission reserves
    stop: Ints  # (n,) output tokens at which a planned batch cuts; cap where none does
    group: Ints  # (n,) batch or class
    group_size: Ints  # (n,) most members of a batch of that group
    weight: Floats  # (classes,) share of each class
    ageing: Floats = np.ones(0)  # (bits,) what an arrival later by each power of two of time makes of a key


def whole(rules: GeneralRules) -> GeneralRules:
    """Rules of one type each, with what follows from them."""
    types = GeneralRules.__annotations__
    values: dict[str, Any] = {name: types[name](value) for name, value in rules._asdict().items()}
    is_guarded = rules.guard_wait_s > 0 or rules.guard_factor > 0
    lasts = rules.queue in (Queue.ARRIVAL, Queue.KEY) and not is_guarded and rules.residuals == 0
    values["head_lasts"] = int(lasts and rules.predict_delay_s == 0 and rules.timeout_s == 0)
    return GeneralRules(**values)


__all__ = [
    "Batching",
    "Counting",
    "Eviction",
    "GeneralRules",
    "Hints",
    "Peak",
    "Prefill",
    "Queue",
    "Refresh",
    "Reservation",
    "Victim",
    "whole",
]
