"""Service-level objectives: who met the limits, and what the requests say that the run left unfinished.

Source: metrics.md, sections 2 and 6.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sim.metrics import per_second

Bools = NDArray[np.bool_]


class Limits(NamedTuple):
    """Service-level limits of one class; None is no limit."""

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is limited."""
        return self == Limits()


class Attainment(NamedTuple):
    """How many requests met all limits."""

    good: int
    counted: int
    excluded: int  # unfinished at the end of the run, no limit passed yet

    @property
    def share(self) -> float:
        """Share of the counted requests that met all limits; NaN if none counts."""
        return self.good / self.counted if self.counted else np.nan


def meets(limits: Limits, first_wait_s: ArrayLike, per_token_s: ArrayLike, latency_s: ArrayLike) -> Bools:
    """Which requests meet all limits, (n,) bool. An undefined time per token (one token only) counts as 0."""
    good = np.ones(np.shape(latency_s), dtype=np.bool_)
    for limit, value in zip(limits, (first_wait_s, np.nan_to_num(per_token_s), latency_s), strict=True):
        if limit is not None:
            good &= np.asarray(value) <= limit
    return good


def attainment(good: Bools, is_finished: Bools, is_unanswered: Bools, can_still_meet: Bools) -> Attainment:
    """Share of requests that meet their limits.

    A request the run left unfinished is a miss when a limit has passed whatever would have come next, and is
    excluded otherwise. A request that was rejected, or whose client gave up, is a miss: its user got no answer.

    Parameters
    ----------
    good : (n,) bool
        Meets all limits; read for finished requests only.
    is_finished, is_unanswered : (n,) bool
    can_still_meet : (n,) bool
        The best the rest of the run could have done meets all limits; read for unfinished requests only.
    """
    excluded = ~is_finished & ~is_unanswered & can_still_meet
    return Attainment(int((good & is_finished).sum()), int((~excluded).sum()), int(excluded.sum()))


def goodput_rps(good: int, duration_s: float) -> float:
    """Rate form of goodput: requests that meet all limits, per second of the run."""
    return per_second(good, duration_s)
