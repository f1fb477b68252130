"""What a simulator of SGLang takes, beside its settings, and returns in a replay. Source: README of the SGLang goldens.

Time is counted in iterations of the loop, the first of which is number 0; requests carry the number of the
iteration that sees them. Texts are as in `Requests`, with one thing more: the last output token of a request that
ends before its `cap` is the end-of-sequence token, whose content id is `END_OF_TEXT`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import Floats, Ints, Requests


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
