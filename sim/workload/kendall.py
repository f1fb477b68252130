"""How much noise leaves a wanted Kendall tau between a prediction and the truth.

What is expected of tau over the noise is computed pair by pair on quantiles of the true lengths; the noise that makes
it the wanted value is found by bisection. Tau is tau-b: pairs that one side ties count half against it.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, ndtr

Floats = NDArray[np.float64]

POINTS = 256  # quantiles that stand for the lengths
BINS = 400  # of their differences
NOISE_GRID = 2.0**20  # a rounded result is the same on every machine
LEAST, MOST = -14.0, 14.0  # ln of the noise


def noise_for_tau(log_len: Floats, tau: float) -> float:
    """Standard deviation m for which ln N + m z, z normal, orders the requests with the wanted tau.

    Parameters
    ----------
    log_len : (n,) float64
        ln N of the requests, in any order.
    tau : float
        0 to 1. Lengths that tie allow less than 1; what they allow is met with hardly any noise.

    Returns
    -------
    float
        Log units.
    """
    points = _quantiles(log_len, POINTS)
    gap = np.subtract.outer(points, points)
    pairs, untied = _pairs(points)
    if untied == 0:
        return 0.0
    count, edges = np.histogram(gap[gap > 0], bins=BINS)
    middle = (edges[1:] + edges[:-1]) / 2

    def expected(noise: float) -> float:
        # P(right order) - P(wrong order) of two that differ by d, each with noise m: erf(d / 2m).
        return float(count @ erf(middle / (2 * noise))) / math.sqrt(pairs * untied)

    return _noise_at(expected, tau)


def noise_for_class_tau(log_len: Floats, log_borders: Floats, tau: float) -> float:
    """Share rho of the truth in a classifier's estimate for which its classes order the requests with the wanted tau.

    The estimate is mean + rho (ln N - mean) + sqrt(rho (1 - rho)) sd z: what a regression on a signal of that quality
    gives, pulled to the mean and less spread than the truth.

    Parameters
    ----------
    log_len : (n,) float64
        ln N of the requests, in any order.
    log_borders : (k - 1,) float64
        Upper ends of all classes but the last, ln tokens.
    tau : float
        0 to 1. Few and wide classes allow far less than 1; what they allow is met with hardly any noise.

    Returns
    -------
    float
        0 to 1.
    """
    points = _quantiles(log_len, POINTS // 2)  # each with all its classes
    return _class_share(points.tobytes(), log_borders.tobytes(), float(log_len.mean()), float(log_len.std()), tau)


@lru_cache(maxsize=64)  # a study asks for the same classes on the same requests again and again
def _class_share(points_bytes: bytes, borders_bytes: bytes, mean: float, sd: float, tau: float) -> float:
    """The same by quantiles of the lengths, their mean and standard deviation."""
    points, log_borders = (np.frombuffer(each, np.float64) for each in (points_bytes, borders_bytes))
    order = np.sign(np.subtract.outer(points, points))
    pairs, untied = _pairs(points)

    def expected(noise: float) -> float:
        rho = 1 / (1 + noise**2)
        centre, scale = mean + rho * (points - mean), max(np.sqrt(rho * (1 - rho)) * sd, 1e-12)
        below = ndtr((log_borders[None, :] - centre[:, None]) / scale)
        share = np.diff(below, axis=1, prepend=0.0, append=1.0)  # (points, k) of each class
        lower = np.concatenate((np.zeros((len(points), 1)), below), axis=1)  # P(class below)
        agree = (share * (order @ lower)).sum()  # P(right order) - P(wrong order), over all pairs
        tied = float((share.sum(axis=0) ** 2).sum()) / 2
        most = math.sqrt(untied * max(pairs - tied, 0.0))
        return float(agree) / most if most > 1e-6 else 0.0

    return 1 / (1 + _noise_at(expected, tau) ** 2)


def _quantiles(log_len: Floats, how_many: int) -> Floats:
    """Evenly spaced order statistics, so that ties stay ties."""
    rank = ((np.arange(how_many) + 0.5) / how_many * len(log_len)).astype(np.int64)
    return np.sort(log_len)[rank]


def _pairs(points: Floats) -> tuple[float, float]:
    """Pairs of requests, and those of different lengths, if each point stands for as many requests as it likes.

    A point that ties with no other stands for lengths that differ, one that does for equal ones.
    """
    _, tied_with = np.unique(points, return_counts=True)
    tied = float((tied_with[tied_with > 1] ** 2).sum())
    return len(points) ** 2 / 2, (len(points) ** 2 - tied) / 2


def _noise_at(expected: Callable[[float], float], tau: float) -> float:
    """The noise at which a falling function has the wanted value, between tiny and huge."""
    low, high = LEAST, MOST
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if expected(np.exp(middle)) > tau else (low, middle)
    return float(np.rint(np.exp(low) * NOISE_GRID) / NOISE_GRID)
