"""Times on a grid of one nanosecond, so that they are the same on every machine."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

NS_PER_S = 1_000_000_000


def rounded_to_ns(times_s: Floats) -> Floats:
    """Seconds, each moved to the nearest whole nanosecond."""
    rounded: Floats = np.rint(times_s * NS_PER_S) / NS_PER_S
    return rounded
