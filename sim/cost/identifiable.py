"""Which parameters a set of measurements determines at all.

The Jacobian holds the relative change of every measurement with the relative change of every parameter. Where its
condition number is above the limit, some combination of parameters hardly changes anything measured, and every
parameter that takes part in such a combination is flagged: there the fit says little more than what it started from.

Source: Belsley, Kuh and Welsch, Regression Diagnostics (1980): above 100, dependencies do serious harm.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LIMIT = 100.0
TAKES_PART = 0.1  # of a combination's squared weights, which add up to 1: of five parameters one always does


class Identifiability(NamedTuple):
    """Verdict on a fit."""

    condition_number: float  # infinite where some combination changes nothing
    is_weak: tuple[bool, ...]  # by parameter; some are exactly if the condition number is above the limit


def identifiability(jacobian: Floats) -> Identifiability:
    """Judge a Jacobian.

    Parameters
    ----------
    jacobian : (measurements, parameters) float64
        Relative changes.
    """
    measurements, parameters = jacobian.shape
    rows = max(0, parameters - measurements)  # fewer measurements than parameters: combinations without any effect
    _, strengths, combinations = np.linalg.svd(np.vstack([jacobian, np.zeros((rows, parameters))]))
    conditions = np.full(parameters, np.inf)
    np.divide(strengths[0], strengths, out=conditions, where=strengths > 0)
    takes_part = combinations[conditions > LIMIT] ** 2 >= TAKES_PART
    weak = np.flatnonzero(takes_part.any(axis=0))
    return Identifiability(float(conditions[-1]), tuple(i in weak for i in range(parameters)))
