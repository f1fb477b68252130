"""The search for the largest rate, on systems whose limit is known."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.studies.rate_search import MAX_EVALUATIONS, LargestRate, largest_rate, summarised

TRUE_LIMIT = 3.70


@pytest.mark.parametrize("start", [0.01, 0.5, 1.0, 3.0, 3.7, 5.0, 400.0])
def test_search_ends_at_most_a_width_below_the_true_limit(start: float) -> None:
    found = largest_rate(lambda rate: rate <= TRUE_LIMIT, start)
    assert found.is_settled
    assert 3.6075 <= found.rate_rps <= TRUE_LIMIT
    assert found.evaluations <= MAX_EVALUATIONS


@given(limit=st.floats(0.01, 1000), start=st.floats(0.01, 1000), factor=st.floats(1.05, 3), above=st.floats(1, 4))
def test_whatever_the_start_and_the_ceiling_the_result_is_never_above_the_limit(limit, start, factor, above) -> None:
    tried: list[float] = []

    def passes(rate: float) -> bool:
        tried.append(rate)
        return rate <= limit

    found = largest_rate(passes, start, ceiling_rps=above * limit, factor=factor)
    assert found.is_settled
    assert 0.975 * limit <= found.rate_rps <= limit < found.failed_rps or found.failed_rps == above * limit
    assert max(tried) <= above * limit
    assert found.evaluations == len(tried) <= MAX_EVALUATIONS


def test_search_that_never_passes_finds_nothing() -> None:
    found = largest_rate(lambda rate: False, 1.0)
    assert (found.rate_rps, found.is_settled) == (0.0, False)
    assert found.evaluations == MAX_EVALUATIONS


def test_nothing_below_the_floor_is_tried() -> None:
    tried: list[float] = []
    found = largest_rate(lambda rate: bool(tried.append(rate)), 8.0, floor_rps=0.5)
    assert tried == [8.0, 4.0, 1.0]  # halved, then divided by four; the next would be 0.25
    assert (found.rate_rps, found.is_settled, found.evaluations) == (0.0, False, 3)


def test_search_that_always_passes_is_not_settled() -> None:
    found = largest_rate(lambda rate: True, 1.0)
    assert not found.is_settled
    assert found.failed_rps == math.inf


def test_a_ceiling_that_is_reached_settles_the_search() -> None:
    found = largest_rate(lambda rate: True, 5.0, ceiling_rps=8.0)
    assert found.is_settled
    assert 8.0 * 0.975 <= found.rate_rps <= 8.0


def test_rates_away_from_the_start_are_reached_in_steps_that_grow() -> None:
    tried: list[float] = []
    largest_rate(lambda rate: bool(tried.append(rate)) or rate <= 1.0, 100.0, factor=1.25)
    assert [round(before / after, 4) for before, after in pairwise(tried[:5])] == [1.25, 1.5625, 2.4414, 4.0]


def test_interval_is_students_for_the_mean_widened_by_the_brackets() -> None:
    searches = [LargestRate(rate, 1.02 * rate, 5) for rate in (9.0, 10.0, 11.0, 10.0, 10.0)]
    # 2.776 is Student's 97.5 % quantile with 4 degrees of freedom; the standard deviation of the five is 0.7071.
    half = 2.7764451 * 0.70710678 / math.sqrt(5)
    found = summarised(searches)
    assert found.rate_rps == pytest.approx(10.0)
    assert found.low_rps == pytest.approx(10.0 - half)
    assert found.high_rps == pytest.approx(1.02 * (10.0 + half))


def test_with_one_replication_the_interval_is_the_bracket() -> None:
    found = summarised([largest_rate(lambda rate: rate <= TRUE_LIMIT, 1.0)])
    assert found.low_rps == found.rate_rps <= TRUE_LIMIT <= found.high_rps


def test_interval_covers_the_mean_of_normal_limits_as_often_as_it_says() -> None:
    numbers = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        limits = numbers.normal(10.0, 0.5, 5)
        found = summarised([largest_rate(lambda rate, limit=limit: rate <= limit, 9.0) for limit in limits])  # type: ignore[misc]
        hits += found.low_rps <= 10.0 <= found.high_rps
    assert hits >= 0.93 * 400  # 95 % at least: the brackets only widen it
