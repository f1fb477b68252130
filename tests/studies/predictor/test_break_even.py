"""Where a predictor stops being worth it: from numbers written down here."""

import math

import pytest

from sim import with_values
from sim.studies.predictor.break_even import (
    DELAYS_MS,
    E2E_PER_TOKEN,
    NO_ORDER,
    NO_PREDICTOR,
    WORTH,
    Trial,
    break_even,
    gain,
    gains_by_delay,
    gains_by_spread,
    limits_of,
    run_trial,
    trials,
    within_factor_of_two,
)
from sim.studies.predictor.error_map import OBJECTIVES, ErrorCell
from sim.studies.predictor.uses import Measured, Use
from tests.cases import BASE, trace

THROUGHPUT = OBJECTIVES["throughput"]


def now(tokens_per_s=100.0, e2e_s=0.1):
    return Measured(tokens_per_s, 0.02, 1.0, 0.0, e2e_s, 0.5)


def test_break_even_lies_on_the_line_between_two_points():
    # From 11 % at 10 to -9 % at 30: 1 % is passed half-way.
    assert break_even([0, 10, 30], [0.2, 0.11, -0.09]) == pytest.approx(20)


def test_without_gain_at_first_nothing_is_worth_it_and_a_gain_that_stays_always_is():
    assert math.isnan(break_even([0, 1], [WORTH, -1.0]))
    assert math.isnan(break_even([], []))
    assert math.isnan(break_even([0, 1], [math.nan, 0.5]))
    assert break_even([0, 1], [0.5, 0.4]) == math.inf


def test_noise_does_not_end_a_gain():
    # One dip among gains: the falling curve nearest to them never reaches 1 %.
    assert break_even([0, 1, 2, 3], [0.05, 0.0, 0.06, 0.05]) == math.inf


def test_gain_is_relative_and_has_the_sign_of_better():
    assert gain(now(110), now(100), THROUGHPUT) == pytest.approx(0.1)
    assert gain(now(e2e_s=0.05), now(e2e_s=0.1), E2E_PER_TOKEN) == pytest.approx(0.5)


def test_a_preemption_less_that_chance_explains_is_no_gain():
    objective = OBJECTIVES["preemptions"]

    def runs(without, using):
        return gain(now()._replace(preemptions=using), now()._replace(preemptions=without), objective)

    assert runs(without=1.0, using=0.0) == 0
    assert runs(without=200.0, using=180.0) == 0  # two standard deviations are 39
    assert runs(without=200.0, using=100.0) == 0.5


def test_every_trial_is_there_once_and_each_use_has_its_base():
    every = trials(0.5)
    assert len(set(every)) == len(every)
    assert {NO_PREDICTOR, NO_ORDER, Trial(Use.ORDER, 0.5, 0.0, True)} <= set(every)
    late = [trial for trial in every if trial.use is Use.RESERVE and not trial.has_full_queue]
    assert [trial.delay_ms for trial in late if trial.is_synchronous] == [*DELAYS_MS[True]]
    assert [0.0, *(trial.delay_ms for trial in late if not trial.is_synchronous)] == [*DELAYS_MS[False]]


def test_a_reservation_may_choose_its_bias_at_every_spread():
    tried = {NO_PREDICTOR: now(100)}
    found = {ErrorCell(0.0, 0.5): now(90), ErrorCell(-0.3, 0.5): now(120), ErrorCell(0.0, 0.9): now(80)}
    spreads, gains = gains_by_spread(tried, found, Use.RESERVE, THROUGHPUT)
    assert spreads == [0.5, 0.9]
    assert gains == pytest.approx([0.2, -0.2])


def test_an_order_is_compared_with_the_full_queue_and_spreads_are_not_mixed_with_delays():
    tried = {
        NO_PREDICTOR: now(e2e_s=9.0),
        NO_ORDER: now(e2e_s=0.1),
        Trial(Use.ORDER, 0.5, 0.0, True): now(e2e_s=0.05),
        Trial(Use.ORDER, 1.0, 0.0, True): now(e2e_s=0.08),
        Trial(Use.ORDER, 0.5, 10.0, True): now(e2e_s=0.09),
        Trial(Use.ORDER, 0.5, 10.0, True, is_synchronous=False): now(e2e_s=0.05),
    }
    assert gains_by_spread(tried, {}, Use.ORDER, E2E_PER_TOKEN) == ([0.5, 1.0], pytest.approx([0.5, 0.2]))
    waits = gains_by_delay(tried, Use.ORDER, 0.5, E2E_PER_TOKEN, is_synchronous=True)
    assert waits == ([0.0, 10.0], pytest.approx([0.5, 0.1]))
    meanwhile = gains_by_delay(tried, Use.ORDER, 0.5, E2E_PER_TOKEN, is_synchronous=False)
    assert meanwhile == ([0.0, 10.0], pytest.approx([0.5, 0.5]))
    assert gains_by_delay({}, Use.ORDER, 0.5, E2E_PER_TOKEN, is_synchronous=True) == ([], [])


def test_what_a_delay_costs_where_the_scheduler_waits_and_where_it_goes_on() -> None:
    # One slot, a token a second, three answers of 4, 2 and 1 tokens from the start; seconds a token of each.
    # In order of arrival they end at 4, 6 and 7 s: 1 + 3 + 7 = 11. Shortest first, told at once, at 7, 3 and 1 s:
    # 7/4 + 3/2 + 1 = 4.25. Told d late while the scheduler waits, for one after the other: everybody ends 3 d later,
    # 4.25 + 3 d (1/4 + 1/2 + 1). While it goes on: up to 4 s late the first to arrive has begun, and the two others go
    # by length, 4/4 + 7/2 + 5 = 9.5; later than 6 s the second has begun as well, and nothing is left to be ordered.
    server = with_values(BASE, {"scheduler.max_num_seqs": 1, "cost.step_ms": 1000.0})
    tried = {trial: run_trial(server, trial, 0.0, trace([4, 2, 1])) for trial in trials(0.0)}
    assert 3 * tried[NO_ORDER].norm_latency_mean_s == pytest.approx(11, rel=1e-12)
    found = limits_of(tried, {}, Use.ORDER, 0.0, E2E_PER_TOKEN)
    waits = [4.25 + 5.25 * delay_ms / 1000 for delay_ms in DELAYS_MS[True]]
    assert found.waits == ([*DELAYS_MS[True]], pytest.approx([1 - each / 11 for each in waits], rel=1e-9))
    meanwhile = [4.25 if delay_ms == 0 else 9.5 if delay_ms < 4000 else 11.0 for delay_ms in DELAYS_MS[False]]
    gains = [1 - each / 11 for each in meanwhile]
    assert found.meanwhile == ([*DELAYS_MS[False]], pytest.approx(gains, rel=1e-9, abs=1e-12))
    # No better than 1 % where 4.25 + 5.25 d is 10.89: at 1.265 s. Else between 3 s and 10 s, on the line between them.
    assert break_even(*found.waits) == pytest.approx(1264.76, abs=0.01)
    assert break_even(*found.meanwhile) == pytest.approx(3000 + 7000 * (gains[5] - WORTH) / gains[5])


def test_a_reservation_that_was_never_short_of_memory_does_not_care_for_a_delay_meanwhile() -> None:
    # Memory for all three at their cap: whatever is set aside, each generates a token a second from the start.
    server = with_values(BASE, {"scheduler.max_num_seqs": 3, "cost.step_ms": 1000.0, "workload.types.0.cap": 4})
    tried = {trial: run_trial(server, trial, 0.0, trace([4, 2, 1])) for trial in trials(0.0)}
    found = limits_of(tried, {}, Use.RESERVE, 0.0, THROUGHPUT)
    assert found.meanwhile[1] == pytest.approx([0.0] * len(DELAYS_MS[False]), abs=1e-12)
    # 7 tokens in 4 s; with d for each of three predictions in the first step in 4 + 3 d.
    slower = [4 / (4 + 3 * delay_ms / 1000) - 1 for delay_ms in DELAYS_MS[True]]
    assert found.waits[1] == pytest.approx(slower, rel=1e-9, abs=1e-12)


def test_share_within_a_factor_of_two():
    assert within_factor_of_two(0.0) == 1
    assert within_factor_of_two(math.log(2)) == pytest.approx(0.6827, abs=1e-4)  # one standard deviation
