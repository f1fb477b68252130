"""Putting predictions to a use changes one choice and nothing else."""

import pytest
from scipy.special import ndtri

from sim import preset, simulate, with_values
from sim.studies.predictor.uses import MAX_REQUESTS, Use, measured, own_error, run, served, use_of, with_error
from sim.studies.saturated import saturated
from sim.view.length_tail import how_compared
from sim.view.predictor import size_note
from tests.cases import trace

TIGHT = with_values(preset("memory-pressure"), {"workload.num_requests": 200})


def scheduler(scenario):
    return scenario.scheduler.model_dump()


def differing(a, b):
    return {name for name, value in scheduler(a).items() if scheduler(b)[name] != value}


def test_a_use_changes_one_choice_of_the_scheduler():
    assert differing(served(TIGHT, Use.ORDER), TIGHT) == {"order"}
    assert differing(served(TIGHT, Use.RESERVE), TIGHT) == {"reserve"}


@pytest.mark.parametrize("system", ["vllm_v1", "sglang"])
def test_an_order_by_equal_lengths_is_the_server_without_a_predictor(system):
    """Who comes first is served first on both sides: what only one of them could have would show."""
    texts = {"kind": "constant", "tokens": 1200}
    alike = {"shared_prefix_tokens": 1000, "prompt": texts, "output": {"kind": "constant", "tokens": 60}}
    own = with_values(
        TIGHT,
        {
            "workload.types": [{"name": "now", "priority": 0, **alike}, {"name": "later", "priority": 1, **alike}],
            "workload.arrivals.rate_rps": 20.0,
            "predictor.kind": "oracle",
            "scheduler.system": system,
            "scheduler.scheduling_policy": "priority",
            "scheduler.enable_prefix_caching": True,
            "scheduler.async_scheduling": True,
        },
    )
    assert run(served(own, Use.ORDER)) == pytest.approx(run(served(own, Use.NONE)), rel=1e-9)
    assert measured(simulate(own)) != pytest.approx(run(served(own, Use.NONE)), rel=0.05)


@pytest.mark.parametrize(("system", "use"), [("rank", Use.ORDER), ("s3", Use.RESERVE), ("quantile", Use.RESERVE)])
def test_a_length_aware_scheduler_stays_itself_for_its_own_use_and_gives_way_to_vllm_for_none(system, use):
    own = with_values(TIGHT, {"scheduler.system": system})
    assert use_of(own) is use
    assert served(own, use).scheduler == own.scheduler
    assert served(own, Use.NONE).scheduler.system == "vllm_v1"
    assert use_of(served(own, Use.NONE)) is Use.NONE


def test_requests_and_deployment_stay_but_long_runs_are_cut():
    full = preset("memory-pressure")
    for use in Use:
        asked = served(full, use)
        assert asked.deployment == full.deployment
        assert asked.workload.types == full.workload.types
        assert asked.workload.num_requests == MAX_REQUESTS
    assert served(TIGHT, Use.ORDER).workload.num_requests == 200


def test_a_trace_is_replayed_whole_however_long_and_the_page_does_not_say_otherwise():
    rows = trace([5] * (MAX_REQUESTS + 1), arrival_s=list(range(MAX_REQUESTS + 1)))
    file = {"name": rows.name, "sha256": rows.sha256, "rows": len(rows)}
    replay = with_values(preset("chat"), {"workload.arrivals": {"kind": "trace"}, "workload.trace_file": file})
    assert len(simulate(served(replay, Use.ORDER), rows).is_finished) == MAX_REQUESTS + 1
    assert size_note(replay) == ""
    assert size_note(preset("chat")).startswith("Runs here have at most 1,000 requests")
    assert how_compared(replay).startswith("Every run replays the whole trace")
    assert how_compared(preset("chat")).startswith("Every run has at most 4,000 requests")


def test_a_reserved_quantile_counts_as_the_bias_it_comes_to():
    assert own_error(TIGHT) == (0.0, 0.5)
    known = with_values(TIGHT, {"predictor.kind": "point", "predictor.bias": 0.2, "predictor.spread": 0.8})
    assert own_error(known) == (0.2, 0.8)
    at = with_values(
        known, {"scheduler.system": "quantile", "predictor.kind": "distribution", "predictor.quantile": 0.9}
    )
    assert own_error(at)[0] == pytest.approx(0.2 + 0.8 * ndtri(0.9))


def test_bias_at_the_median_is_the_same_run_as_the_quantile_it_means():
    # ln reserved = mean + z(q) * spread either way, so every integer of the run agrees.
    by_bias = with_error(TIGHT, Use.RESERVE, 0.5 * float(ndtri(0.75)), 0.5)
    by_quantile = with_values(by_bias, {"predictor.bias": 0.0, "predictor.quantile": 0.75})
    a, b = simulate(by_bias), simulate(by_quantile)
    assert a.run.counters == b.run.counters
    assert measured(a) == pytest.approx(measured(b), rel=1e-9)


def test_an_order_is_not_said_to_serve_more_tokens_than_it_does():
    """Agents: while short answers go first a third more tokens come a second, and the queue ends no sooner for it."""
    full = saturated(preset("agents"))
    ordered = with_error(full, Use.ORDER, 0.0, 0.5)
    none, order = run(served(full, Use.NONE)), run(ordered)
    assert order.output_tokens_per_s > 1.2 * none.output_tokens_per_s
    assert order.whole_tokens_per_s == pytest.approx(none.whole_tokens_per_s, rel=0.05)
    ran = simulate(ordered)
    assert order.whole_tokens_per_s == pytest.approx(ran.run.outcome.emitted.sum() / ran.run.duration_s)


def test_over_prediction_costs_throughput_and_under_prediction_preemptions():
    full_queue = with_values(TIGHT, {"workload.arrivals": {"kind": "all_at_once"}})
    over, under = (run(with_error(full_queue, Use.RESERVE, bias, 0.3)) for bias in (0.7, -0.7))
    assert over.output_tokens_per_s < 0.8 * under.output_tokens_per_s
    assert over.preemptions < 0.5 * under.preemptions
