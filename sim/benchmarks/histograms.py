"""What a histogram says of the distribution behind it: straight lines between its edges."""

import math

import numpy as np

from sim.benchmarks.benchmark import NOT_MEASURED, Stats
from sim.benchmarks.prometheus import Histogram
from sim.lengths_spec import Quantiles
from sim.part import MAX_TOKENS

ROUNDING = 0.5  # whole lengths from 3 to 5 are what 2.5 to 5.5 rounds to
JUMP = 1e-9  # of rank, where a distribution function stands still
WIDEST_STEP = 2.5  # vLLM's token edges go 1, 2, 5, 10, ... as far as max_model_len


def lengths_of(histogram: Histogram) -> Quantiles:
    """Lengths in tokens, for a scenario.

    A bucket without upper edge ends where the histogram's mean puts it, at most where the next edge would be.
    """
    ends = histogram.edges.copy()
    ends[-1] = _upper_end(histogram) if math.isinf(ends[-1]) else ends[-1]
    ends += ROUNDING
    begins = np.concatenate(([ROUNDING], ends[:-1]))
    ranks = np.cumsum(histogram.counts) / histogram.total
    points: list[tuple[float, float]] = [(0.0, ROUNDING)]
    for i in np.flatnonzero(histogram.counts):
        rank, tokens = points[-1]
        if begins[i] > tokens:  # empty buckets before: the lengths jump
            points.append((rank + min(JUMP, float(ranks[i] - rank) / 2), float(begins[i])))
        points.append((float(ranks[i]), float(ends[i])))
    if points[1][0] <= JUMP:  # a jump from nothing is no jump
        points[:2] = [(0.0, points[1][1])]
    points[-1] = (1.0, points[-1][1])
    return Quantiles(points=tuple((rank, min(max(tokens, 1.0), float(MAX_TOKENS))) for rank, tokens in points))


def stats_ms_of(histogram: Histogram | None) -> Stats:
    """Mean, and quantiles by interpolation as Prometheus makes it, of a histogram of seconds.

    A quantile in the bucket without upper edge is not known.
    """
    if histogram is None:
        return NOT_MEASURED
    cumulative = np.cumsum(histogram.counts)
    quantiles = []
    for rank in (0.5, 0.99):
        i = int(np.searchsorted(cumulative, rank * cumulative[-1]))
        below, begin = (cumulative[i - 1], histogram.edges[i - 1]) if i else (0.0, 0.0)
        inside = (rank * cumulative[-1] - below) / histogram.counts[i]
        end = histogram.edges[i]
        quantiles.append(None if math.isinf(end) else 1000 * float(begin + inside * (end - begin)))
    return Stats(None if histogram.mean is None else 1000 * histogram.mean, *quantiles)


def _upper_end(histogram: Histogram) -> float:
    """Upper edge of the last bucket that makes the mean of all buckets the histogram's."""
    last = float(histogram.edges[-2]) if len(histogram.edges) > 1 else 1.0
    if histogram.mean is None or not histogram.counts[-1]:
        return last * WIDEST_STEP
    edges = np.concatenate(([0.0], histogram.edges[:-1]))
    middles = (edges[:-1] + edges[1:]) / 2 + ROUNDING
    rest = histogram.mean * histogram.total - float(histogram.counts[:-1] @ middles)
    wanted = 2 * (rest / float(histogram.counts[-1]) - ROUNDING) - last
    return float(np.clip(wanted, last, last * WIDEST_STEP))
