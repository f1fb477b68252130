"""Errors of simulated against measured figures, in percent."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = dict[str, Any]

PLOTTED = 400  # points of a parity plot that are kept


def error_percent(simulated: Floats, measured: Floats) -> float:
    """Mean absolute error; NaN on either side does not count."""
    return 100 * float(np.nanmean(np.abs(simulated / measured - 1)))


def bias_percent(simulated: Floats, measured: Floats) -> float:
    """Mean error; above 0 the simulator is too slow."""
    return 100 * float(np.nanmean(simulated / measured - 1))


def deviation_percent(simulated: float, measured: float) -> float:
    """Error of one figure."""
    return 100 * (simulated / measured - 1)


def thinned(rows: Sequence[Row], most: int = PLOTTED) -> list[Row]:
    """At most so many rows, evenly over all of them."""
    if len(rows) <= most:
        return list(rows)
    return [rows[i] for i in np.linspace(0, len(rows) - 1, most).round().astype(int)]


def mean_of(rows: Iterable[Row], name: str) -> float | None:
    """Mean of a column; None where no row has it."""
    values = [row[name] for row in rows if row[name] is not None]
    return float(np.mean(values)) if values else None
