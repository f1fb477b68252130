"""The frontier: exact where every step takes the same time, and dominated points as their definition says."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import ScenarioError
from sim.presets import preset
from sim.scenario import Scenario, with_values
from sim.studies.frontier import FrontierPoint, frontier, frontier_point, is_dominated, seat_values

CLOCKWORK = with_values(
    Scenario(),
    {
        "workload.num_requests": 1024,
        "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
        "workload.types.0.output": {"kind": "constant", "tokens": 100},
        "cost.source": "constant",
        "cost.step_ms": 10.0,
        "scheduler.enable_prefix_caching": False,
        "scheduler.async_scheduling": False,
    },
)


def point(user: float, gpu: float) -> FrontierPoint:
    return FrontierPoint(1, user, gpu, 0)


@pytest.mark.parametrize("seats", [1, 4, 32])
def test_equal_steps_give_every_user_a_token_a_step_and_the_gpu_one_from_each_seat(seats: int) -> None:
    found = frontier_point(CLOCKWORK, seats)
    assert found.tokens_per_s_user == pytest.approx(100, rel=1e-9)
    # The time bins know the plateau's ends to a bin's width, out of hundreds of them.
    assert found.tokens_per_s_gpu == pytest.approx(100 * seats, rel=0.01)
    assert (found.value, found.preemptions) == (seats, 0)


def test_throughput_is_for_each_gpu() -> None:
    two = frontier_point(with_values(CLOCKWORK, {"deployment.tensor_parallel_size": 2}), 4)
    assert two.tokens_per_s_gpu == pytest.approx(frontier_point(CLOCKWORK, 4).tokens_per_s_gpu / 2, rel=1e-9)
    assert two.tokens_per_s_user == pytest.approx(100, rel=1e-9)


def test_more_seats_earn_more_and_feel_slower_until_memory_runs_out() -> None:
    points = frontier(preset("memory-pressure"), (4, 16, 256))
    assert points[0].tokens_per_s_user > points[1].tokens_per_s_user > points[2].tokens_per_s_user
    assert points[0].tokens_per_s_gpu < points[1].tokens_per_s_gpu
    assert [point.preemptions > 0 for point in points] == [False, False, True]


def test_batch_delivery_has_no_interactivity() -> None:
    assert math.isnan(frontier_point(preset("textbook-straggler"), 8).tokens_per_s_user)


def test_seats_are_powers_of_two_the_scenarios_own_and_none_above_its_token_budget() -> None:
    scenario = with_values(preset("chat"), {"scheduler.max_num_seqs": 100, "scheduler.max_num_batched_tokens": 128})
    assert seat_values(scenario) == (1, 2, 4, 8, 16, 32, 64, 100, 128)


def test_another_knob_can_be_swept() -> None:
    small, large = (
        frontier_point(preset("long-prompts"), budget, path="scheduler.max_num_batched_tokens")
        for budget in (1024, 16_384)
    )
    assert small.tokens_per_s_user > large.tokens_per_s_user


def test_a_value_that_the_scenario_cannot_have_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"max_num_batched_tokens is 128; at least max_num_seqs \(256\)"):
        frontier_point(with_values(preset("chat"), {"scheduler.max_num_batched_tokens": 128}), 256)


figures = st.floats(0, 5).map(round) | st.just(math.nan)


@given(st.lists(st.tuples(figures, figures), max_size=12))
def test_dominated_points_are_those_that_another_beats(pairs: list[tuple[float, float]]) -> None:
    def beats(other: tuple[float, float], one: tuple[float, float]) -> bool:
        return other[0] >= one[0] and other[1] >= one[1] and other != one

    expected = [any(map(math.isnan, one)) or any(beats(other, one) for other in pairs) for one in pairs]
    assert list(is_dominated([point(*each) for each in pairs])) == expected
