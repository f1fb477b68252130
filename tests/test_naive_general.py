"""General engine and naive loops agree on random scenarios: every iteration and every request, system by system."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin, Status
from sim.engine.run import Run
from sim.systems.build import plan_of
from sim.systems.run import run_plan
from tests.general_recount import recount
from tests.general_scenarios import PREDICTORS, Drawn, drawn
from tests.naive import batches, ranked
from tests.naive import length_aware as aware
from tests.naive import served as naive_served
from tests.naive.general import Scheduler
from tests.naive.general_loop import NaiveRun

MAX_STEPS = 20_000
WATERMARK = st.sampled_from([None, 0.0, 0.1, 0.3])
INTERVAL = st.sampled_from([1, 1, 1, 2, 5])


class Family(NamedTuple):
    """A system with some of its knobs, and the naive loop that it is held against."""

    name: str
    system: str
    naive: type[Scheduler]
    knobs: dict[str, Any] = {}
    predictors: list[dict[str, Any]] = []
    rules: dict[str, Any] = {}  # what no knob moves, changed for the engine


PAGED = {"watermark": WATERMARK, "admission_interval_steps": INTERVAL}
OPEN = {"admission_interval_steps": INTERVAL}
CHUNKED = {"max_num_batched_tokens": st.integers(1, 40)}
HOST = {"host_blocks": st.sampled_from([0, 2, 5, 1000])}
SHARES = st.sampled_from([0.5, 0.95, 1.0])
POINTS = [each for each in PREDICTORS if each["kind"] == "point"]
BUCKETS = [each for each in PREDICTORS if each["kind"] in ("bucket", "oracle")]
INTERVALS = [each for each in PREDICTORS if each["kind"] in ("interval", "oracle")]
PLANNED = {
    "group_size": st.sampled_from([1, 3, 5, 256]),
    "batch_by_length": st.booleans(),
    "recollect": st.booleans(),
    "delivery": st.sampled_from(["batch", "stream"]),
}
GUARD = {"starvation_threshold": st.sampled_from([0, 1, 3, 8]), "starvation_quantum": st.sampled_from([1, 2, 10])}
RANKED = CHUNKED | HOST | GUARD
QUANTA = {"quantum_ms": st.sampled_from([0.001, 500.0, 3000.0]), "quantum_growth": st.sampled_from([1.0, 2.0, 10.0])}
FASTSERVE = HOST | QUANTA | {"max_num_batched_tokens": st.integers(4, 60)}
REFINED = CHUNKED | {"keep_share": st.sampled_from([0.0, 0.5, 0.8, 1.0])}
LOOKS = [{"kind": "refined", "num_classes": 5, "class_width": 4, "refresh_tokens": every} for every in (1, 3)]
FAMILIES = [
    *(
        Family(f"orca-{reserve}", "orca", naive_served.Orca, {"reserve": reserve, "admission_interval_steps": INTERVAL})
        for reserve in ("cap", "max_model_len", "pow2", "truth")
    ),
    Family("vllm_v0", "vllm_v0", naive_served.VllmV0, PAGED),
    Family("vllm_v0-fail", "vllm_v0", naive_served.VllmV0, PAGED | {"preemption_mode": "fail"}),
    Family(
        "vllm_v0-swap",
        "vllm_v0",
        naive_served.VllmV0,
        PAGED | {"preemption_mode": "swap", "host_blocks": st.sampled_from([0, 2, 5, 1000])},
    ),
    Family("sarathi", "sarathi", naive_served.Sarathi, PAGED | {"max_num_batched_tokens": st.integers(1, 40)}),
    Family("hybrid_only", "hybrid_only", naive_served.Sarathi, PAGED),
    Family("chunk_only", "chunk_only", naive_served.ChunkOnly, PAGED | {"max_num_batched_tokens": st.integers(1, 40)}),
    Family("vtc", "vtc", naive_served.Vtc, PAGED),
    Family("quantile", "quantile", aware.Quantile, OPEN, PREDICTORS),
    Family("quantile-fail", "quantile", aware.Quantile, OPEN | {"preemption_mode": "fail"}, PREDICTORS),
    Family(
        "conformal", "conformal", aware.Conformal, OPEN | {"conformal_window": st.sampled_from([1, 3, 200])}, POINTS
    ),
    Family("s3", "s3", aware.S3, OPEN | HOST, BUCKETS),
    Family("s3-recompute", "s3", aware.S3, OPEN | {"preemption_mode": "recompute"}, BUCKETS),
    Family("s3-fail", "s3", aware.S3, OPEN | {"preemption_mode": "fail"}, BUCKETS),
    Family(
        "past_future",
        "past_future",
        aware.PastFuture,
        OPEN | {"history": st.sampled_from([1, 2, 5, 200]), "peak_share": SHARES},
    ),
    Family("aggressive", "aggressive", aware.Aggressive, OPEN | {"peak_share": SHARES}),
    Family("conservative", "conservative", aware.Conservative, OPEN | {"peak_share": SHARES}),
    Family("mc_sf", "mc_sf", aware.McSf, OPEN, PREDICTORS),
    Family("a_max", "a_max", aware.AMax, OPEN, INTERVALS),
    Family(
        "a_min", "a_min", aware.AMin, OPEN | {"preemption_mode": st.sampled_from(["restart", "recompute"])}, INTERVALS
    ),
    Family(
        "horizon", "orca", aware.Horizon, OPEN | {"reserve": "horizon", "horizon": st.sampled_from([1, 4, 30])}, POINTS
    ),
    Family(
        "ssjf",
        "ssjf",
        aware.Ssjf,
        OPEN
        | CHUNKED
        | {"guard_wait_s": st.sampled_from([0.0, 5.0, 100.0]), "guard_factor": st.sampled_from([0.0, 3.0, 10.0])},
        PREDICTORS,
    ),
    Family("tie", "tie", aware.Tie, OPEN | CHUNKED, [{"kind": "distribution", "spread": 0.8}]),
    Family("seq_sched", "seq_sched", batches.SeqSched, PLANNED, [*POINTS, {"kind": "oracle"}]),
    Family("s3_three", "s3_three", batches.S3Three, HOST, BUCKETS),
    Family("rank", "rank", ranked.Rank, RANKED, [{"kind": "rank", "tau": 0.5}, *PREDICTORS]),
    Family("rank-recompute", "rank", ranked.Rank, RANKED | {"preemption_mode": "recompute"}, PREDICTORS),
    Family("class10", "class10", ranked.Rank, RANKED, BUCKETS),
    Family("sjf", "sjf", ranked.Sjf, RANKED),
    Family("srtf", "srtf", ranked.Srtf, RANKED),
    Family("self_declared", "self_declared", ranked.SelfDeclared, RANKED, POINTS),
    Family("mlfq", "mlfq", ranked.Levels, RANKED | QUANTA),
    Family("fastserve", "fastserve", ranked.FastServe, FASTSERVE),
    Family(
        "fastserve-boost",
        "fastserve",
        ranked.OftenBoosted,
        FASTSERVE | {"starvation_s": st.sampled_from([1.0, 4.0])},
        rules={"boost_steps": 3},
    ),
    Family("trail", "trail", ranked.Refined, REFINED, LOOKS),
    Family("trail-swap", "trail", ranked.Refined, REFINED | HOST | {"preemption_mode": "swap"}, LOOKS),
    Family("elis", "elis", ranked.Refined, CHUNKED, LOOKS),
    Family("routed", "routed", naive_served.Routed, PAGED | {"max_num_batched_tokens": st.integers(1, 40)}),
]
EVERY_FAMILY = pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])


def engine_run(example: Drawn, family: Family) -> Run:
    """The scenario through the engine."""
    plan = plan_of(example.scenario, example.resolved, example.requests, example.info, example.step_time)
    if family.rules:
        plan = plan._replace(rules=plan.rules._replace(**family.rules))  # type: ignore[arg-type]
    return run_plan(plan, example.requests, example.step_time, record_steps=True)


def assert_agreement(naive: NaiveRun, run: Run) -> None:
    table = run.steps
    assert table is not None
    for k, row in enumerate(naive.rows):
        assert k < len(table.start_s), f"engine stopped before {row}"

        def part(name: str, k: int = k) -> list[list[int]]:
            start = getattr(table, name + "_start")
            return sorted(getattr(table, name)[start[k] : start[k + 1]].tolist())

        own = (
            float(table.start_s[k]),
            float(table.end_s[k]),
            [tuple(each[:3]) for each in part("scheduled")],
            [tuple(each) for each in part("preempted")],
            int(table.running[k]),
            int(table.waiting[k]),
            int(table.free_scheduled[k]),
            part("finished"),
            int(table.free_end[k]),
        )
        expected_row = (*row[:2], sorted(row.scheduled), sorted(row.preempted), *row[4:])
        assert own == expected_row, f"iteration {k}: {own} instead of {expected_row}"
    assert len(table.start_s) == len(naive.rows)
    assert run.duration_s == naive.duration
    outcome = run.outcome
    for i, member in enumerate(naive.members):
        times = member.times
        gaps = [b - a for a, b in pairwise(times)]
        expected = {
            "arrival_s": member.arrival,
            "status": Status[member.status.upper()],
            "first_scheduled_s": member.first_scheduled,
            "first_token_s": times[0] if times else np.nan,
            "last_token_s": times[-1] if times else np.nan,
            "emitted": member.delivered,
            "num_preemptions": member.num_preemptions,
            "recomputed_tokens": member.recomputed,
            "pause_s": member.pause,
            "max_itl_s": max(gaps, default=0.0),
        }
        for name, value in expected.items():
            np.testing.assert_array_equal(getattr(outcome, name)[i], value, f"{name} of request {i}")
        np.testing.assert_allclose(outcome.memory_token_s[i], member.memory_token_s, rtol=1e-10, atol=1e-7)


def assert_conserved(example: Drawn, run: Run) -> None:
    """schedulers.md 6.20 and metrics.md 8: nothing hangs, nothing is lost, both ledgers balance in every bin."""
    outcome, table = run.outcome, run.steps
    assert table is not None
    is_finished = outcome.status == Status.FINISHED
    assert np.all(outcome.status != Status.UNFINISHED)
    np.testing.assert_array_equal(outcome.emitted[is_finished], example.requests.output_len[is_finished])
    assert np.all((table.free_scheduled >= 0) & (table.free_scheduled <= example.resolved.usable_blocks))
    width = np.full(len(run.bins), run.bin_width_s)
    width[-1] = run.duration_s - run.bin_width_s * (len(run.bins) - 1)
    for rows, size in ((MEMORY_ROWS, example.resolved.usable_blocks), (TIME_ROWS, 1)):
        sums = run.bins[:, list(rows)].sum(axis=1)
        np.testing.assert_allclose(sums, size * width, rtol=0, atol=1e-9 * size * max(run.duration_s, 1.0))
        assert np.all(run.bins[:, list(rows)] >= -1e-9 * size * max(run.duration_s, 1.0))


def assert_ledgers_agree(example: Drawn, run: Run, counted: np.ndarray) -> None:
    """metrics.md 8: every row of both ledgers, and every plain counter, in every bin."""
    bins = np.vstack([run.bins, np.zeros((1, len(Bin)))])  # the last iteration may end on the border
    size = np.ones(len(Bin)) * max(1.0, counted.max())  # what 1e-9 refers to
    size[list(MEMORY_ROWS)] = example.resolved.usable_blocks * run.duration_s
    size[list(TIME_ROWS)] = run.duration_s
    for row in Bin:
        ours, theirs = bins[:, row], counted[:, row]
        if row == Bin.PREEMPTIONS:  # also of iterations that take no time, which are in no bin
            ours, theirs = ours.sum(), theirs.sum()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * size[row], err_msg=row.name)


def check(family: Family, data: Any, max_requests: int) -> None:
    example = data.draw(drawn(family.system, family.knobs, family.predictors, max_requests))
    run = engine_run(example, family)
    naive, counted = recount(
        example.case, family.naive, bin_width_s=run.bin_width_s, num_bins=len(run.bins) + 1, max_steps=MAX_STEPS
    )
    assert naive.scheduler.step < MAX_STEPS
    assert_agreement(naive, run)
    assert_conserved(example, run)
    assert_ledgers_agree(example, run, counted)


@EVERY_FAMILY
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_engine_and_naive_agree(family: Family, data: Any) -> None:
    check(family, data, max_requests=10)


@pytest.mark.slow
@EVERY_FAMILY
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_engine_and_naive_agree_on_many_scenarios(family: Family, data: Any) -> None:
    check(family, data, max_requests=25)
