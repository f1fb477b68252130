"""Gaps between tokens, pooled over all requests in a weighted log histogram.

Source: metrics.md, section 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.metrics import Percentile

Floats = NDArray[np.float64]


class GapHistogram(NamedTuple):
    """Gaps between tokens of all requests, pooled, in bins of at most 0.4 % width.

    An order statistic is the mean of its bin: exact where the gaps of a bin are equal, else within 0.5 %.
    """

    gaps: Floats  # (NUM_GAP_BINS,) how many
    sum_s: Floats  # (NUM_GAP_BINS,) seconds

    @property
    def m(self) -> int:
        """Number of gaps."""
        return int(self.gaps.sum())

    def mean_s(self) -> float:
        """Mean gap; NaN without any."""
        return float(self.sum_s.sum()) / self.m if self.m else np.nan

    def percentile(self, q: float) -> Percentile:
        """Percentile of the pooled gaps, in seconds; `q` is 0 to 1."""
        m = self.m
        if not m:
            return Percentile(np.nan, 0)
        position = (m - 1) * q
        below = int(position)
        rank = np.array([below, min(below + 1, m - 1)])
        cumulative = np.cumsum(self.gaps)
        gap_bin = np.searchsorted(cumulative, rank, side="right")
        low, high = self.sum_s[gap_bin] / self.gaps[gap_bin]
        return Percentile(float(low + (high - low) * (position - below)), m)

    def cdf(self) -> tuple[Floats, Floats]:
        """Gaps in seconds, ascending, and the share of all gaps up to each; for drawing."""
        used = np.flatnonzero(self.gaps)
        return self.sum_s[used] / self.gaps[used], np.cumsum(self.gaps[used]) / max(self.m, 1)
