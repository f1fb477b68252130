"""Pooled gaps: percentiles out of the engine's histogram against percentiles of the raw values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.accounts import NUM_GAP_BINS
from sim.engine.gaps import note_gap
from sim.engine.state import GAP_BIN, GAP_HIGH, GAP_LOW
from sim.gaps import GapHistogram

as_python = getattr(note_gap, "py_func", note_gap)  # itself where nothing is compiled
HALF_A_PERCENT = 0.005  # an order statistic is its bin's mean; bins are at most 0.4 % wide


def pooled(gaps_s: list[float]) -> GapHistogram:
    """The gaps as the engine counts them, one after the other."""
    histogram = np.zeros((NUM_GAP_BINS, 2))
    count, real = np.zeros(GAP_BIN + 1, np.int64), np.zeros(max(GAP_LOW, GAP_HIGH) + 1)
    for gap_s in gaps_s:
        as_python(gap_s, 1, histogram, count, real)
    return GapHistogram(histogram[:, 0], histogram[:, 1])


def test_pooled_gaps_of_check_2_are_exact() -> None:
    found = pooled([0.1] + [0.02] * 10)
    assert found.mean_s() == pytest.approx(0.3 / 11, rel=1e-12)
    assert found.percentile(0.5) == (pytest.approx(0.02, rel=1e-12), 11)
    assert found.percentile(0.99).value == pytest.approx(0.092, rel=1e-12)  # position 9.9 between 0.02 and 0.1


def test_pause_of_check_5_is_the_largest_pooled_gap() -> None:
    assert pooled([1.0, 8.0, 1.0]).percentile(1.0).value == 8.0


def test_histogram_of_nothing_has_no_percentile() -> None:
    empty = pooled([])
    assert empty.m == 0
    assert np.isnan(empty.percentile(0.5).value)
    assert np.isnan(empty.mean_s())
    assert empty.cdf()[0].size == 0


def test_gaps_of_zero_and_beyond_the_layout_are_counted_at_the_ends() -> None:
    found = pooled([0.0, 2.0**-60, 2.0**60])
    assert found.gaps[0] == 2
    assert found.gaps[NUM_GAP_BINS - 1] == 1


def test_worst_case_of_a_bin_is_within_half_a_percent() -> None:
    crowd, lonely = 1.0, 1.0 + 0.999 / 256  # the ends of one bin
    found = pooled([crowd] * 1000 + [lonely])
    assert np.count_nonzero(found.gaps) == 1
    assert found.percentile(1.0).value == pytest.approx(lonely, rel=HALF_A_PERCENT)


def test_cdf_rises_to_one_at_the_largest_gap() -> None:
    gap_s, share = pooled([0.02, 0.02, 0.1, 0.5]).cdf()
    assert gap_s == pytest.approx([0.02, 0.1, 0.5])
    assert share == pytest.approx([0.5, 0.75, 1.0])


def test_histograms_of_two_runs_add() -> None:
    first, second = pooled([0.1, 0.2]), pooled([0.3])
    both = GapHistogram(first.gaps + second.gaps, first.sum_s + second.sum_s)
    assert both.percentile(1.0) == (pytest.approx(0.3), 3)


@given(st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=200), st.floats(0, 1))
def test_pooled_percentile_is_within_half_a_percent_of_the_raw_one(gaps: list[float], q: float) -> None:
    raw = np.quantile(gaps, q)
    assert pooled(gaps).percentile(q).value == pytest.approx(raw, rel=HALF_A_PERCENT)


@given(st.lists(st.sampled_from([0.01, 0.0173, 0.5, 3.0]), min_size=1, max_size=50), st.floats(0, 1))
def test_pooled_percentile_is_exact_where_the_gaps_of_a_bin_are_equal(gaps: list[float], q: float) -> None:
    assert pooled(gaps).percentile(q).value == pytest.approx(np.quantile(gaps, q), rel=1e-12)
