"""The loop of a pipeline and a naive one agree on random scenarios, on one stage both with the real vLLM."""

import gzip
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sim.engine import Run
from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin, Status
from sim.engine.general.choices import Batching, Eviction, GeneralRules, Hints, Prefill, Queue, Reservation, Victim
from sim.engine.inputs import Order, Requests, Rules, StepTime
from sim.engine.pipeline.run import run_pipeline
from sim.golden import replay
from sim.systems.build import plan_of
from tests.general_scenarios import PREDICTORS, drawn
from tests.naive import length_aware as aware
from tests.naive import served as naive_served
from tests.naive.general import Scheduler
from tests.naive.pipeline import NaivePipelineRun, bubble, simulate
from tests.naive.stages import NaiveStagesRun
from tests.naive.stages import piped as piped_family
from tests.naive.stages import simulate as simulate_stages
from tests.naive.tables import async_columns, outcome_of, step_table
from tests.scenarios import MAX_CALLS, Scenario, step_times, vllm_scenarios
from tests.shared import SHARED, needs_shared


def general_rules(rules: Rules, stages: int, *, is_async: bool, pause: float) -> GeneralRules:
    """vLLM V1's rules as the loop of a pipeline has them."""
    return GeneralRules(
        batching=Batching.ITERATION,
        prefill=Prefill.CHUNKED,
        reservation=Reservation.CHUNK,
        queue=Queue.ARRIVAL,
        eviction=Eviction.RECOMPUTE,
        victim=Victim.LAST_ADMITTED,
        block_size=rules.block_size,
        usable_blocks=rules.usable_blocks,
        max_num_seqs=rules.max_num_seqs,
        max_num_batched_tokens=rules.max_num_batched_tokens,
        max_model_len=rules.max_model_len,
        long_prefill_token_threshold=rules.long_prefill_token_threshold,
        reserve_full_isl=rules.reserve_full_isl,
        keep_blocks=rules.keep_blocks,
        stages=stages,
        most_in_flight=stages + is_async,
        is_async=int(is_async),
        is_overlapping=1,
        pause_s=pause,
    )


def no_hints(requests: Requests) -> Hints:
    """Nothing is known about the requests."""
    n = len(requests.cap)
    zeros = np.zeros(n)
    whole = np.zeros(n, np.int64)
    return Hints(zeros, zeros, requests.cap, requests.cap, requests.cap, whole, whole + n, np.ones(1))


def engine_run(
    rules: Rules, requests: Requests, stages: list[StepTime], *, is_async: bool, pause: float, max_calls: int | None
) -> Run:
    own = general_rules(rules, len(stages), is_async=is_async, pause=pause)
    return run_pipeline(own, requests, no_hints(requests), stages, max_calls=max_calls, record_steps=True)


class Piped(NamedTuple):
    """A scenario of vLLM's newest release without prefix cache or priorities, on stages."""

    rules: Rules
    requests: Requests
    stages: list[StepTime]
    is_async: bool
    pause: float


@st.composite
def piped(draw: Any) -> Piped:
    scenario: Scenario = draw(vllm_scenarios())
    rules = scenario.rules._replace(
        order=Order.FCFS, prefix_caching=0, chunked_prefill=1, self_preempt_stops=0, limit_lone=0, free_to_back=0
    )
    whole = draw(step_times())
    shares = draw(st.lists(st.sampled_from([0.5, 0.5, 0.3, 1.0]), min_size=1, max_size=4))
    stages = [StepTime(*(share * part for part in whole)) for share in shares]
    return Piped(rules, scenario.requests, stages, draw(st.booleans()), draw(st.sampled_from([0.0, 0.001, 2.0])))


def both(example: Piped) -> tuple[NaivePipelineRun, Run]:
    rules, requests, stages, is_async, pause = example
    naive = simulate(rules, requests, stages, is_async=is_async, pause=pause, max_calls=MAX_CALLS)
    assume(naive.num_calls < MAX_CALLS)
    return naive, engine_run(rules, requests, stages, is_async=is_async, pause=pause, max_calls=MAX_CALLS)


def assert_agreement(naive: NaivePipelineRun, run: Run, *, is_async: bool) -> None:
    assert run.steps is not None
    assert run.async_columns is not None
    expected = step_table(naive.calls)
    for name, column in expected._asdict().items():
        own = getattr(run.steps, name)
        assert own.shape == column.shape, name
        if name.endswith("_s"):
            np.testing.assert_allclose(own, column, rtol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(own, column, name)
    columns = async_columns(naive)  # type: ignore[arg-type]
    for name, value in columns._asdict().items():
        if name == "placeholders" and not is_async:
            continue
        np.testing.assert_allclose(getattr(run.async_columns, name), value, rtol=1e-12, err_msg=name)
    outcome = outcome_of(naive.members, naive.calls, naive.token_times, np.array(naive.memory_token_s))
    for name, value in outcome._asdict().items():
        np.testing.assert_allclose(getattr(run.outcome, name), value, rtol=1e-9, atol=1e-9, err_msg=name)
    assert run.duration_s == pytest.approx(naive.duration, rel=1e-12)


def assert_accounts(example: Piped, naive: NaivePipelineRun, run: Run) -> None:
    """Both ledgers balance in every bin, the bubble is what the stages' spans leave, every token is counted once."""
    stages = len(example.stages)
    width = np.full(len(run.bins), run.bin_width_s)
    width[-1] = run.duration_s - run.bin_width_s * (len(run.bins) - 1)
    for rows, size in ((MEMORY_ROWS, example.rules.usable_blocks), (TIME_ROWS, stages)):
        part = run.bins[:, list(rows)]
        scale = size * max(run.duration_s, 1.0)
        np.testing.assert_allclose(part.sum(axis=1), size * width, rtol=0, atol=1e-9 * scale)
        assert np.all(part >= -1e-9 * scale)
    total = run.bins.sum(axis=0)
    if naive.calls:
        assert total[Bin.BUBBLE] == pytest.approx(bubble(naive), rel=1e-9, abs=1e-9)
    scheduled = sum(chunk.tokens for call in naive.calls for chunk in call.scheduled)
    assert total[Bin.PREFILL_TOKENS] + total[Bin.DECODE_TOKENS] == pytest.approx(scheduled, rel=1e-9)
    assert total[Bin.OUTPUT_TOKENS] == pytest.approx(run.outcome.emitted.sum(), rel=1e-9)
    assert total[Bin.RECOMPUTED_TOKENS] == pytest.approx(run.outcome.recomputed_tokens.sum(), rel=1e-9)


@settings(max_examples=100)
@given(piped())
def test_engine_and_naive_agree(example: Piped) -> None:
    naive, run = both(example)
    assert_agreement(naive, run, is_async=example.is_async)
    assert_accounts(example, naive, run)


@pytest.mark.slow
@settings(max_examples=1000)
@given(piped())
def test_engine_and_naive_agree_on_many_scenarios(example: Piped) -> None:
    naive, run = both(example)
    assert_agreement(naive, run, is_async=example.is_async)
    assert_accounts(example, naive, run)


def is_within(path: Path) -> bool:
    """Whether a golden needs nothing that the loop of a pipeline does not have, and nobody waits for ever."""
    golden = json.loads(gzip.decompress(path.read_bytes()))
    config = golden["config"]
    is_plain = config["policy"] == "fcfs" and not config["enable_prefix_caching"]
    return bool(is_plain and config["enable_chunked_prefill"] and golden["status"] == "complete")


SYNC = [path for path in sorted((SHARED / "goldens" / "vllm").glob("*.json.gz")) if is_within(path)]
ASYNC = [path for path in sorted((SHARED / "goldens" / "vllm_async").glob("*.json.gz")) if is_within(path)]


@needs_shared
@pytest.mark.parametrize("path", SYNC, ids=lambda path: path.name)
def test_one_stage_reproduces_every_step_of_the_real_scheduler(path: Path) -> None:
    def run(rules: Rules, requests: Requests, step: StepTime, *, max_calls: int | None) -> Run:
        return engine_run(rules, requests, [step], is_async=False, pause=0.0, max_calls=max_calls)

    assert replay(path, run).difference is None


@needs_shared
@pytest.mark.parametrize("path", ASYNC, ids=lambda path: path.name)
def test_one_stage_reproduces_every_step_of_the_real_asynchronous_loop(path: Path) -> None:
    def run(rules: Rules, requests: Requests, step: StepTime, *, pause: float) -> Run:
        return engine_run(rules, requests, [step], is_async=True, pause=pause, max_calls=None)

    assert replay(path, run).difference is None


class Family(NamedTuple):
    """A system that serves a request in one batch at a time, and its naive loop."""

    system: str
    naive: type[Scheduler]
    knobs: dict[str, Any] = {}
    predictors: list[dict[str, Any]] = []
    is_by_arrival: bool = True


BUDGET = {"max_num_batched_tokens": st.integers(1, 40)}
HOST = {"host_blocks": st.sampled_from([0, 2, 5, 1000])}
FAMILIES = [
    *(Family("orca", naive_served.Orca, {"reserve": reserve}) for reserve in ("cap", "truth")),
    Family("vllm_v0", naive_served.VllmV0),
    Family("sarathi", naive_served.Sarathi, BUDGET),
    Family("sarathi", naive_served.Sarathi, BUDGET | {"preemption_mode": "restart"}),
    Family("sarathi", naive_served.Sarathi, BUDGET | HOST | {"preemption_mode": "swap"}),
    Family("vtc", naive_served.Vtc, {}, [], False),
    Family("routed", naive_served.Routed, BUDGET, [], False),
    Family("quantile", aware.Quantile, {}, PREDICTORS),
    Family("past_future", aware.PastFuture, {"history": st.sampled_from([1, 5, 200])}),
    Family("ssjf", aware.Ssjf, BUDGET, PREDICTORS, False),
]


@pytest.mark.parametrize("family", FAMILIES, ids=[f"{each.system}-{k}" for k, each in enumerate(FAMILIES)])
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_families_agree_on_stages(family: Family, data: Any) -> None:
    example = data.draw(drawn(family.system, dict(family.knobs), family.predictors))
    shares = data.draw(st.lists(st.sampled_from([0.5, 0.5, 0.3]), min_size=2, max_size=4))
    stages = [StepTime(*(share * part for part in example.step_time)) for share in shares]
    kind = piped_family(family.naive, is_by_arrival=family.is_by_arrival)
    naive = simulate_stages(example.case, kind, stages, max_calls=MAX_CALLS)
    assume(naive.num_calls < MAX_CALLS)
    plan = plan_of(example.scenario, example.resolved, example.requests, example.info, example.step_time)
    assert isinstance(plan.rules, GeneralRules)
    assert plan.hints is not None
    rules = plan.rules._replace(stages=len(stages), most_in_flight=len(stages))
    run = run_pipeline(rules, example.requests, plan.hints, stages, max_calls=MAX_CALLS, record_steps=True)
    assert_rows_agree(naive, run)


def assert_rows_agree(naive: NaiveStagesRun, run: Run) -> None:
    table = run.steps
    assert table is not None
    for k, row in enumerate(naive.rows):
        assert k < len(table.start_s), f"engine stopped before {row}"

        def part(name: str, k: int = k) -> list[Any]:
            start = getattr(table, name + "_start")
            return sorted(map(tuple, np.atleast_2d(getattr(table, name)[start[k] : start[k + 1]].T).T.tolist()))

        assert [each[:3] for each in part("scheduled")] == sorted(row.scheduled), f"row {k}"
        assert part("preempted") == sorted(row.preempted), f"row {k}"
        assert [each[0] for each in part("finished")] == sorted(row.finished), f"row {k}"
        counts = (table.running[k], table.waiting[k], table.free_scheduled[k], table.free_end[k])
        assert counts == (row.running, row.waiting, row.free_scheduled, row.free_end), f"row {k}"
        assert (table.start_s[k], table.end_s[k]) == pytest.approx((row.start, row.end), rel=1e-12), f"row {k}"
    assert len(table.start_s) == len(naive.rows)
    assert run.duration_s == pytest.approx(naive.duration, rel=1e-12)
    outcome = run.outcome
    for i, member in enumerate(naive.members):
        times = member.times
        expected = {
            "status": Status[member.status.upper()],
            "first_scheduled_s": member.first_scheduled,
            "first_token_s": times[0] if times else np.nan,
            "last_token_s": times[-1] if times else np.nan,
            "emitted": member.delivered,
            "num_preemptions": member.num_preemptions,
            "recomputed_tokens": member.recomputed,
            "pause_s": member.pause,
            "memory_token_s": member.memory_token_s,
        }
        for name, value in expected.items():
            own = getattr(outcome, name)[i]
            np.testing.assert_allclose(own, value, rtol=1e-9, atol=1e-7, err_msg=f"{name} of request {i}")
