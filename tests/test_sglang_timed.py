"""The SGLang engine on a clock: steps, requests, gaps and both ledgers against the naive simulator and its recount."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.engine import Outcome, Run, StepTable, Stop
from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin
from sim.engine.sglang import run
from tests.naive import sglang_timed as naive_sglang_timed
from tests.naive.sglang_memory import OutOfMemoryError
from tests.sglang_recount import recount
from tests.sglang_scenarios import TimedScenario, timed_scenarios

EXACT = tuple(name for name in Outcome._fields if name != "memory_token_s")


def run_of(scenario: TimedScenario, until_s: float = math.inf, record_steps: bool = False) -> Run:
    rules, asked, step_time = scenario
    return run(
        rules, asked.requests, step_time, ignore_eos=asked.ignore_eos, until_s=until_s, record_steps=record_steps
    )


def assert_agreement(scenario: TimedScenario, until_s: float = math.inf) -> None:
    rules, asked, step_time = scenario
    recorded = run_of(scenario, until_s, record_steps=True)
    try:
        expected = naive_sglang_timed.tables(rules, asked.requests, step_time, asked.ignore_eos, until_s)
    except OutOfMemoryError:
        assert recorded.stop == Stop.OUT_OF_MEMORY
        return
    assert recorded.steps is not None
    for name in StepTable._fields:
        np.testing.assert_array_equal(getattr(recorded.steps, name), getattr(expected.steps, name), name)
    for each in (recorded, run_of(scenario, until_s)):
        assert each.duration_s == expected.duration_s
        for name in EXACT:
            np.testing.assert_array_equal(getattr(each.outcome, name), getattr(expected.outcome, name), name)
        # sums over the same steps in another order
        np.testing.assert_allclose(each.outcome.memory_token_s, expected.outcome.memory_token_s, rtol=1e-10, atol=1e-7)


def assert_ledgers_agree(scenario: TimedScenario, until_s: float = math.inf) -> None:
    rules, asked, step_time = scenario
    own = run_of(scenario, until_s)
    if own.stop == Stop.OUT_OF_MEMORY:
        return
    counted = recount(
        rules, asked, step_time, bin_width_s=own.bin_width_s, num_bins=len(own.bins) + 1, until_s=until_s
    )  # one bin more, since the last step may end on the border
    bins = np.vstack([own.bins, np.zeros((1, len(Bin)))])
    capacity = rules.pool_tokens // rules.page_size
    size = np.ones(len(Bin)) * max(1.0, counted.max())  # what 1e-9 refers to
    size[list(MEMORY_ROWS)] = capacity * own.duration_s
    size[list(TIME_ROWS)] = own.duration_s
    for k in range(len(Bin)):
        np.testing.assert_allclose(bins[:, k], counted[:, k], rtol=0, atol=1e-9 * size[k], err_msg=Bin(k).name)
    assert counted[:, MEMORY_ROWS].sum() == pytest.approx(capacity * own.duration_s, rel=1e-9)
    assert counted[:, TIME_ROWS].sum() == pytest.approx(own.duration_s, rel=1e-9)


@settings(max_examples=25)
@given(timed_scenarios())
def test_engine_and_naive_sglang_agree_on_every_step_and_request(scenario: TimedScenario) -> None:
    assert_agreement(scenario)


@settings(max_examples=25)
@given(timed_scenarios(), st.floats(0.0, 60.0))
def test_they_agree_on_a_run_that_is_cut(scenario: TimedScenario, until_s: float) -> None:
    assert_agreement(scenario, until_s)


@settings(max_examples=25)
@given(timed_scenarios())
def test_ledgers_agree_with_a_recount_in_every_bin(scenario: TimedScenario) -> None:
    assert_ledgers_agree(scenario)


@settings(max_examples=25)
@given(timed_scenarios(), st.floats(0.0, 60.0))
def test_ledgers_of_a_run_that_is_cut_agree_with_a_recount(scenario: TimedScenario, until_s: float) -> None:
    assert_ledgers_agree(scenario, until_s)


@pytest.mark.slow
@settings(max_examples=200)
@given(timed_scenarios(max_requests=30))
def test_engine_naive_simulator_and_recount_agree_on_many_scenarios(scenario: TimedScenario) -> None:
    assert_agreement(scenario)
    assert_ledgers_agree(scenario)


@settings(max_examples=25)
@given(timed_scenarios())
def test_gap_histogram_holds_every_gap_between_two_tokens(scenario: TimedScenario) -> None:
    rules, asked, step_time = scenario
    own = run_of(scenario)
    if own.stop == Stop.OUT_OF_MEMORY:
        return
    times = naive_sglang_timed.simulate(rules, asked, step_time).token_times
    gaps = [b - a for each in times for a, b in pairwise(each)]
    assert own.gap_count.sum() == len(gaps)
    assert own.gap_sum.sum() == pytest.approx(sum(gaps), rel=1e-12, abs=0)
    filled = np.flatnonzero(own.gap_count)
    means = own.gap_sum[filled] / own.gap_count[filled]
    from_histogram = np.repeat(means, own.gap_count[filled].astype(int))
    np.testing.assert_allclose(from_histogram, np.sort(gaps), rtol=0.005)  # the promise of metrics.md, section 2
