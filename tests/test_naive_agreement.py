"""Engine and naive simulator agree on random scenarios: every step and every request, bit for bit."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import engine
from sim.engine.inputs import Batching, Order, Requests, Reserve, Rules, StepTime
from tests.naive import synchronous as naive
from tests.naive import tables as naive_tables
from tests.scenarios import MAX_CALLS, Scenario, static_scenarios, vllm_scenarios

EXACT = tuple(name for name in engine.Outcome._fields if name != "memory_token_s")


def assert_agreement(scenario: Scenario, until_s: float = math.inf) -> None:
    expected = naive_tables.run(*scenario, until_s=until_s, max_calls=MAX_CALLS)
    recorded = engine.run(*scenario, until_s=until_s, max_calls=MAX_CALLS, record_steps=True)
    assert recorded.steps is not None
    for name in engine.StepTable._fields:
        np.testing.assert_array_equal(getattr(recorded.steps, name), getattr(expected.steps, name), name)
    unrecorded = engine.run(*scenario, until_s=until_s, max_calls=MAX_CALLS)
    for run in (recorded, unrecorded):
        assert run.duration_s == expected.duration_s
        assert_same_outcome(run.outcome, expected.outcome)


def assert_same_outcome(own: engine.Outcome, expected: engine.Outcome) -> None:
    for name in EXACT:
        np.testing.assert_array_equal(getattr(own, name), getattr(expected, name), name)
    # sums over the same steps in another order
    np.testing.assert_allclose(own.memory_token_s, expected.memory_token_s, rtol=1e-10, atol=1e-7)


@settings(max_examples=300)
@given(vllm_scenarios())
def test_engine_and_naive_vllm_agree_on_every_step(scenario: Scenario) -> None:
    assert_agreement(scenario)


@settings(max_examples=150)
@given(static_scenarios())
def test_engine_and_naive_static_batching_agree_on_every_step(scenario: Scenario) -> None:
    assert_agreement(scenario)


@settings(max_examples=100)
@given(st.one_of(vllm_scenarios(), static_scenarios()), st.floats(0.0, 60.0))
def test_engine_and_naive_agree_on_a_run_that_is_cut(scenario: Scenario, until_s: float) -> None:
    assert_agreement(scenario, until_s)


def assert_async_agreement(scenario: Scenario, foreseen: list[int], pause: float) -> None:
    """`foreseen` says how many tokens more than its answer has a request is allowed: with 0 its end is known."""
    rules, requests, step_time = scenario
    slack = np.resize(np.array(foreseen, np.int64), len(requests.prompt_len))
    most = np.maximum(rules.max_model_len - requests.prompt_len, requests.output_len)
    requests = requests._replace(cap=np.minimum(requests.output_len + slack, most))
    asynchronous = rules._replace(is_async=1, pause_s=pause)
    expected = naive_tables.run_async(rules, requests, step_time, pause=pause, max_calls=MAX_CALLS)
    run = engine.run(asynchronous, requests, step_time, max_calls=MAX_CALLS, record_steps=True)
    for own, theirs in ((run.steps, expected.steps), (run.async_columns, expected.async_columns)):
        assert own is not None
        for name, ours in own._asdict().items():
            np.testing.assert_array_equal(ours, getattr(theirs, name), name)
    assert_same_outcome(run.outcome, expected.outcome)
    assert run.duration_s == expected.duration_s


slack_lists = st.lists(st.sampled_from([0, 0, 1, 5]), min_size=1, max_size=5)
pauses = st.sampled_from([0.0, 0.25, 3.0])


@settings(max_examples=200)
@given(vllm_scenarios(), slack_lists, pauses)
def test_engine_and_naive_agree_on_asynchronous_scheduling(
    scenario: Scenario, foreseen: list[int], pause: float
) -> None:
    assert_async_agreement(scenario, foreseen, pause)


@pytest.mark.slow
@settings(max_examples=1500)
@given(vllm_scenarios(max_requests=30), slack_lists, pauses)
def test_engine_and_naive_agree_on_many_asynchronous_scenarios(
    scenario: Scenario, foreseen: list[int], pause: float
) -> None:
    assert_async_agreement(scenario, foreseen, pause)


@pytest.mark.slow
@settings(max_examples=3000)
@given(vllm_scenarios(max_requests=30))
def test_engine_and_naive_vllm_agree_on_many_scenarios(scenario: Scenario) -> None:
    assert_agreement(scenario)


@pytest.mark.slow
@settings(max_examples=1500)
@given(static_scenarios(max_requests=30))
def test_engine_and_naive_static_batching_agree_on_many_scenarios(scenario: Scenario) -> None:
    assert_agreement(scenario)


@settings(max_examples=100)
@given(st.one_of(vllm_scenarios(), static_scenarios().filter(lambda scenario: not scenario.rules.batch_delivery)))
def test_gap_histogram_holds_every_gap_between_two_tokens(scenario: Scenario) -> None:
    times = naive.simulate(*scenario, max_calls=MAX_CALLS).token_times
    gaps = [b - a for each in times for a, b in pairwise(each)]
    run = engine.run(*scenario, max_calls=MAX_CALLS)
    assert run.gap_count.sum() == len(gaps)
    assert run.gap_sum.sum() == pytest.approx(sum(gaps), rel=1e-12, abs=0)
    filled = np.flatnonzero(run.gap_count)
    means = run.gap_sum[filled] / run.gap_count[filled]
    from_histogram = np.repeat(means, run.gap_count[filled].astype(int))
    np.testing.assert_allclose(from_histogram, np.sort(gaps), rtol=0.005)  # the promise of metrics.md, section 2


def test_equal_requests_that_preempt_each_other_for_ever_do_so_in_both() -> None:
    rules = Rules(Batching.ITERATION, Order.PRIORITY, Reserve.CHUNK, 0, 0, 0.0, 2, 4, 4, 44, 9, 1, 1, 0, 0, 0)
    ones, none = np.ones(2, np.int64), np.zeros(0, np.int64)
    requests = Requests(
        np.zeros(2),
        np.array([2, 7]),
        np.array([5, 1]),
        np.array([5, 1]),
        ones,
        0 * ones,
        np.zeros(3, np.int64),
        none,
        none,
        0,
    )
    scenario = Scenario(rules, requests, StepTime(np.ones(2), 0.0, 0.0, 0.0))
    assert len(naive.simulate(*scenario, max_calls=MAX_CALLS).calls) == MAX_CALLS
    assert_agreement(scenario)
