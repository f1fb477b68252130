"""The numbers behind the figures: short arrays that keep the extremes.

Figures are cheap to draw and dear to move, so nothing here is longer than a screen is wide.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin
from sim.metrics import drop_nan, percentiles, worth_showing
from sim.result import Result
from sim.view.quantity import INPUT_RATE, ITL, NORM_LATENCY, OUTPUT_RATE, TOTAL_RATE, TPOT, TTFT, Quantity

Floats = NDArray[np.float64]

MAX_POINTS = 200  # a line; a third of a screen wide
MARKS = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class OverTime(NamedTuple):
    """What the server did, over time; one entry a stretch of time."""

    time_s: Floats  # (k,) middle of the stretch, from the first arrival
    rates: dict[str, Floats]  # tokens/s by key of the quantity, each (k,)
    running: Floats  # (k,) mean number of requests
    waiting: Floats  # (k,)
    memory: dict[str, Floats]  # share of the usable KV blocks by ledger row, each (k,); they add up to 1
    time: dict[str, Floats]  # share of the stretch by ledger row, each (k,); they add up to 1


class Distribution(NamedTuple):
    """A cumulative distribution and the limit it is held against."""

    quantity: Quantity
    value: Floats  # (k,) ascending, in the quantity's stored unit
    share: Floats  # (k,) of the values that are at most `value`
    num_values: int  # values behind the curve
    marks: dict[str, float]  # "p50" and so on, where enough values stand behind it
    limit: float | None = None
    attainment: float | None = None  # share of requests within the limit


def over_time(result: Result) -> OverTime:
    """Throughput, queue and both ledgers of a run, over time."""
    bins = thin(result.run.bins)
    group = -(-len(result.run.bins) // len(bins))
    width_s = group * result.run.bin_width_s
    start_s = np.arange(len(bins)) * width_s
    duration_s = np.minimum(result.run.duration_s - start_s, width_s)
    bins, start_s, duration_s = (each[duration_s > 0] for each in (bins, start_s, duration_s))
    mean = bins / duration_s[:, None]
    return OverTime(
        start_s + duration_s / 2,
        {
            OUTPUT_RATE.key: mean[:, Bin.OUTPUT_TOKENS],
            INPUT_RATE.key: mean[:, Bin.PREFILL_TOKENS],
            TOTAL_RATE.key: mean[:, Bin.PREFILL_TOKENS] + mean[:, Bin.DECODE_TOKENS],
        },
        mean[:, Bin.RUNNING],
        mean[:, Bin.WAITING],
        {row.name.lower(): mean[:, row] / result.resolved.usable_blocks for row in MEMORY_ROWS},
        {row.name.lower(): mean[:, row] / result.ledger.stages for row in TIME_ROWS},
    )


def distributions(result: Result) -> dict[str, Distribution]:
    """TPOT, TTFT and ITL of a run, by these names.

    With batch delivery gaps between tokens mean nothing: TPOT becomes the end-to-end time per token, ITL is empty.
    """
    per_token = NORM_LATENCY if result.is_batch_delivery else TPOT
    return {
        "TPOT": _of_requests(per_token, result.tpot_s, result.limits.tpot_s),
        "TTFT": _of_requests(TTFT, result.ttft_s, result.limits.ttft_s),
        "ITL": _of_gaps(result),
    }


def _of_requests(quantity: Quantity, values: Floats, limit: float | None) -> Distribution:
    defined = drop_nan(values)
    value, share = cdf(defined)
    marks = {name: at.value for name, at in zip(MARKS, percentiles(defined, tuple(MARKS.values())), strict=True)}
    shown = {name: value for name, value in marks.items() if worth_showing(MARKS[name], len(defined))}
    within = float((defined <= limit).mean()) if limit is not None and len(defined) else None
    return Distribution(quantity, value, share, len(defined), shown, limit, within)


def _of_gaps(result: Result) -> Distribution:
    if result.is_batch_delivery:
        return Distribution(ITL, np.empty(0), np.empty(0), 0, {})
    gaps = result.gaps
    used = np.flatnonzero(gaps.gaps)
    value, share = weighted_cdf(gaps.sum_s[used] / gaps.gaps[used], gaps.gaps[used])
    marks = {name: gaps.percentile(q).value for name, q in MARKS.items() if worth_showing(q, gaps.m)}
    return Distribution(ITL, value, share, gaps.m, marks)


def thin(columns: Floats, max_points: int = MAX_POINTS) -> Floats:
    """Add neighbouring rows up until at most `max_points` are left.

    Parameters
    ----------
    columns : (n, c) float64
        Sums over stretches of time, such as the engine's bins.
    max_points : int

    Returns
    -------
    (k, c) float64
        The same totals in fewer rows.
    """
    group = max(1, -(-len(columns) // max_points))
    return np.add.reduceat(columns, np.arange(0, len(columns), group), axis=0)


def cdf(value: Floats, max_points: int = MAX_POINTS) -> tuple[Floats, Floats]:
    """Points of an empirical distribution function, dense in the upper tail.

    Parameters
    ----------
    value : (n,) float64
        In any order, without NaN.
    max_points : int

    Returns
    -------
    value, share : (k,) float64
        Smallest and largest value are always among them.
    """
    ordered = np.sort(value)
    if len(ordered) == 0:
        return ordered, ordered
    rank = ranks(len(ordered), max_points)
    return ordered[rank], (rank + 1) / len(ordered)


def weighted_cdf(value: Floats, weight: Floats, max_points: int = MAX_POINTS) -> tuple[Floats, Floats]:
    """As `cdf`, for values in ascending order that stand for `weight` equal ones each."""
    kept = weight > 0
    value, share = value[kept], np.cumsum(weight[kept]) / max(weight.sum(), 1.0)
    if len(value) == 0:
        return value, share
    wanted = (ranks(10 * max_points, max_points - 1) + 1) / (10 * max_points)
    index = np.unique(np.append(np.searchsorted(share, wanted[:-1]), [0, len(value) - 1]))
    return value[index], share[index]


def ranks(n: int, max_points: int) -> NDArray[np.int64]:
    """Which of `n` order statistics to draw: even steps of the share, then of its logarithm towards the tail."""
    if n <= max_points:
        return np.arange(n)
    body = np.linspace(0, 0.9, max_points // 2)
    tail = 1 - np.geomspace(0.1, 1 / n, max_points // 2 - 1)
    return np.unique(np.append(np.round(np.append(body, tail) * (n - 1)).astype(np.int64), n - 1))
