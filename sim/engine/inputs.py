"""What the engine is given: requests, the step time of a deployment, the rules of a scheduler."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Requests(NamedTuple):
    """One row a request, in order of arrival, then all retries; never written by the engine.

    A retry comes `retry_s` after the last token of the answer before it. Rows are in order of arrival as far as it is
    known beforehand, so that `arrival_s` has no entries for retries.

    A request's text is a run of segments followed by text of its own. Two positions hold the same token
    exactly if their content ids are equal; own text and all output tokens have the row number as content id.
    Segments of request `i` are rows `segment_start[i]` to `segment_start[i + 1]` of the two segment arrays.
    """

    arrival_s: Floats  # (n,) seconds, ascending; in a closed loop only the think time before the request
    prompt_len: Ints  # (n,) tokens, at least 1
    output_len: Ints  # (n,) tokens the request will produce: min(true length, cap, max_model_len - prompt)
    cap: Ints  # (n,) largest output the scheduler must expect: min(cap, max_model_len - prompt)
    priority: Ints  # (n,) smaller is served first
    is_straggler: Ints  # (n,) 1 where output_len exceeds the tail quantile of all output_len
    segment_start: Ints  # (n + 1,)
    segment_content: Ints  # (m,) content id, from SHARED_TEXT on for texts that are nobody's own
    segment_len: Ints  # (m,) tokens
    users: int  # 0: open loop. Else closed loop: so many users, each waits for its answer, thinks, asks again
    again: Ints | None = None  # (rows,) row of the retry that follows a request's answer; 0: none does
    retry_s: float = 0.0


SHARED_TEXT = 1_000_000_000  # first content id of shared texts; below it ids are row numbers


class Predictions(NamedTuple):
    """What the predictor says of each request; one row a request, never written by the engine.

    Before `delay_s` has passed since its arrival a request is to be taken as if `point` were its cap.
    """

    delay_s: Floats  # (n,) seconds from arrival until the prediction is there
    score: Floats  # (n,) smaller is thought shorter; in tokens but for kind `rank`, where only the order counts
    point: Ints  # (n,) tokens, 1 to cap; the cap where the kind names no length
    lower: Ints  # (n,) tokens: bounds of the interval or class, else the point
    upper: Ints  # (n,) tokens, at most the cap
    log_mean: Floats  # (n,) what the predictor believes of ln(output): its mean
    log_sd: Floats  # (n,) ... and its standard deviation, 0 where the kind says no more than one length


class Refinement(NamedTuple):
    """How predictions are told anew while requests are served: see sim/engine/general/refine.py.

    Class `c` of `k` means `c * width` to `(c + 1) * width` tokens still to come; the last is open.
    """

    key: int  # of the random numbers
    every: int  # tokens from one look to the next
    width: int  # tokens
    scale: float  # a look sees so many times what is really left
    thresholds: Ints  # (k, k) row: true class; below which random number, of 2^53, a look names that class or a lower
    likelihood: Floats  # (k, k) row: true class; how often a look is thought to name that class


class StepTime(NamedTuple):
    """Duration of one iteration: `linear_s[tokens] + kv_s * KV tokens read + attention_s * prefill work`.

    KV tokens read: KV lengths of all decoding members plus the context before each prefill chunk.
    Prefill work: sum over chunks of q * context + q * q / 2. Units need not be seconds: a golden replay
    counts microseconds. Source: cost.md.
    """

    linear_s: Floats  # (m,) by tokens in the iteration; [0] is the part that no token adds to
    beyond_s: float  # for each token past the end of the table
    kv_s: float
    attention_s: float


class Batching(IntEnum):
    """When may a request join."""

    ITERATION = 0  # at every iteration (vLLM V1)
    REQUEST = 1  # when the batch before has ended (static batching)


class Order(IntEnum):
    """Which waiting request is served first. Ties: arrival, then id."""

    FCFS = 0
    PRIORITY = 1


class Reserve(IntEnum):
    """KV blocks set aside at admission."""

    CHUNK = 0  # what the first chunk fills (vLLM V1)
    CAP = 1  # prompt + largest allowed output (Orca, static batching)
    MAX_MODEL_LEN = 2  # the longest sequence the server allows


class Rules(NamedTuple):
    """One scheduler: independent choices and limits, all known to the kernel as numbers."""

    batching: int
    order: int
    reserve: int
    hold: int  # request-level: 1 keeps finished members in their slots until the batch ends
    batch_delivery: int  # request-level: 1 hands all tokens over when the batch ends
    batch_wait_s: float  # request-level: wait so long for a batch to fill
    block_size: int  # tokens
    usable_blocks: int  # vLLM's null block not counted
    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    chunked_prefill: int  # 0 or 1, like the switches below
    long_prefill_token_threshold: int  # 0 is off
    prefix_caching: int
    keep_blocks: int  # watermark: free blocks that admission leaves while anything runs
    reserve_full_isl: int
    is_async: int = 0  # vLLM's asynchronous scheduling: a call is made while the step before it is computed
    pause_s: float = 0.0  # asynchronous: sleep of the loop after an iteration that executed nothing
    # what older vLLM releases do, 0 or 1 each: sim/vllm_releases.py
    self_preempt_stops: int = 0  # priority: nobody is served after a request that preempted itself
    limit_lone: int = 0  # the prefill threshold counts for a request that is alone, too
    free_to_back: int = 0  # blocks without a key join the back of the free ring as well
    skip_oversized: int = 0  # unchunked: a prompt over the budget lets others pass
