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


@pytest.mark.parametrize(
    ("one", "other", "is_apart"),
    [  # two standard deviations of the difference of Poisson counts: 2, 3.5, 4.5, 28.6, 49.8
        (0, 1, False), (0, 3, False), (0, 5, True), (100, 105, False), (100, 155, True), (300, 320, False),
    ],
)  # fmt: skip
def test_preemptions_that_chance_explains_are_alike(one, other, is_apart):
    objective = OBJECTIVES["preemptions"]
    runs = now(preemptions=one), now(preemptions=other)
    assert objective.differs(*runs) == objective.differs(*runs[::-1]) == differs(runs, objective) == is_apart


@pytest.mark.parametrize(
    ("one", "other", "is_apart"),
    [  # of 1,000 requests; two standard deviations of the difference of binomial counts: 2, 8.9, 34.3, 34.3
        (0, 1, False), (980, 1000, True), (800, 830, False), (800, 840, True), (995, 1000, False),
    ],
)  # fmt: skip
def test_a_goodput_of_a_few_requests_more_is_the_same_goodput(one, other, is_apart):
    """995 of 1,000 lie within 1 % of all; 1 instead of none does not, and is a single request."""
    runs = [now()._replace(goodput_rps=good / 50, good=good, requests=1000) for good in (one, other)]
    assert differs(runs, OBJECTIVES["goodput"]) == is_apart


def test_a_single_preemption_more_or_less_makes_no_bias_the_best():
    counts = dict.fromkeys(FINE_BIASES, 1.0) | {0.5 * TWICE: 0.0, -2 * TWICE: 60.0}
    runs = {ErrorCell(bias, 0.5): now(preemptions=count) for bias, count in counts.items()}
    found = direction(runs, 0.5, OBJECTIVES["preemptions"])
    assert found.best_bias == 0
    assert (found.least_bias, found.most_bias) == (-1.5 * TWICE, 2 * TWICE)
    assert not any((found.is_over_apart, found.is_under_apart, found.is_over_from_under))


def test_as_good_as_the_best_is_a_stretch_without_a_gap():
    """The dip at no bias is not as good, so what lies beyond it is not told as if it were."""
    values = dict.fromkeys(FINE_BIASES, 100.0) | {0.0: 98.0}
    runs = {ErrorCell(bias, 0.5): now(value) for bias, value in values.items()}
    found = direction(runs, 0.5, THROUGHPUT)
    assert found.best_bias == -TWICE / 4
    assert (found.least_bias, found.most_bias) == (FINE_BIASES[0], -TWICE / 4)
