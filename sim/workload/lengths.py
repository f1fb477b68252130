"""Prompt and output lengths: inverse CDFs of all distributions, and rank correlation between the two.

Every length is `quantile(u)` rounded half up, at least 1 and at most `MAX_TOKENS`. Quantile functions only
ever rise, so a request keeps its rank when a mean or a spread changes.
"""

import math
from typing import Literal, assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, ndtri

from sim.catalog import length_quantiles
from sim.lengths_spec import (
    Constant,
    Empirical,
    Gamma,
    Geometric,
    Lengths,
    LogNormal,
    LogNormalP90,
    ParetoTail,
    Quantiles,
    Uniform,
)
from sim.part import MAX_TOKENS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kind = Literal["prompt", "output"]

Z90 = float(ndtri(0.9))


def tokens_at(lengths: Lengths, kind: Kind, u: Floats) -> Ints:
    """Lengths of the requests whose ranks are `u`.

    Parameters
    ----------
    lengths : Lengths
        The distribution, as a scenario names it.
    kind : "prompt" or "output"
        Which lengths of an empirical data set are meant.
    u : (n,) float64
        Ranks, strictly between 0 and 1.

    Returns
    -------
    (n,) int64
        Tokens.
    """
    # Half up, not half to even: neighbouring lengths get equal shares. The cap keeps the far tail inside int64.
    rounded = np.floor(quantile(lengths, kind, u) + 0.5)
    return np.clip(rounded, 1, MAX_TOKENS).astype(np.int64)


def quantile(lengths: Lengths, kind: Kind, u: Floats) -> Floats:
    """Inverse CDF before rounding; arguments as in `tokens_at`, result in tokens."""
    match lengths:
        case Constant():
            return np.full(len(u), float(lengths.tokens))
        case Uniform():
            return lengths.low + np.floor(u * (lengths.high - lengths.low + 1))
        case LogNormal():
            variance = math.log1p(lengths.cv**2)  # of the logarithm
            return _log_normal(lengths.mean * math.exp(-variance / 2), math.sqrt(variance), u)
        case LogNormalP90():
            return _log_normal(lengths.median, math.log(lengths.p90 / lengths.median) / Z90, u)
        case Gamma():
            return _gamma(lengths, u)
        case Geometric():
            return _geometric(lengths, u)
        case ParetoTail():
            return _pareto_tail(lengths, u)
        case Empirical():
            return _between(length_quantiles(lengths.dataset, kind), u)
        case Quantiles():
            return _between(lengths.points, u)
        case _:
            assert_never(lengths)


def correlated(u_prompt: Floats, u_output: Floats, spearman: float) -> Floats:
    """Output ranks that go with the prompt ranks to the wanted degree (Gaussian copula).

    Parameters
    ----------
    u_prompt, u_output : (n,) float64
        Independent ranks.
    spearman : float
        Wanted rank correlation, -1 to 1.

    Returns
    -------
    (n,) float64
        Uniform like `u_output`; equal to it where the correlation is 0.

    Source: Pearson's relation for the bivariate normal, rho = 2 sin(pi rho_s / 6).
    """
    if spearman == 0:
        return u_output
    rho = 2 * math.sin(math.pi * spearman / 6)
    own_part = math.sqrt(max(1 - rho * rho, 0.0))  # 2 sin(pi / 6) may exceed 1 by rounding
    ranks: Floats = ndtr(rho * ndtri(u_prompt) + own_part * ndtri(u_output))
    return ranks


def _log_normal(median: float, sigma: float, u: Floats) -> Floats:
    # exp overflows to infinity at worst, and infinity is cut to MAX_TOKENS like any other giant.
    with np.errstate(over="ignore"):
        tokens: Floats = median * np.exp(sigma * ndtri(u))
    return tokens


def _gamma(lengths: Gamma, u: Floats) -> Floats:
    if lengths.cv < 1e-8:  # nobody is a token away from the largest mean, and the shape would overflow
        return np.full(len(u), lengths.mean)
    shape = lengths.cv**-2
    tokens: Floats = gammaincinv(shape, u) * (lengths.mean / shape)
    return tokens


def _geometric(lengths: Geometric, u: Floats) -> Floats:
    """Number of tokens up to and with the last: 1, 2, 3, ..."""
    if lengths.mean == 1:
        return np.ones(len(u))
    tokens: Floats = np.ceil(np.log1p(-u) / math.log1p(-1 / lengths.mean))
    return tokens


def _pareto_tail(lengths: ParetoTail, u: Floats) -> Floats:
    """Log-normal through median and p90 up to rank 0.9, where the Pareto tail takes over at the same value."""
    body = _log_normal(lengths.median, math.log(lengths.p90 / lengths.median) / Z90, u)
    tail = lengths.p90 * ((1 - np.maximum(u, 0.9)) / 0.1) ** (-1 / lengths.alpha)
    return np.where(u <= 0.9, body, tail)


def _between(points: tuple[tuple[float, float], ...], u: Floats) -> Floats:
    """Straight lines between the known (quantile, tokens); flat beyond the first and the last."""
    quantiles, lengths = zip(*points, strict=True)
    tokens: Floats = np.interp(u, quantiles, lengths)
    return tokens
