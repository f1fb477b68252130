"""What `@kernel` makes of a function: part of the kernels that call it, compiled once for all constants."""

import numpy as np
import pytest
from numba import njit

from sim.engine.kernel import kernel


@kernel
def scaled(value, factor):
    """A kernel within a kernel within a kernel."""
    return value * factor


@kernel
def sum_of_scaled(values, factor):
    """One with a loop, called with an array."""
    total = 0
    for i in range(len(values)):
        total += scaled(values[i], factor)
    return total


@njit
def all_scales(values, factor):
    """Called from Python, and calls others with constants, with what it was given, and by name."""
    return sum_of_scaled(values, 2), sum_of_scaled(values, 3), sum_of_scaled(values, factor=factor), scaled(2.5, 4)


def test_kernels_are_part_of_what_calls_them():
    assert all_scales(np.array([1, 2, 3], np.int32), 10) == (12, 18, 60, 10.0)
    assert len(sum_of_scaled.overloads) == 1
    assert len(scaled.overloads) == 2  # of integers, and of a float


def test_kernel_is_not_for_python():
    with pytest.raises(TypeError, match="only kernels call scaled; as plain Python it is its py_func"):
        scaled(2, 3)
    assert scaled.py_func(2, 3) == 6
