"""Which request is of which task type."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sim.workload.randomness import Purpose, RandomNumbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def deal_types(shares: Sequence[float], mix: Literal["random", "exact"], numbers: RandomNumbers, n: int) -> Ints:
    """Task type of each request.

    Parameters
    ----------
    shares : sequence of float
        Weight of each type, greater than 0; they need not add up to 1.
    mix : "random" or "exact"
        Drawn by share, or dealt so that every first k requests hold the shares as nearly as whole numbers can.
    numbers : RandomNumbers
        Purpose TASK_TYPE is used, by "random" only.
    n : int
        Requests.

    Returns
    -------
    (n,) int64
        Index into `shares`.
    """
    if len(shares) == 1:
        return np.zeros(n, dtype=np.int64)
    if mix == "exact":
        return _dealt(shares, n)
    borders = np.cumsum(shares)[:-1] / math.fsum(shares)
    return np.searchsorted(borders, numbers.uniforms(Purpose.TASK_TYPE, n), side="right")


def _dealt(shares: Sequence[float], n: int) -> Ints:
    """Request k + 1 of a type is due when its share amounts to k + 1/2 requests; the earliest due comes first.

    Source: Webster's (Sainte-Lague's) method of apportionment. Its result does not depend on `n`, and after a
    multiple of the sum of whole-numbered shares each type has had exactly its share.
    """
    total = math.fsum(shares)
    counts = [math.ceil(n * share / total) + 1 for share in shares]  # one more than can be needed
    due = np.concatenate([(np.arange(count) + 0.5) / share for count, share in zip(counts, shares, strict=True)])
    types = np.repeat(np.arange(len(shares)), counts)
    return types[np.argsort(due, kind="stable")[:n]]  # stable: a tie goes to the type named first
