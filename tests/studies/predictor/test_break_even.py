"""Where a predictor stops being worth it: from numbers written down here."""

import math

import pytest

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
    trials,
    within_factor_of_two,
)
from sim.studies.predictor.error_map import OBJECTIVES, ErrorCell
from sim.studies.predictor.uses import Measured, Use

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


def test_every_trial_is_there_once_and_each_use_has_its_base():
    every = trials(0.5)
    assert len(set(every)) == len(every)
    assert {NO_PREDICTOR, NO_ORDER, Trial(Use.ORDER, 0.5, 0.0, True)} <= set(every)
    assert [trial.delay_ms for trial in every if trial.use is Use.RESERVE and not trial.has_full_queue] == [*DELAYS_MS]


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
    }
    assert gains_by_spread(tried, {}, Use.ORDER, E2E_PER_TOKEN) == ([0.5, 1.0], pytest.approx([0.5, 0.2]))
    assert gains_by_delay(tried, Use.ORDER, 0.5, E2E_PER_TOKEN) == ([0.0, 10.0], pytest.approx([0.5, 0.1]))
    assert gains_by_delay({}, Use.ORDER, 0.5, E2E_PER_TOKEN) == ([], [])


def test_share_within_a_factor_of_two():
    assert within_factor_of_two(0.0) == 1
    assert within_factor_of_two(math.log(2)) == pytest.approx(0.6827, abs=1e-4)  # one standard deviation
