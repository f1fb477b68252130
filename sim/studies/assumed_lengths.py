"""The output lengths that a service-level target assumes, as a distribution to simulate.

A target names a few figures: mean, median, p95, p99, cap. Between known quantiles the logarithm of the length runs
straight against the normal score (log-normal in pieces); beyond the last it goes on as before. A mean that the
quantiles leave open bends the piece below the p99; without any quantile answers are geometric, which is what an
answer is that never knows how long it is.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

from sim.errors import ScenarioError
from sim.lengths_spec import Geometric, Lengths
from sim.studies.output_lengths import ENDS, GRID, by_quantiles
from sim.system_spec import AssumedLengths
from sim.workload.lengths import tokens_at

Floats = NDArray[np.float64]

SCORES = ndtri(np.clip(GRID, ENDS, 1 - ENDS))
BEND = 0.85  # quantile at which a known mean bends the distribution
MEAN_DRAWS = (np.arange(20_000) + 0.5) / 20_000


def assumed_lengths(assumed: AssumedLengths) -> Lengths:
    """The distribution behind the figures; the cap is not part of it.

    Raises
    ------
    ScenarioError
        Neither mean nor median is given, or the figures contradict each other.
    """
    known = {q: value for q, value in ((0.5, assumed.p50), (0.95, assumed.p95), (0.99, assumed.p99)) if value}
    _check(assumed, known)
    if not known:
        assert assumed.mean is not None
        return Geometric(mean=assumed.mean)
    if len(known) == 1:
        return by_quantiles(_one_quantile(assumed, *next(iter(known.items()))))
    if assumed.mean is None or 0.5 not in known:
        return by_quantiles(_pieces(known))
    return by_quantiles(_bent(known, assumed.mean))


def mean_of(lengths: Lengths, cap: int | None = None) -> float:
    """Mean of a distribution under a cap, in tokens."""
    return float(np.minimum(tokens_at(lengths, "output", MEAN_DRAWS), cap or np.inf).mean())


def _check(assumed: AssumedLengths, known: dict[float, float]) -> None:
    if assumed.mean is None and assumed.p50 is None:
        raise ScenarioError("slo.assumed.mean is none; a mean or a median (p50) is needed to simulate it")
    values = list(known.values())
    if any(later < earlier for earlier, later in pairwise(values)):
        raise ScenarioError(f"slo.assumed has the quantiles {values}; ascending ones are needed")


def _one_quantile(assumed: AssumedLengths, q: float, value: float) -> Floats:
    """Log-normal by one quantile and the mean, or by the median alone with a geometric's spread."""
    score = float(ndtri(q))
    if assumed.mean is None:
        return np.asarray(value * np.exp(SCORES), np.float64)
    ratio = math.log(value / assumed.mean)  # score sigma - sigma^2 / 2
    if q == 0.5:
        if ratio > 0:
            raise ScenarioError(
                f"slo.assumed.p50 is {value:g}; at most the mean ({assumed.mean:g}) is allowed where there is no p99"
            )
        sigma = math.sqrt(-2 * ratio)
    elif 2 * ratio > score**2:
        most = assumed.mean * math.exp(score**2 / 2)
        raise ScenarioError(
            f"slo.assumed.p{100 * q:.0f} is {value:g}; at most {most:.0f} is possible for a log-normal of that mean"
        )
    else:
        sigma = score - math.sqrt(score**2 - 2 * ratio)
        if sigma < 0:
            raise ScenarioError(f"slo.assumed.p{100 * q:.0f} is {value:g}; at least the mean is needed")
    median = assumed.mean * math.exp(-(sigma**2) / 2)
    return np.asarray(median * np.exp(sigma * SCORES), np.float64)


def _pieces(known: dict[float, float]) -> Floats:
    """Log-normal in pieces through two or more quantiles."""
    score, value = ndtri(list(known)), np.log(list(known.values()))
    slope = np.diff(value) / np.diff(score)
    inside = np.interp(SCORES, score, value)
    below, above = np.minimum(SCORES - score[0], 0), np.maximum(SCORES - score[-1], 0)
    return np.asarray(np.exp(inside + slope[0] * below + slope[-1] * above), np.float64)


def _bent(known: dict[float, float], mean: float) -> Floats:
    """The pieces with one more knot below the p95 or p99, as high as the mean wants it."""
    (low_q, low), (high_q, high) = list(known.items())[:2]
    q = BEND

    def excess(knot: float) -> float:
        return mean_of(by_quantiles(_pieces({low_q: low, q: knot} | {k: v for k, v in known.items() if k > q}))) - mean

    lowest, highest = low * (1 + 1e-9), high * (1 - 1e-9)
    if excess(lowest) > 0 or excess(highest) < 0:
        fitting = [mean_of(by_quantiles(_pieces({low_q: low, q: end, high_q: high}))) for end in (lowest, highest)]
        raise ScenarioError(
            f"slo.assumed.mean is {mean:g}; with these quantiles {fitting[0]:.0f} to {fitting[1]:.0f} is possible"
        )
    knot = brentq(excess, lowest, highest, xtol=1e-3)
    return _pieces({low_q: low, q: knot} | {k: v for k, v in known.items() if k > q})
