"""The largest rate that something sustains, whatever it is: a server, a fleet, a fleet behind a router.

A search asks one question again and again, "is this rate sustained?", and knows nothing of what answers. Source:
metrics.md, section 2: bisection to 2.5 %, at most 20 evaluations, the same random numbers at every rate.
"""

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import NamedTuple

from scipy.special import stdtrit

WIDTH = 0.025
MAX_EVALUATIONS = 20  # of one search
LARGEST_FACTOR = 4.0
CONFIDENCE = 0.95

Passes = Callable[[float], bool]


class LargestRate(NamedTuple):
    """What one search found."""

    rate_rps: float  # largest rate seen to pass; 0 if none did
    failed_rps: float  # smallest rate above it that failed; infinite if none did
    evaluations: int

    @property
    def is_settled(self) -> bool:
        """Whether some rate passed and one at most `WIDTH` above it failed."""
        return self.rate_rps > 0 and self.failed_rps - self.rate_rps <= WIDTH * self.failed_rps < math.inf


class SustainedRate(NamedTuple):
    """The largest rate over several replications, with an interval for the rate of an endless run."""

    rate_rps: float  # mean of what each replication was seen to sustain
    low_rps: float  # interval; equal to the bracket of the search where there is but one replication
    high_rps: float
    searches: tuple[LargestRate, ...]  # one a replication

    @property
    def evaluations(self) -> int:
        """Runs made, over all replications."""
        return sum(search.evaluations for search in self.searches)

    @property
    def is_settled(self) -> bool:
        """Whether every replication's search ended in a narrow bracket."""
        return all(search.is_settled for search in self.searches)


def largest_rate(
    passes: Passes,
    start_rps: float,
    *,
    floor_rps: float = 0.0,
    ceiling_rps: float = math.inf,
    factor: float = 2.0,
    width: float = WIDTH,
) -> LargestRate:
    """Largest rate that passes: stepped up or down until bracketed, then bisected, never in larger steps.

    Parameters
    ----------
    passes : callable
        Whether a rate in requests/s is sustained; taken to hold up to some rate and nowhere above.
    start_rps : float
        First rate tried.
    floor_rps : float
        No rate below it is tried.
    ceiling_rps : float
        No rate above it passes, so none is tried; a rate that equals it may.
    factor : float
        From the first rate to the second. Each further step is the square of the one before, at most 4.
    width : float
        Where to stop: the bracket over its upper end.

    Returns
    -------
    LargestRate
        At most `width` below the limit of a system whose rates pass up to one, and never above it.
    """
    low, high, rate, evaluations = 0.0, ceiling_rps, min(start_rps, ceiling_rps), 0
    while evaluations < MAX_EVALUATIONS:
        evaluations += 1
        if passes(rate):
            low = rate
        else:
            high = rate
        if high - low <= width * high < math.inf:
            break
        rate = min(low * factor, (low + high) / 2) if low else rate / factor
        if not low and rate < floor_rps:
            break
        factor = min(factor**2, LARGEST_FACTOR)
    return LargestRate(low, high, evaluations)


def summarised(searches: Sequence[LargestRate]) -> SustainedRate:
    """Mean and interval over the searches of independent replications.

    Returns
    -------
    SustainedRate
        With several replications the interval is Student's for the mean, at 95 %, widened by the brackets: its lower
        end rests on rates that passed, its upper end on rates that failed.
    """
    passed = [search.rate_rps for search in searches]
    failed = [search.failed_rps for search in searches]
    mean = fmean(passed)
    return SustainedRate(mean, max(mean - half_width(passed), 0.0), fmean(failed) + half_width(failed), tuple(searches))


def half_width(values: Sequence[float]) -> float:
    """Half of Student's interval for the mean of independent values; 0 for a single one."""
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return 0.0
    return float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * stdev(values) / math.sqrt(len(values))
