"""Classes of output lengths, and how a classifier takes one for another."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sim.catalog import confusion_matrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class LengthClasses(NamedTuple):
    """Neighbouring ranges of lengths; the last is open."""

    longest: Ints  # (k - 1,) tokens: longest length of every class but the last
    shares: Floats  # (k, k) row: true class, column: how often it is taken for that class

    def of(self, tokens: Ints) -> Ints:
        """Class of each length, (n,) int64."""
        return np.searchsorted(self.longest, tokens, side="left").astype(np.int64)

    def bounds(self, length_class: Ints, cap: Ints) -> tuple[Ints, Ints]:
        """Shortest and longest length of each class, (n,) int64 tokens, at most the cap."""
        shortest = np.concatenate(([1], self.longest + 1))[length_class]
        longest = np.concatenate((self.longest, [np.iinfo(np.int64).max]))[length_class]
        return np.minimum(shortest, cap), np.minimum(longest, cap)


def equal_classes(width: int, num_classes: int) -> LengthClasses:
    """Classes of `width` tokens; a classifier that is always right."""
    return LengthClasses(width * np.arange(1, num_classes, dtype=np.int64), np.eye(num_classes))


def published_classes(name: str) -> LengthClasses:
    """Classes and errors of a published confusion matrix."""
    found = confusion_matrix(name)
    return LengthClasses(np.array(found.longest, dtype=np.int64), np.array(found.shares))


def confusion_by_accuracy(accuracy: float, num_classes: int) -> Floats:
    """Confusion matrix that is right with one probability in every class, and halves it with each class further off.

    Returns
    -------
    (k, k) float64
        Rows add up to 1.
    """
    distance = np.abs(np.subtract.outer(np.arange(num_classes), np.arange(num_classes)))
    wrong = np.where(distance > 0, 0.5**distance, 0.0)
    shares: Floats = accuracy * np.eye(num_classes) + (1 - accuracy) * wrong / wrong.sum(axis=1, keepdims=True)
    return shares


def confusion_by_spread(spread: float, width: int, num_classes: int) -> Floats:
    """Confusion matrix of equal classes for a log-normal error; every class errs like its middle.

    Parameters
    ----------
    spread : float
        Standard deviation of the error, log units.
    width : int
        Tokens a class.
    num_classes : int

    Returns
    -------
    (k, k) float64
        Rows add up to 1.
    """
    middle = np.arange(num_classes) * width + (width + 1) / 2
    return class_shares(np.log(middle), np.full(num_classes, spread), width, num_classes)


def class_shares(log_mean: Floats, log_sd: Floats, width: int, num_classes: int) -> Floats:
    """Probability of each class, where ln(length) is normal.

    Parameters
    ----------
    log_mean, log_sd : (n,) float64
        Log units; no spread at all counts as hardly any.
    width : int
        Tokens a class.
    num_classes : int

    Returns
    -------
    (n, k) float64
        Rows add up to 1.
    """
    borders = np.log(width * np.arange(1, num_classes) + 0.5)
    below = ndtr((borders - log_mean[:, None]) / np.maximum(log_sd, 1e-9)[:, None])
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def confused(true_class: Ints, shares: Floats, u: Floats) -> Ints:
    """Class that each request is taken for, by inverse CDF along its row.

    Parameters
    ----------
    true_class : (n,) int64
    shares : (k, k) float64
    u : (n,) float64
        Uniform, strictly between 0 and 1; a larger one never gives a lower class.

    Returns
    -------
    (n,) int64
    """
    num_classes = len(shares)
    borders = np.cumsum(shares, axis=1)[:, :-1] + np.arange(num_classes)[:, None]  # rows one above the other
    found = np.searchsorted(borders.ravel(), u + true_class, side="right")
    return found - (num_classes - 1) * true_class
