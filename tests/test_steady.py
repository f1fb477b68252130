"""Stability, steady window, too-short runs."""

import math

import numpy as np
import pytest

from sim import simulate, with_values
from sim.steady import (
    Waits,
    Window,
    amount_between,
    filling_s,
    is_too_short,
    steady_window,
    trend_of_run,
    trend_of_waits,
    waiting_trend,
)
from tests.cases import BASE


def test_steady_window_leaves_out_the_first_tenth_and_the_draining() -> None:
    assert steady_window(np.array([0.0, 5.0, 20.0])) == (2.0, 20.0)


def test_requests_that_all_come_at_once_have_no_steady_window() -> None:
    assert steady_window(np.zeros(3)) is None


def test_bins_cut_by_the_window_count_by_overlap() -> None:
    amounts = np.array([10.0, 20.0, 6.0])  # bins [0, 2], [2, 4], [4, 5]
    assert amount_between(amounts, 2.0, 5.0, Window(1.0, 4.5)) == pytest.approx(5 + 20 + 3)
    assert amount_between(amounts, 2.0, 5.0, Window(0.0, 5.0)) == pytest.approx(36)


def test_growth_along_a_line_is_its_slope_times_its_length() -> None:
    time_s = np.arange(20) * 0.5
    trend = waiting_trend(time_s, 7 + 3 * time_s, num_arrivals=100, gap_cv=0.3, length_cv=0.4)
    assert trend.growth == pytest.approx(3 * 10)
    assert trend.noise == pytest.approx(5.0)  # sqrt(100 * (0.09 + 0.16))
    assert trend.is_unstable


def test_growth_that_a_balanced_queue_could_show_is_no_alarm() -> None:
    time_s = np.arange(20.0)
    assert not waiting_trend(time_s, time_s, num_arrivals=400, gap_cv=1.0, length_cv=1.0).is_unstable  # 20 < 28.3


def test_queue_without_randomness_is_unstable_beyond_one_request() -> None:
    time_s = np.arange(10.0)
    assert not waiting_trend(time_s, 0.09 * time_s, 50, 0.0, 0.0).is_unstable
    assert waiting_trend(time_s, 0.11 * time_s, 50, 0.0, 0.0).is_unstable


def test_few_bins_between_arrivals_have_no_trend() -> None:
    assert trend_of_run(np.ones(100), 1.0, np.linspace(0.0, 10.0, 50), np.ones(50)) is None
    assert trend_of_run(np.ones(100), 1.0, np.zeros(1), np.ones(1)) is None


def test_a_queue_whose_arrivals_are_over_within_a_bin_is_read_off_the_requests() -> None:
    """A hundred a second, one served every two seconds: nearly all of the last 50 still wait at the end."""
    arrival_s = np.arange(100) / 100
    slow = trend_of_waits(Waits(arrival_s, 2.0 * np.arange(100)), arrival_s, np.full(100, 8))
    assert slow is not None
    assert slow.is_unstable
    assert slow.growth == pytest.approx(50, rel=0.05)
    at_once = trend_of_waits(Waits(arrival_s, arrival_s), arrival_s, np.full(100, 8))
    assert at_once is not None
    assert not at_once.is_unstable
    assert trend_of_waits(Waits(np.zeros(100), np.arange(100.0)), np.zeros(100), np.full(100, 8)) is None
    flood = {"workload.arrivals": {"kind": "poisson", "rate_rps": 5000.0}, "workload.num_requests": 2000}
    values = {"workload.types.0.output": {"kind": "constant", "tokens": 20}, "scheduler.max_num_seqs": 4}
    assert simulate(with_values(BASE, flood | values)).summary()["flags"]["unstable"] is True


def test_work_that_waits_is_weighed() -> None:
    """One of two a second waits for ever, that with the long answer: by work three quarters of all that comes."""
    arrival_s, output_len = np.arange(200) / 2, np.tile([10, 30], 100)
    until_s = np.where(output_len == 10, arrival_s, np.nan)
    waits = Waits(arrival_s, until_s)
    by_number = trend_of_waits(waits, arrival_s, output_len)
    by_work = trend_of_waits(waits, arrival_s, output_len, output_len / 20)
    assert by_number is not None
    assert by_work is not None
    assert by_number.growth == pytest.approx(50, rel=0.03)
    assert by_work.growth == pytest.approx(75, rel=0.03)


def test_who_asks_again_does_not_hide_that_the_queue_grows() -> None:
    """Half of the answers are cut and asked for again: 14 tokens a question, so 32 slots answer 23 a second."""
    values = {
        "workload.num_requests": 4000,
        "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
        "workload.types.0.output": {"kind": "uniform", "low": 5, "high": 14},
        "workload.types.0.cap": 9,
        "workload.client_retry": "again",
        "cost.step_ms": 100.0,
    }
    for rate_rps, is_unstable in ((15.0, False), (60.0, True), (200.0, True)):
        arrivals = {"workload.arrivals": {"kind": "poisson", "rate_rps": rate_rps}}
        result = simulate(with_values(BASE, values | arrivals))
        assert result.is_finished.size > 5000
        assert result.summary()["flags"]["unstable"] is is_unstable
        assert result.asked_s.max() == pytest.approx(4000 / rate_rps, rel=0.1)


def test_run_must_outlast_the_service_of_its_requests() -> None:
    assert is_too_short(1000, users=0, last_arrival_s=9.0, median_service_s=2.0)
    assert not is_too_short(1000, users=0, last_arrival_s=10.0, median_service_s=2.0)
    assert is_too_short(49, users=10, last_arrival_s=9.0, median_service_s=0.1)
    assert not is_too_short(50, users=10, last_arrival_s=9.0, median_service_s=20.0)
    assert not is_too_short(3, users=0, last_arrival_s=0.0, median_service_s=20.0)


def test_a_server_fills_as_slowly_as_those_in_it_are_served() -> None:
    """Of ten seconds of service, eight belong to one request: (1 + 1 + 64) / (1 + 1 + 8)."""
    assert filling_s([1.0, 1.0, 8.0, math.nan]) == pytest.approx(6.6)
    assert filling_s([2.0, 2.0]) == 2.0
    assert filling_s([math.nan]) == 0.0


def test_arrivals_whose_rate_swings_last_a_period() -> None:
    """A period of 100 s begins with the trough: 20 requests/s come in the first 10 s at a fifth of that."""
    assert is_too_short(1000, users=0, last_arrival_s=89.0, median_service_s=2.0, period_s=100.0)
    assert not is_too_short(1000, users=0, last_arrival_s=91.0, median_service_s=2.0, period_s=100.0)
    swinging = {"kind": "diurnal", "rate_rps": 20.0, "swing": 0.8, "period_s": 100.0}
    values = {"workload.arrivals": swinging, "workload.types.0.output": {"kind": "constant", "tokens": 3}}
    for requests, is_short in ((500, True), (2000, False)):
        result = simulate(with_values(BASE, values | {"workload.num_requests": requests}))
        assert result.summary()["flags"]["too_short"] is is_short
    even = with_values(BASE, values | {"workload.arrivals": swinging | {"swing": 0.0}, "workload.num_requests": 500})
    assert simulate(even).summary()["flags"]["too_short"] is False


@pytest.mark.parametrize(("load", "is_unstable"), [(0.5, False), (0.85, False), (1.3, True), (2.0, True)])
def test_server_of_32_slots_is_unstable_above_its_capacity(load: float, is_unstable: bool) -> None:
    # 20 tokens of 0.1 s each on the mean: 2 s a request and slot, 16 requests/s.
    values = {
        "workload.arrivals": {"kind": "poisson", "rate_rps": 16 * load},
        "workload.num_requests": 4000,
        "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
        "workload.types.0.output": {"kind": "geometric", "mean": 20.0},
        "cost.step_ms": 100.0,
    }
    for seed in range(3):
        flags = simulate(with_values(BASE, values | {"seed": seed})).summary()["flags"]
        assert flags["unstable"] is is_unstable
        assert flags["too_short"] is False


def test_requests_that_all_come_at_once_are_neither_stable_nor_unstable() -> None:
    values = {"workload.num_requests": 50, "workload.types.0.output": {"kind": "constant", "tokens": 3}}
    assert simulate(with_values(BASE, values)).summary()["flags"]["unstable"] is None
