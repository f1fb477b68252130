"""Schedulers side by side: hand-worked reach and spread, the same requests for all, refusals."""

import math

import numpy as np
import pytest

from sim import preset, simulate, with_values
from sim.scenario import Scenario
from sim.studies import compare, load_curve
from sim.studies.capacity import capacity
from sim.studies.capacity_search import Server
from sim.studies.compare import Contender, at, overall_cv, row, with_system
from sim.studies.reach import ceiling, loads_of_all, reach
from tests.cases import BASE, STATIC, run, trace

SMALL = with_values(preset("chat"), {"workload.num_requests": 600})


FOUR_SEATS = with_values(
    BASE,
    {
        "workload.arrivals": {"kind": "deterministic", "rate_rps": 1.0},
        "workload.num_requests": 400,
        "workload.types.0.output": {"kind": "constant", "tokens": 8},
        "scheduler.max_num_seqs": 4,
        "slo.ttft_ms": 2000.0,
    },
)  # a token a second, eight an answer: half a request a second, and four users, begin with the next step at the latest


def test_how_far_a_scheduler_gets_by_hand() -> None:
    assert 0.975 * 0.5 <= reach(Contender(FOUR_SEATS, "vllm_v1")) <= 0.5
    users = with_values(FOUR_SEATS, {"workload.arrivals": {"kind": "closed_loop", "concurrency": 2}})
    assert reach(Contender(users, "vllm_v1")) == 4
    assert reach(Contender(with_values(users, {"slo.ttft_ms": 10_000.0}), "vllm_v1")) > 4
    for scenario in (FOUR_SEATS, users):
        assert reach(Contender(with_values(scenario, {"slo.ttft_ms": 999.0}), "vllm_v1")) == 0
        assert math.isnan(reach(Contender(with_values(scenario, {"slo": {}}), "vllm_v1")))
        assert math.isnan(reach(Contender(with_values(scenario, {"deployment.pipeline_parallel_size": 2}), "static")))
    at_once = with_values(FOUR_SEATS, {"workload.arrivals": {"kind": "all_at_once"}})
    # at random instead: by Erlang C no more than 9 % of 0.2 a second wait at all, with service times even at random
    assert 0.975 * 0.2 <= reach(Contender(at_once, "vllm_v1")) <= 0.5


def test_requests_that_come_at_once_are_compared_at_rates_like_any_others() -> None:
    at_once = with_values(FOUR_SEATS, {"workload.arrivals": {"kind": "all_at_once"}, "slo": {}})
    found = at(Contender(at_once, "vllm_v1"), 0.25)
    assert found is not None
    assert found.output_tokens_per_s == pytest.approx(8 * 0.25, rel=0.1)  # what arrives: eight tokens a request


def test_who_keeps_a_trace_at_no_speed_keeps_no_load() -> None:
    """Nobody meets 999 ms at a second a token; the search goes below the slowest replay and comes back with 0."""
    rows = trace([8] * 1000, arrival_s=[0.01 * i for i in range(1000)])
    values = {"workload.arrivals": {"kind": "trace"}, "slo.ttft_ms": 999.0}
    assert reach(Contender(with_values(FOUR_SEATS, values), "vllm_v1", rows)) == 0


@pytest.mark.parametrize("loads", [(0.1, 0.4, 0.6), (0.2, 0.49), (0.6, 0.9), (0.51,), (0.05, 0.2)])
def test_runs_that_are_there_are_not_made_again_and_change_nothing(loads, monkeypatch) -> None:
    """The limit is half a request a second, whichever loads were run before; kept ones all have a thousand requests."""
    whole = with_values(FOUR_SEATS, {"workload.num_requests": 1000})
    points = [at(Contender(whole, "vllm_v1"), load) for load in loads]
    tried: list[float] = []
    run = Server.run
    monkeypatch.setattr(
        Server, "run", lambda self, rate, replication: tried.append(rate) or run(self, rate, replication)
    )
    assert 0.975 * 0.5 <= reach(Contender(whole, "vllm_v1"), points=points, full_load=0.1) <= 0.5
    assert tried
    assert all(rate < 0.5 or rate < min(load for load in (*loads, 1.0) if load > 0.5) for rate in tried)
    assert (1.25 * 0.5 in tried) == (max(loads) < 0.5)  # once, to see whether what full seats serve is a bound
    assert all(rate > max((load for load in loads if load < 0.5), default=0.0) for rate in tried)


def test_a_shorter_run_does_not_show_that_a_load_is_kept() -> None:
    """A few requests at 0.6 a second are over before the queue is long; all of them show that 0.5 is the limit."""
    whole = with_values(FOUR_SEATS, {"workload.num_requests": 1000})
    few = at(Contender(with_values(FOUR_SEATS, {"workload.num_requests": 4}), "vllm_v1"), 0.6)
    assert few is not None
    assert few.attainment == 1.0
    assert 0.975 * 0.5 <= reach(Contender(whole, "vllm_v1"), points=[few], full_load=1.0) <= 0.5


def test_who_keeps_no_load_is_found_by_runs_with_few_requests(monkeypatch) -> None:
    """Nobody meets 999 ms at a second a token. Who meets 2 s at light load is searched, whatever the loads before."""
    monkeypatch.setattr(load_curve, "FEWEST_REQUESTS", 100)
    whole = with_values(FOUR_SEATS, {"workload.num_requests": 1000})
    tried: list[float] = []
    run = Server.run
    monkeypatch.setattr(
        Server, "run", lambda self, rate, replication: tried.append(rate) or run(self, rate, replication)
    )
    strict = Contender(with_values(whole, {"slo.ttft_ms": 999.0}), "vllm_v1")
    points = [at(strict, load) for load in (0.3, 0.6)]
    assert [point.attainment for point in points if point] == [0.0, 0.0]
    assert reach(strict, points=points, full_load=0.3, ceiling_rps=0.5) == 0
    assert not tried
    kept = Contender(whole, "vllm_v1")
    points = [at(kept, load) for load in (0.6, 0.9)]
    assert all(point.attainment < 0.85 for point in points if point)
    assert 0.975 * 0.5 <= reach(kept, points=points, full_load=0.3, ceiling_rps=0.5) <= 0.5
    unlimited = Contender(with_values(whole, {"slo": {}}), "vllm_v1")
    points = [at(unlimited, load) for load in (0.6, 0.9)]
    assert math.isnan(reach(unlimited, points=points, full_load=0.3, ceiling_rps=0.5))


def test_it_is_what_capacity_finds_in_its_first_replication() -> None:
    crowded = preset("mixed-priority")
    found = capacity(with_values(crowded, {"replications": 1})).sustained.rate_rps
    assert reach(Contender(crowded, "vllm_v1")) == found


def test_beyond_its_ceiling_a_queue_grows_without_end() -> None:
    assert ceiling(Contender(FOUR_SEATS, "vllm_v1")) == pytest.approx(0.5, rel=1e-9)
    users = with_values(FOUR_SEATS, {"workload.arrivals": {"kind": "closed_loop", "concurrency": 2}})
    assert ceiling(Contender(users, "vllm_v1")) == math.inf
    assert math.isnan(ceiling(Contender(with_values(SMALL, {"deployment.pipeline_parallel_size": 2}), "static")))


def test_loads_go_on_to_what_the_best_of_them_takes_in() -> None:
    """A server of the scenario's own that is full at 1 request/s says nothing of one that is full at 10."""
    own = (0.1, 0.35, 0.6, 0.87, 1.02, 1.35)
    assert loads_of_all(own, [1.0, math.nan]) == own
    assert loads_of_all(own, [1.0, 10.0]) == (*own, 3.5, 6.0, 8.7, 10.2, 13.5)
    assert loads_of_all(own, [1.05]) == own  # 1.42 would say nothing new
    assert loads_of_all((1.0, 2.0), [math.inf]) == (1.0, 2.0)
    assert loads_of_all((), [2.0]) == ()


def test_a_load_has_all_requests_so_that_a_queue_has_time_to_grow() -> None:
    """Long answers fill the memory late: of the first 3,000 requests nearly all are within the limits, of all not."""
    crowded = preset("mixed-priority")
    found, beginning = at(Contender(crowded, "vllm_v1"), 13.0), with_values(crowded, {"workload.num_requests": 3000})
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
    found = row(Contender(SMALL, "sarathi")).compared
    assert found is not None
    result = simulate(with_values(SMALL, {"scheduler": {"system": "sarathi"}}))
    metrics = result.summary()["metrics"]
    assert found.output_tokens_per_s == pytest.approx(metrics["output_tokens_per_s"])
    assert found.ttft_p99_s == pytest.approx(metrics["ttft_p99_s"])
    assert found.preemptions == metrics["preemptions"]
    assert (result.inputs.output_len == simulate(SMALL).inputs.output_len).all()


def test_without_a_limit_no_request_is_good() -> None:
    found = row(Contender(with_values(SMALL, {"slo": {}}), "vllm_v1")).compared
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
    found = row(Contender(with_values(tight, {"deployment.num_gpu_blocks_override": 7000}), "vllm_v0"))
    assert found.compared is None
    assert "max_model_len" in found.problem
