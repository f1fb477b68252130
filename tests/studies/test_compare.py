"""Schedulers side by side: hand-worked reach and spread, the same requests for all, refusals."""

import math

import numpy as np
import pytest

from sim import preset, simulate, with_values
from sim.scenario import Scenario
from sim.studies import compare
from sim.studies.compare import Compared, furthest, overall_cv, row, with_system
from tests.cases import BASE, STATIC, run, trace

SMALL = with_values(preset("chat"), {"workload.num_requests": 600})


def at(load: float, attainment: float, *, is_unstable: bool = False) -> Compared:
    nothing, good_rps = math.nan, load * attainment
    return Compared("orca", load, 1.0, 1.0, 1.0, False, attainment, good_rps, 0, 0.5, 0.1, nothing, is_unstable, 0)


def test_reach_lies_on_the_line_between_the_last_good_and_the_first_bad_load() -> None:
    assert furthest([at(2, 1.0), at(4, 0.96), at(8, 0.84), at(16, 0.1)]) == pytest.approx(4 + 4 * 0.06 / 0.12)
    assert furthest([at(8, 0.95), at(2, 1.0)]) == 8  # in any order; good to the end
    assert furthest([at(2, 0.5), at(4, 1.0)]) == 0  # nothing counts beyond the first failure
    assert math.isnan(furthest([at(2, math.nan)]))


def test_a_load_at_which_the_queue_grows_is_not_kept() -> None:
    assert furthest([at(2, 1.0), at(4, 0.98, is_unstable=True), at(8, 0.95, is_unstable=True)]) == 2


def test_a_load_above_what_a_full_server_takes_in_is_not_kept() -> None:
    """However many are within the limits until the backlog has grown."""
    points = [at(2, 1.0), at(4, 1.0), at(8, 0.99)]
    assert furthest(points, ceiling_rps=3.5) == 3.5
    assert furthest(points) == 8
    short = with_values(BASE, {"workload.arrivals": {"kind": "poisson", "rate_rps": 1.0}, "scheduler.max_num_seqs": 4})
    values = {"workload.num_requests": 400, "workload.types.0.output": {"kind": "constant", "tokens": 8}}
    found = row(with_values(short, values), "vllm_v1")  # four seats, a token a second: half a request a second
    assert found.ceiling_rps == pytest.approx(0.5, rel=1e-9)


def test_a_load_has_all_requests_so_that_a_queue_has_time_to_grow() -> None:
    """Long answers fill the memory late: of the first 3,000 requests nearly all are within the limits, of all not."""
    crowded = preset("mixed-priority")
    found, beginning = compare.at(crowded, "vllm_v1", 13.0), with_values(crowded, {"workload.num_requests": 3000})
    assert found is not None
    assert share_within(crowded) < 0.85 < 0.95 < share_within(beginning)
    assert found.attainment == pytest.approx(share_within(crowded), abs=1e-12)


def share_within(scenario: Scenario) -> float:
    """Share of requests within both limits, from each request's own times."""
    run, slo = simulate(scenario), scenario.slo
    assert slo.ttft_ms is not None
    assert slo.tpot_ms is not None
    is_fluent = np.nan_to_num(run.tpot_s, nan=0.0) <= slo.tpot_ms / 1000
    return float(((run.ttft_s <= slo.ttft_ms / 1000) & is_fluent).mean())


def test_spread_among_those_served_together() -> None:
    """Two seats: 10 with 30 first (CV 0.5), then 20 with 30 (CV 0.2)."""
    result = run(with_values(BASE, {"scheduler.max_num_seqs": 2}), trace([10, 30, 20]))
    assert result.run.duration_s == 30
    assert compare.batch_cv(result) == pytest.approx((0.5 * 10 + 0.2 * 20) / 30, abs=0.01)
    assert overall_cv(np.array([10, 30, 20])) == pytest.approx(np.std([10, 30, 20]) / 20)


def test_a_held_batch_is_together_until_its_end_of_service() -> None:
    result = run(with_values(STATIC, {"scheduler.delivery": "stream"}), trace([10, 30]))
    assert compare.batch_cv(result) == pytest.approx(0.5)


def test_a_row_says_what_the_run_says() -> None:
    found = row(SMALL, "sarathi").compared
    assert found is not None
    result = simulate(with_values(SMALL, {"scheduler": {"system": "sarathi"}}))
    metrics = result.summary()["metrics"]
    assert found.output_tokens_per_s == pytest.approx(metrics["output_tokens_per_s"])
    assert found.ttft_p99_s == pytest.approx(metrics["ttft_p99_s"])
    assert found.preemptions == metrics["preemptions"]
    assert (result.inputs.output_len == simulate(SMALL).inputs.output_len).all()


def test_without_a_limit_no_request_is_good() -> None:
    found = row(with_values(SMALL, {"slo": {}}), "vllm_v1").compared
    assert found is not None
    assert math.isnan(found.attainment)
    assert math.isnan(found.good_rps)


def test_memory_over_time_adds_up_to_the_ledger() -> None:
    result = simulate(SMALL)
    found = compare.memory(result)
    assert len(found.time_s) == len(found.used) == compare.TIME_POINTS
    assert found.used.mean() == pytest.approx(compare.compared(result, 0).kv_use)
    assert (found.used + found.wasted <= 1 + 1e-9).all()


def test_the_scenarios_own_scheduler_keeps_its_knobs_and_others_get_limits_only_if_asked() -> None:
    own = with_values(SMALL, {"scheduler.max_num_seqs": 7, "scheduler.watermark": 0.1})
    assert with_system(own, "vllm_v1", same_limits=False) == own
    assert with_system(own, "orca", same_limits=False).scheduler.max_num_seqs is None
    assert with_system(own, "orca", same_limits=True).scheduler.max_num_seqs == 7
    assert with_system(own, "orca", same_limits=True).scheduler.watermark is None


def test_what_cannot_run_says_why_and_takes_no_place() -> None:
    tight = with_values(SMALL, {"deployment.max_model_len": 120_000})
    found = row(with_values(tight, {"deployment.num_gpu_blocks_override": 7000}), "vllm_v0")
    assert found.compared is None
    assert "max_model_len" in found.problem
