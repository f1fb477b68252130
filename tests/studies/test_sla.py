"""Targets and the lengths they assume: exact on a server where nobody waits."""

import numpy as np
import pytest

from sim import Scenario, ScenarioError, simulate, with_values
from sim.presets import preset
from sim.studies.sla import attained, attained_as_assumed, breaking
from tests.cases import BASE

P90, P95 = (100 / np.sqrt(2) * np.exp(np.sqrt(np.log(2)) * score) for score in (1.2815516, 1.6448536))  # CV 1


@pytest.fixture
def alone() -> Scenario:
    """Nobody ever waits: a token takes a second, so the end-to-end time in seconds is the length in tokens."""
    return with_values(
        BASE,
        {
            "workload.arrivals": {"kind": "deterministic", "rate_rps": 1e-3},
            "workload.num_requests": 4000,
            "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
            "workload.types.0.output": {"kind": "lognormal", "mean": 100.0, "cv": 1.0},
            "scheduler.max_num_seqs": 256,
            "slo.e2e_ms": 400_000.0,
        },
    )


def test_attainment_is_the_share_of_answers_that_are_short_enough(alone: Scenario) -> None:
    lengths = simulate(alone).inputs.output_len
    found = attained(alone, "as it is")
    assert found.attainment == (lengths <= 400).mean()
    assert found.lengths.mean == lengths.mean()
    assert found.within == {"e2e_ms": found.attainment}


def test_under_the_assumed_lengths_the_assumed_share_is_within(alone: Scenario) -> None:
    # A log-normal of median 200 and p99 400: one answer in a hundred is longer than 400 tokens.
    assumed = with_values(alone, {"slo.assumed": {"p50": 200, "p99": 400}})
    assert attained_as_assumed(assumed).attainment == pytest.approx(0.99, abs=0.005)
    capped = with_values(alone, {"slo.assumed": {"p50": 200, "p99": 400, "cap": 300}})
    assert attained_as_assumed(capped).attainment == 1.0


def test_the_tail_that_breaks_the_target_is_where_its_quantile_meets_the_limit(alone: Scenario) -> None:
    # 95 % must end within 400 s. Stretched by f, the length that 95 % of these answers reach at most, x, becomes
    # p90 + f (x - p90).
    x = np.sort(simulate(alone).inputs.output_len)[int(0.95 * 4000) - 1]
    expected = (400 - P90) / (x - P90)
    broken = breaking(alone, 0.95)
    assert broken.factor is not None
    assert broken.holds is not None
    assert broken.holds < expected * 1.03
    assert broken.factor > expected * 0.97
    assert broken.at is not None
    assert broken.at.attainment < 0.95
    assert broken.last is not None
    assert broken.last.attainment >= 0.95


def test_a_cap_keeps_any_tail_from_breaking_it(alone: Scenario) -> None:
    assert breaking(with_values(alone, {"workload.types.0.cap": 400}), 0.95).factor is None


def test_a_target_that_is_broken_now_holds_with_a_shorter_tail(alone: Scenario) -> None:
    limit = float(np.round(P90 + 0.5 * (P95 - P90)))
    broken = breaking(with_values(alone, {"slo.e2e_ms": 1000 * limit}), 0.95)
    assert broken.holds == pytest.approx(0.5, abs=0.06)
    assert broken.factor is not None
    assert broken.factor < 1


def test_a_target_below_the_body_of_the_answers_holds_with_no_tail(alone: Scenario) -> None:
    broken = breaking(with_values(alone, {"slo.e2e_ms": 50_000.0}), 0.9)
    assert (broken.factor, broken.holds) == (0.0, None)


def test_each_limit_is_counted_by_itself() -> None:
    busy = with_values(preset("long-prompts"), {"workload.num_requests": 1500, "workload.arrivals.rate_rps": 9})
    found = attained(busy, "as it is")
    result = simulate(busy)
    assert found.within["ttft_ms"] == (result.ttft_s <= 1.0).mean()
    assert found.within["tpot_ms"] == (np.nan_to_num(result.tpot_s) <= 0.05).mean()
    assert found.attainment <= min(found.within.values())


def test_warnings_are_those_of_the_summary() -> None:
    heavy = with_values(preset("heavy-tail"), {"workload.num_requests": 3000})
    flags = simulate(heavy).summary()["flags"]
    expected = {name for name in ("heavy_tail", "longer_than_assumed") if flags[name]}
    assert set(attained(heavy, "as it is").warnings) == expected


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "slo.assumed is none; mean and p99"),
        ({"slo.assumed": {"p99": 400}}, "slo.assumed.mean is none"),
        ({"slo.e2e_ms": None, "slo.assumed": {"mean": 100}}, "slo is without a limit"),
    ],
)
def test_what_cannot_be_attained_is_refused(alone: Scenario, values: dict, sentence: str) -> None:
    with pytest.raises(ScenarioError, match=sentence):
        attained_as_assumed(with_values(alone, values))
