"""Arrival times and think times."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.arrivals_spec import AllAtOnce, ClosedLoop, Deterministic, Diurnal, GammaGaps, Poisson, TraceArrivals
from sim.errors import ScenarioError
from sim.workload.arrivals import arrival_times_s, num_users
from sim.workload.randomness import RandomNumbers

NUMBERS = RandomNumbers(7)


def gaps_s(arrivals, n=100_000):
    return np.diff(arrival_times_s(arrivals, NUMBERS, n), prepend=0.0)


@given(rate=st.floats(0.1, 1000), factor=st.floats(0.01, 100))
def test_rate_only_scales_the_gaps(rate, factor):
    slow = arrival_times_s(Poisson(rate_rps=rate), NUMBERS, 200)
    fast = arrival_times_s(Poisson(rate_rps=rate * factor), NUMBERS, 200)
    # Each time is off by at most half a nanosecond; the last term is float64's own.
    assert np.abs(slow - fast * factor).max() <= 0.5e-9 * (1 + factor) + 1e-14 * slow[-1]


@pytest.mark.parametrize("arrivals", [Poisson(rate_rps=3), GammaGaps(rate_rps=3, burstiness=0.25)])
def test_more_requests_leave_the_first_ones_where_they_are(arrivals):
    assert np.array_equal(arrival_times_s(arrivals, NUMBERS, 500)[:100], arrival_times_s(arrivals, NUMBERS, 100))


@pytest.mark.parametrize(
    ("arrivals", "theory"),
    [
        (Poisson(rate_rps=5), stats.expon(scale=1 / 5)),
        (GammaGaps(rate_rps=5, burstiness=0.25), stats.gamma(a=0.25, scale=1 / (5 * 0.25))),
        (GammaGaps(rate_rps=5, burstiness=4), stats.gamma(a=4, scale=1 / (5 * 4))),
    ],
    ids=["poisson", "bursty", "regular"],
)
def test_gaps_follow_their_distribution(arrivals, theory):
    gaps = gaps_s(arrivals)
    # One sample of the distribution in a thousand is further from it than this.
    assert stats.kstest(gaps, theory.cdf).statistic < 1.95 / math.sqrt(len(gaps))
    # 4 standard errors of the mean: once in 16,000 seeds.
    assert abs(gaps.mean() - 0.2) < 4 * theory.std() / math.sqrt(len(gaps))


def test_burstiness_sets_the_cv_of_the_gaps():
    gaps = gaps_s(GammaGaps(rate_rps=5, burstiness=0.25))
    assert gaps.std() / gaps.mean() == pytest.approx(2.0, rel=0.03)  # 1 / sqrt(0.25); kurtosis makes 1 % usual


def test_a_diurnal_rate_brings_what_its_integral_says():
    """Up to x periods come x - swing sin(2 pi x) / 2 pi of a period's requests."""
    arrivals = Diurnal(rate_rps=100, swing=0.8, period_s=1000)
    times_s = arrival_times_s(arrivals, NUMBERS, 100_000)
    for x, share in ((0.25, 0.25 - 0.8 / (2 * math.pi)), (0.5, 0.5), (0.75, 0.75 + 0.8 / (2 * math.pi))):
        count = int((times_s < x * 1000).sum())
        # A Poisson count: 4 standard deviations, once in 16,000 seeds.
        assert abs(count - share * 100_000) < 4 * math.sqrt(share * 100_000)


def test_without_swing_a_diurnal_rate_is_poisson():
    flat = arrival_times_s(Diurnal(rate_rps=5, swing=0, period_s=60), NUMBERS, 2000)
    assert flat == pytest.approx(arrival_times_s(Poisson(rate_rps=5), NUMBERS, 2000), abs=2e-9)


def test_a_swing_moves_no_request_past_another_and_none_at_the_ends_of_a_period():
    times_s = arrival_times_s(Diurnal(rate_rps=50, swing=1, period_s=20), NUMBERS, 5000)
    assert (np.diff(times_s) >= 0).all()
    flat = arrival_times_s(Poisson(rate_rps=50), NUMBERS, 5000)
    assert np.array_equal(np.floor(times_s / 20), np.floor(flat / 20))


def test_burstiness_of_one_is_poisson():
    poisson, gamma = (
        arrival_times_s(arrivals, NUMBERS, 1000)
        for arrivals in (Poisson(rate_rps=2), GammaGaps(rate_rps=2, burstiness=1))
    )
    assert gamma == pytest.approx(poisson, abs=2e-9)


def test_deterministic_arrivals_come_at_multiples_of_the_gap():
    assert arrival_times_s(Deterministic(rate_rps=4), NUMBERS, 5).tolist() == [0.25, 0.5, 0.75, 1.0, 1.25]


def test_all_at_once_arrive_at_zero():
    assert arrival_times_s(AllAtOnce(), NUMBERS, 3).tolist() == [0, 0, 0]


def test_times_ascend_and_are_whole_nanoseconds():
    times_s = arrival_times_s(GammaGaps(rate_rps=1000, burstiness=0.05), NUMBERS, 10_000)
    assert np.all(np.diff(times_s) >= 0)
    assert np.array_equal(np.rint(times_s * 1e9) / 1e9, times_s)


def test_users_without_think_time_ask_at_once():
    arrivals = ClosedLoop(concurrency=4)
    assert arrival_times_s(arrivals, NUMBERS, 10).tolist() == [0] * 10
    assert num_users(arrivals) == 4


def test_constant_think_time_holds_from_the_second_question_on():
    think_s = arrival_times_s(ClosedLoop(concurrency=2, think_time_s=1.5), NUMBERS, 5)
    assert think_s.tolist() == [0, 0, 1.5, 1.5, 1.5]


def test_exponential_think_times_have_their_mean_and_the_first_user_asks_at_zero():
    n = 100_000
    think_s = arrival_times_s(ClosedLoop(concurrency=50, think_time_s=2, think_time="exponential"), NUMBERS, n)
    assert think_s[:50].min() == 0
    assert np.count_nonzero(think_s[:50]) == 49
    assert abs(think_s[50:].mean() - 2) < 4 * 2 / math.sqrt(n)  # 4 standard errors


def test_more_users_than_requests_are_no_trouble():
    assert arrival_times_s(ClosedLoop(concurrency=9, think_time_s=1), NUMBERS, 3).tolist() == [0, 0, 0]


def test_open_loops_have_no_users():
    assert num_users(Poisson(rate_rps=1)) == 0


def test_trace_arrivals_without_a_trace_are_refused():
    with pytest.raises(ScenarioError, match=r"^workload\.arrivals\.kind is 'trace'; a trace file"):
        arrival_times_s(TraceArrivals(), NUMBERS, 3)
