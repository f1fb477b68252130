"""Is a run worth reading: does the queue stay bounded, and which part of the run is steady.

Source: metrics.md, section 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Trend(NamedTuple):
    """Growth of the number waiting over the second half of the arrivals."""

    growth: float  # requests, along the least-squares line
    noise: float  # requests, by which a queue in balance would wander
    is_unstable: bool


def waiting_trend(time_s: ArrayLike, waiting: ArrayLike, num_arrivals: int, gap_cv: float, length_cv: float) -> Trend:
    """Whether the queue grows beyond noise.

    The least-squares line through the number waiting is set against the wander of a queue that is exactly
    in balance: there the number waiting is a random walk, and m arrivals and departures spread it by
    sqrt(m * (gap_cv^2 + length_cv^2)). More growth than that (and than one request) is instability.
    Measured on 60 runs each of a 32-slot FCFS queue with Poisson arrivals, length CV 1 and m = 2,000: no alarm
    at 90 % load, 3 % of the runs at 95 %, 95 % at 110 %, all at 130 %.

    Parameters
    ----------
    time_s, waiting : (k,) float64
        Number waiting, evenly spaced over the second half of the arrivals.
    num_arrivals : int
        Arrivals in that half.
    gap_cv, length_cv : float
        Coefficients of variation of the gaps between arrivals and of the output lengths.
    """
    time, count = np.asarray(time_s, dtype=np.float64), np.asarray(waiting, dtype=np.float64)
    centred = time - time.mean()
    spread = float(centred @ centred)
    slope = float(centred @ count) / spread if spread > 0 else 0.0
    step = (time[-1] - time[0]) / (time.size - 1) if time.size > 1 else 0.0
    growth = slope * step * time.size
    noise = float(np.sqrt(num_arrivals * (gap_cv**2 + length_cv**2)))
    return Trend(growth, noise, growth > max(noise, 1.0))
