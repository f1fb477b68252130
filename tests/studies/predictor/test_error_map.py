"""The map of errors: from numbers written down here."""

import numpy as np
import pytest
from scipy.special import ndtr

from sim.studies.predictor.error_map import (
    BIASES,
    FINE_BIASES,
    OBJECTIVES,
    SPREADS,
    TWICE,
    ErrorCell,
    cells,
    curve,
    differs,
    direction,
    grid,
)
from sim.studies.predictor.uses import Measured

THROUGHPUT, TPOT = OBJECTIVES["throughput"], OBJECTIVES["p99 TPOT"]


def now(tokens_per_s=100.0, tpot_s=0.02, preemptions=0.0):
    return Measured(tokens_per_s, tpot_s, 1.0, preemptions, 0.1, 0.5)


def along(value, spread=0.5):
    """Runs along the bias, by a function of it."""
    return {ErrorCell(bias, spread): now(value(bias)) for bias in FINE_BIASES}


def test_the_curve_comes_first_and_the_map_has_every_cell_once():
    every = cells(0.5)
    assert every[: len(FINE_BIASES)] == [ErrorCell(bias, 0.5) for bias in FINE_BIASES]
    assert len(set(every)) == len(every) == len(FINE_BIASES) + (len(SPREADS) - 1) * len(BIASES)
    assert {TWICE, 0.0, -TWICE} <= set(BIASES) <= set(FINE_BIASES)


def test_direction_reads_both_sides_off_the_curve():
    found = direction(along(lambda bias: 100 - 30 * max(bias, 0) - 10 * max(-bias, 0)), 0.5, THROUGHPUT)
    assert (found.unbiased, found.best_bias, found.best) == (100, 0, 100)
    assert found.over == pytest.approx(100 - 30 * TWICE)
    assert found.under == pytest.approx(100 - 10 * TWICE)
    assert found.quantile == 0.5


def test_best_bias_means_a_quantile():
    found = direction(along(lambda bias: 100 - 50 * abs(bias - TWICE)), 0.5, THROUGHPUT)
    assert found.best_bias == TWICE
    assert found.quantile == pytest.approx(ndtr(TWICE / 0.5))
    assert direction(along(lambda bias: 100 - abs(bias), spread=0.0), 0.0, THROUGHPUT).quantile is None


def test_of_a_plateau_the_least_bias_is_best():
    found = direction(along(lambda bias: 100 if bias < 0 else 50), 0.5, THROUGHPUT)
    assert (found.least_bias, found.most_bias) == (FINE_BIASES[0], -TWICE / 4)
    assert found.best_bias == -TWICE / 4


def test_where_lower_is_better_the_lowest_is_best():
    runs = {ErrorCell(bias, 0.5): now(tpot_s=0.02 + 0.01 * bias) for bias in FINE_BIASES}
    assert direction(runs, 0.5, TPOT).best_bias == FINE_BIASES[0]


def test_an_incomplete_or_undefined_curve_says_nothing():
    assert direction({}, 0.5, THROUGHPUT) is None
    assert direction({ErrorCell(0.0, 0.5): now()}, 0.5, THROUGHPUT) is None
    undefined = {cell: run._replace(goodput_rps=np.nan) for cell, run in along(lambda bias: 100.0).items()}
    assert direction(undefined, 0.5, OBJECTIVES["goodput"]) is None


def test_curve_and_grid_are_in_order_and_leave_out_what_is_not_known():
    runs = {ErrorCell(TWICE, 0.5): now(50), ErrorCell(-TWICE, 0.5): now(80), ErrorCell(0.0, 0.9): now(70)}
    bias, value = curve(runs, 0.5, THROUGHPUT)
    assert bias.tolist() == [-TWICE, TWICE]
    assert value.tolist() == [80, 50]
    spreads, biases, values = grid(runs, THROUGHPUT)
    assert spreads.tolist() == [0.5, 0.9]
    assert values[0, biases.tolist().index(TWICE)] == 50
    assert np.isnan(values).sum() == values.size - 3


def test_a_difference_within_one_percent_is_none():
    assert not differs([now(100.0), now(100.9)], THROUGHPUT)
    assert differs([now(100.0), now(102.0)], THROUGHPUT)
    assert differs([now(preemptions=0), now(preemptions=3)], OBJECTIVES["preemptions"])
