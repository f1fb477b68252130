"""What the numbers mean: pure functions from raw events to the metrics of a run.

Times are seconds, lengths are tokens. A request is one element of each array. NaN stands for "never happened" on
the way in and for "not defined" on the way out; aggregates leave NaN out and say how many values are left.
Source: metrics.md, sections 1 to 4.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

FEWEST_VALUES_FOR_P99 = 100  # below, a P99 is one or two requests: displays and summaries leave it out
CHANCE = 2.0  # standard deviations that two counts or shares may be apart and still be alike


def ttft_s(arrival_s: ArrayLike, first_token_s: ArrayLike) -> Floats:
    """Time to first token, queueing and prefill included: t_1 - a."""
    return np.subtract(first_token_s, arrival_s, dtype=np.float64)


def queue_delay_s(arrival_s: ArrayLike, first_scheduled_s: ArrayLike) -> Floats:
    """Time until a request is first scheduled: s - a. Later preemptions do not count."""
    return np.subtract(first_scheduled_s, arrival_s, dtype=np.float64)


def e2e_s(arrival_s: ArrayLike, finish_s: ArrayLike) -> Floats:
    """Time until the last token: c - a."""
    return np.subtract(finish_s, arrival_s, dtype=np.float64)


def itl_s(token_s: ArrayLike) -> Floats:
    """Gaps between the tokens of one request, stalls and preemption pauses included: t_{i+1} - t_i."""
    return np.diff(np.asarray(token_s, dtype=np.float64))


def tpot_s(first_token_s: ArrayLike, finish_s: ArrayLike, num_tokens: ArrayLike) -> Floats:
    """Mean time per output token after the first: (c - t_1) / (n - 1).

    Parameters
    ----------
    first_token_s, finish_s : (n,) float64
        Seconds; NaN for a request that never finished.
    num_tokens : (n,) int64
        Tokens produced.

    Returns
    -------
    (n,) float64
        Seconds. NaN where only one token was produced: there is no second token to wait for.
    """
    tokens = np.asarray(num_tokens)
    span = np.subtract(finish_s, first_token_s, dtype=np.float64)
    mean_gap: Floats = span / np.where(tokens > 1, tokens - 1.0, np.nan)
    return mean_gap


def norm_latency_s(latency_s: ArrayLike, num_tokens: ArrayLike) -> Floats:
    """End-to-end time per output token: e2e / n. NaN where nothing was produced."""
    tokens = np.asarray(num_tokens)
    per_token: Floats = np.asarray(latency_s, dtype=np.float64) / np.where(tokens > 0, tokens, np.nan)
    return per_token


def max_gap_s(first_wait_s: ArrayLike, max_itl_s: ArrayLike) -> Floats:
    """Longest silence a user sat through: max(ttft, largest itl)."""
    return np.maximum(np.asarray(first_wait_s, dtype=np.float64), max_itl_s)


def slowdown(latency_s: ArrayLike, alone_s: ArrayLike) -> Floats:
    """End-to-end time relative to the same request alone on an idle machine; at least 1."""
    return np.divide(latency_s, alone_s, dtype=np.float64)


class Percentile(NamedTuple):
    """A percentile and the number of values behind it."""

    value: float  # NaN if there is no value at all
    m: int


def percentile(values: ArrayLike, q: float) -> Percentile:
    """Percentile by linear interpolation between order statistics, at position (m - 1) * q.

    Parameters
    ----------
    values : (n,) float64
        NaN is left out.
    q : float
        0 to 1.
    """
    return percentiles(values, (q,))[0]


def percentiles(values: ArrayLike, qs: tuple[float, ...]) -> tuple[Percentile, ...]:
    """Several percentiles of the same values, in one pass; see `percentile`."""
    defined = drop_nan(values)
    if not defined.size:
        return tuple(Percentile(np.nan, 0) for _ in qs)
    return tuple(Percentile(float(value), defined.size) for value in np.quantile(defined, qs))


def worth_showing(q: float, m: int) -> bool:
    """Whether a percentile rests on enough values to be displayed: P99 and beyond need 100."""
    return m > 0 and (q < 0.99 or m >= FEWEST_VALUES_FOR_P99)


def p99(values: ArrayLike) -> float:
    """P99 of the values that are defined; NaN where it rests on too few to be displayed."""
    found = percentile(values, 0.99)
    return found.value if worth_showing(0.99, found.m) else np.nan


def mean(values: ArrayLike) -> float:
    """Mean of the values that are defined; NaN if there are none."""
    defined = drop_nan(values)
    return float(defined.mean()) if defined.size else np.nan


def drop_nan(values: ArrayLike) -> Floats:
    """The values that are defined."""
    array = np.asarray(values, dtype=np.float64)
    undefined = np.isnan(array)
    return array[~undefined] if undefined.any() else array


def tail_ratio(num_tokens: ArrayLike) -> float:
    """P99 of the output lengths over their mean."""
    return percentile(num_tokens, 0.99).value / mean(num_tokens)


def cv(values: ArrayLike) -> float:
    """Coefficient of variation: standard deviation (of the values as a population) over mean."""
    defined = drop_nan(values)
    return float(defined.std() / defined.mean()) if defined.size else np.nan


def jain_index(served_tokens: ArrayLike) -> float:
    """Fairness among k clients, 1 / k (one gets everything) to 1 (all alike): (sum x)^2 / (k * sum x^2)."""
    served = np.asarray(served_tokens, dtype=np.float64)
    return float(served.sum() ** 2 / (served.size * np.square(served).sum()))


def share_waiting_longer(waits_s: ArrayLike, limit_s: float) -> float:
    """Share of the defined waits that exceed a limit."""
    defined = drop_nan(waits_s)
    return float((defined > limit_s).mean()) if defined.size else np.nan


def per_second(count: float, duration_s: float) -> float:
    """A throughput: count over (last finish - first arrival). NaN for a run without duration."""
    return count / duration_s if duration_s > 0 else np.nan
