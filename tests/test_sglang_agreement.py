"""The SGLang engine and the naive simulator agree on random scenarios: every field of every iteration."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings

from sim.engine.sglang.inputs import SglangOrder, SglangRules
from sim.engine.sglang.state import SglangState
from sim.engine.sglang.tree_room import with_more_nodes
from sim.golden import GoldenError
from sim.golden.sglang import engine_run
from sim.golden.sglang_run import SglangSteps
from tests.naive import sglang_tables as naive_sglang_tables
from tests.naive.sglang_memory import OutOfMemoryError
from tests.sglang_scenarios import SglangScenario, crowded, sglang_scenarios


def assert_agreement(scenario: SglangScenario) -> None:
    try:
        expected = naive_sglang_tables.run(*scenario)
    except OutOfMemoryError:
        with pytest.raises(GoldenError, match="memory is short"):
            engine_run(*scenario)
        return
    own = engine_run(*scenario)
    for name in SglangSteps._fields:
        np.testing.assert_array_equal(getattr(own.steps, name), getattr(expected.steps, name), name)
    np.testing.assert_array_equal(own.max_new_tokens, expected.max_new_tokens)


@settings(max_examples=25)
@given(sglang_scenarios())
def test_engine_and_naive_sglang_agree_on_every_iteration(scenario: SglangScenario) -> None:
    assert_agreement(scenario)


@pytest.mark.slow
@settings(max_examples=200)
@given(sglang_scenarios(max_requests=40))
def test_engine_and_naive_sglang_agree_on_many_scenarios(scenario: SglangScenario) -> None:
    assert_agreement(scenario)


@pytest.mark.parametrize("order", SglangOrder)
def test_they_agree_on_a_queue_longer_than_what_is_matched(order: SglangOrder) -> None:
    scenario = crowded(1, order)
    steps = naive_sglang_tables.run(*scenario).steps
    assert steps.waiting.max() > 128
    assert len(steps.retracted) > 0
    assert_agreement(scenario)


def test_they_agree_where_the_tree_outgrows_its_first_room_and_the_loop_is_stopped_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_module("sim.engine.sglang.first_state"), "FIRST_NODES", 1)
    monkeypatch.setattr(import_module("sim.engine.sglang.run"), "CALLS_AT_ONCE", 7)
    rows = []

    def noted(rules: SglangRules, state: SglangState) -> SglangState:
        rows.append(len(state.nodes))
        return with_more_nodes(rules, state)

    monkeypatch.setattr(import_module("sim.engine.sglang.run"), "with_more_nodes", noted)
    assert_agreement(crowded(2, SglangOrder.FCFS, pool_tokens=20_000, max_running_requests=3))
    assert rows
