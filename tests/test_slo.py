"""Who met the limits."""

import numpy as np
import pytest

from sim.slo import Limits, attainment, goodput_rps, meets

NONE = np.zeros(4, dtype=bool)
ALL = np.ones(4, dtype=bool)


def test_goodput_of_check_6_counts_a_missing_tpot_as_zero() -> None:
    good = meets(
        Limits(ttft_s=1.0, tpot_s=0.1),
        first_wait_s=np.array([0.5, 0.5, 1.2, 0.9]),
        per_token_s=np.array([0.09, 0.11, 0.05, np.nan]),
        latency_s=np.full(4, 3.0),
    )
    met = attainment(good, is_finished=ALL, is_unanswered=NONE, can_still_meet=NONE)
    assert good.tolist() == [True, False, False, True]
    assert met == (2, 4, 0)
    assert met.share == 0.5
    assert goodput_rps(met.good, 8.0) == 0.25


def test_unfinished_request_is_excluded_until_a_limit_has_passed() -> None:
    finished = np.array([True, True, False, False])
    can_still_meet = np.array([False, False, True, False])
    met = attainment(np.array([True, False, True, False]), finished, NONE, can_still_meet)
    assert met == (1, 3, 1)
    assert met.share == pytest.approx(1 / 3)


def test_rejected_request_is_a_miss() -> None:
    rejected = np.array([False, False, False, True])
    assert attainment(ALL, ~rejected, rejected, ALL) == (3, 4, 0)


def test_share_of_nothing_is_undefined() -> None:
    assert np.isnan(attainment(NONE, NONE, NONE, ALL).share)


def test_end_to_end_limit_is_met_on_the_limit() -> None:
    assert meets(Limits(e2e_s=2.0), np.zeros(2), np.zeros(2), np.array([2.0, 2.1])).tolist() == [True, False]


def test_no_limit_is_met_by_all() -> None:
    assert Limits().is_empty
    assert meets(Limits(), np.zeros(2), np.zeros(2), np.zeros(2)).all()
