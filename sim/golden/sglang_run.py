"""What a simulator of SGLang takes and returns in a replay. Source: README of the SGLang goldens.

Time is counted in iterations of the loop, the first of which is number 0; requests carry the number of the
iteration that sees them. Texts are as in `Requests`, with one thing more: the last output token of a request that
ends before its `cap` is the end-of-sequence token, whose content id is `END_OF_TEXT`.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import SHARED_TEXT, Floats, Ints, Requests

END_OF_TEXT = SHARED_TEXT  # other shared texts have larger content ids


class SglangOrder(IntEnum):
    """`schedule_policy`: which waiting request is tried first."""

    FCFS = 0
    LPM = 1  # longest cached prefix
    LOF = 2  # largest max_new_tokens


class StepKind(IntEnum):
    """What an iteration ran."""

    IDLE = 0
    PREFILL = 1
    DECODE = 2
    MIXED = 3


class SglangRules(NamedTuple):
    """Settings of one SGLang scheduler."""

    order: SglangOrder
    pool_tokens: int  # KV tokens, `max_total_num_tokens`
    page_size: int  # tokens
    max_running_requests: int
    max_prefill_tokens: int
    chunked_prefill_size: int  # 0: prompts are not cut
    prefill_max_requests: int  # admissions in one pass; 0: any number
    context_len: int  # tokens
    clip_max_new_tokens: int  # most tokens that the estimate of an output counts
    retract_decode_steps: int
    mixed_chunk: bool
    radix_cache: bool
    overlap: bool
    init_ratio: float  # the new-token ratio: at first and after idling, its floor, and the drop at a decode step
    min_ratio: float
    ratio_drop: float


class SglangRequests(NamedTuple):
    """A workload."""

    requests: Requests  # `output_len` is the true length; `cap` is `max_new_tokens` as asked, before the clip
    ignore_eos: NDArray[np.bool_]  # (n,)


class SglangSteps(NamedTuple):
    """One row an iteration, taken after scheduling and before results are processed.

    The lists of row `k` are entries `start[k]` to `start[k + 1]`. Counts of memory are in tokens.
    """

    step: Ints  # (s,) number of the iteration; jumps when nothing is there to do
    kind: Ints  # (s,) `StepKind`
    prefill_start: Ints  # (s + 1,)
    prefill: Ints  # (m, 3) request, new tokens computed, tokens before them
    hit: Ints  # (s,) tokens found in the cache by the admissions
    decode_start: Ints  # (s + 1,)
    decode: Ints  # (d,) who decodes one token, in batch order
    retracted_start: Ints  # (s + 1,)
    retracted: Ints  # (r,)
    finished_start: Ints  # (s + 1,)
    finished: Ints  # (f,) by the end of the iteration
    running: Ints  # (s,) running batch, as are the following right after scheduling
    waiting: Ints  # (s,)
    available: Ints  # (s,) free tokens
    evictable: Ints  # (s,) cached tokens that nothing locks
    chunked: Ints  # (s,) request between two chunks; -1: none
    is_full: Ints  # (s,) the running batch's flag
    ratio: Floats  # (s,) new-token ratio
    ratio_end: Floats  # (s,) at the end of the iteration
    is_reset: Ints  # (s,) fully idle, ratio reset


class SglangRun(NamedTuple):
    """A run to its end."""

    steps: SglangSteps
    max_new_tokens: Ints  # (n,) of each request, after the clip at arrival
