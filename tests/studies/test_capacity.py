"""Search for the largest sustained rate."""

import pytest

from sim import ScenarioError, simulate, with_values
from sim.studies.capacity import MAX_EVALUATIONS, capacity, largest_rate, sustains
from tests.cases import BASE

TRUE_LIMIT = 3.70


@pytest.mark.parametrize("start", [0.01, 0.5, 1.0, 3.0, 3.7, 5.0, 400.0])
def test_search_ends_at_most_a_width_below_the_true_limit(start: float) -> None:
    found = largest_rate(lambda rate: rate <= TRUE_LIMIT, start)
    assert found.is_settled
    assert 3.6075 <= found.rate_rps <= TRUE_LIMIT
    assert found.evaluations <= MAX_EVALUATIONS


def test_search_that_never_passes_finds_nothing() -> None:
    assert largest_rate(lambda rate: False, 1.0) == (0.0, MAX_EVALUATIONS, False)


def test_search_that_always_passes_is_not_settled() -> None:
    assert largest_rate(lambda rate: True, 1.0) == (2.0 ** (MAX_EVALUATIONS - 1), MAX_EVALUATIONS, False)


def test_capacity_of_a_server_with_constant_steps_is_its_slots_over_its_service_time() -> None:
    # 32 slots, 8 steps of 0.25 s a request: 16 requests/s. The queue's median delay stays below 2 s up to a little
    # more, since the run ends: 2 * 2 s of backlog over 1,000 / 16 s of arrivals.
    scenario = with_values(
        BASE,
        {
            "workload.arrivals": {"kind": "deterministic", "rate_rps": 1.0},
            "workload.num_requests": 1000,
            "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
            "workload.types.0.output": {"kind": "constant", "tokens": 8},
            "cost.step_ms": 250.0,
        },
    )
    found = capacity(scenario, tbt_p99_limit_s=0.3)
    assert 16 * 0.975 <= found.rate_rps <= 16 * 1.08
    assert not sustains(simulate(scenario), tbt_p99_limit_s=0.2)  # steps take 0.25 s at any rate


def test_capacity_needs_arrivals_with_a_rate() -> None:
    with pytest.raises(ScenarioError, match="all_at_once"):
        capacity(BASE, 0.1)


def test_capacity_needs_a_thousand_requests() -> None:
    arrivals = {"kind": "poisson", "rate_rps": 1.0}
    scenario = with_values(BASE, {"workload.arrivals": arrivals, "workload.num_requests": 999})
    with pytest.raises(ScenarioError, match="999"):
        capacity(scenario, 0.1)
