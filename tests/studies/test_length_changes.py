"""Output lengths changed while their total stays, by hand and on random lengths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.metrics import cv
from sim.studies.length_changes import scaled, tail_limit, with_spread, without_tail, without_variance

PLENTY = 1_000_000


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def one_type(lengths: np.ndarray) -> np.ndarray:
    return np.zeros(len(lengths), np.int64)


def test_without_variance_fractions_go_from_request_to_request():
    lengths = ints(1, 5, 10)  # mean 16 / 3: borders 5.33, 10.67, 16 round to 5, 11, 16
    assert without_variance(lengths, np.full(3, PLENTY), one_type(lengths)).tolist() == [5, 6, 5]


def test_without_variance_every_type_keeps_its_own_mean():
    lengths, types = ints(1, 100, 3, 300), ints(0, 1, 0, 1)
    assert without_variance(lengths, np.full(4, PLENTY), types).tolist() == [2, 200, 2, 200]


def test_without_variance_what_one_has_no_room_for_goes_to_the_others():
    lengths = ints(2, 6, 8)
    assert without_variance(lengths, ints(2, 100, 100), one_type(lengths)).tolist() == [2, 7, 7]


def test_tail_is_cut_to_its_quantile_and_spread_in_proportion():
    # 80 % quantile of five values: at position 3.2, 40 + 0.2 * 60 = 52. 48 tokens are cut from the longest.
    # In proportion 10, 20, 30, 40 would grow by 1.48; 40 stops at 52, and 96 tokens are left for 60: times 1.6.
    lengths = ints(10, 20, 30, 40, 100)
    assert tail_limit(lengths, 0.8) == 52
    assert without_tail(lengths, np.full(5, PLENTY), 0.8).tolist() == [16, 32, 48, 52, 52]


def test_tail_cannot_be_cut_where_the_mean_lies_above_the_quantile():
    lengths = np.append(np.full(31, 100), 2000)  # the 95 % quantile is 100, the mean 159
    assert without_tail(lengths, np.full(32, PLENTY), 0.95) is None


def test_equal_lengths_have_no_tail_to_cut():
    lengths = np.full(20, 7)
    assert without_tail(lengths, np.full(20, PLENTY), 0.95).tolist() == lengths.tolist()


@pytest.mark.parametrize("wanted", [0.0, 0.5, 1.0, 2.0])
def test_spread_keeps_total_and_ranks_and_comes_out_as_wanted(wanted):
    lengths = np.random.default_rng(1).permutation(np.arange(1, 4001)) * 3
    changed = with_spread(lengths, np.full(4000, PLENTY), one_type(lengths), wanted)
    assert changed.sum() == lengths.sum()
    assert cv(changed) == pytest.approx(wanted, rel=0.04, abs=1e-3)  # 4,000 ranks do not reach the far tail
    order = np.argsort(lengths)
    assert (np.diff(changed[order]) >= -1).all()  # a token handed on may turn two neighbours round


def test_a_cap_takes_away_from_the_spread_and_not_from_the_total():
    lengths = np.full(1000, 200)
    changed = with_spread(lengths, np.full(1000, 400), one_type(lengths), 2.0)
    assert changed.sum() == 200_000
    assert changed.max() == 400
    assert cv(changed) < 1


rows = st.lists(st.tuples(st.floats(1e-3, 1e6), st.integers(1, 10**6)), min_size=1, max_size=40)


@given(rows, st.floats(0, 1))
def test_scaled_numbers_add_up_and_stay_in_their_bounds(rows, share):
    wanted, most = np.array([w for w, _ in rows]), ints(*(m for _, m in rows))
    total = len(rows) + int(share * (most.sum() - len(rows)))
    found = scaled(wanted, total, most)
    assert found.sum() == total
    assert (found >= 1).all()
    assert (found <= most).all()
