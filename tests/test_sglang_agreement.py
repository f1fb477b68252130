"""The SGLang engine and the naive simulator agree on random scenarios: every field of every iteration."""

import numpy as np
import pytest
from hypothesis import given, settings

from sim.golden import GoldenError
from sim.golden.sglang import engine_run
from sim.golden.sglang_run import SglangSteps
from tests import naive_sglang_tables
from tests.naive_sglang_memory import OutOfMemoryError
from tests.naive_sglang_scenarios import SglangScenario, sglang_scenarios


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
