"""Result: every number recounted from the step table, frames, summary, batch delivery, early stop."""

import json
import math
import time
from collections import defaultdict

import numba
import numpy as np
import pytest

from sim import Result, Scenario, metrics, simulate, with_values
from sim.metrics import percentile
from tests.cases import BASE, STATIC, run, trace, with_blocks

PRESSED = with_blocks(
    with_values(
        BASE,
        {
            "workload.arrivals": {"kind": "poisson", "rate_rps": 40.0},
            "workload.num_requests": 250,
            "workload.types": [
                {"name": "chat", "share": 3, "prompt": {"kind": "uniform", "low": 1, "high": 300}, "cap": 120},
                {"name": "code", "share": 1, "output": {"kind": "constant", "tokens": 1}},
            ],
            "deployment.block_size": 8,
            "scheduler.max_num_seqs": 24,
            "scheduler.max_num_batched_tokens": 128,
            "cost": {"source": "catalog"},
            "slo": {"ttft_ms": 800.0, "tpot_ms": 15.0},
        },
    ),
    400,
)


@pytest.fixture(scope="module")
def pressed() -> Result:
    """Overload with preemptions, caps, rejections and one-token answers."""
    result = simulate(PRESSED, record_steps=True)
    assert result.run.counters["preemptions"] > 0
    assert min(result.counts["finished"], result.counts["truncated"]) > 0
    return result


def token_times(result: Result) -> dict[int, list[float]]:
    """When each request got its tokens, told from the step table alone."""
    steps = result.run.steps
    assert steps is not None
    tokens: dict[int, list[float]] = defaultdict(list)
    for step, end_s in enumerate(steps.end_s):
        for i, chunk, before, _ in steps.scheduled[steps.scheduled_start[step] : steps.scheduled_start[step + 1]]:
            if before + chunk == result.inputs.prompt_len[i] + len(tokens[i]):
                tokens[i].append(end_s)
    return tokens


class TestAgainstTheStepTable:
    """The same numbers from token times."""

    def test_latencies_of_every_request(self, pressed: Result) -> None:
        arrival_s = pressed.run.outcome.arrival_s
        for i, times in token_times(pressed).items():
            row = pressed.requests.loc[i]
            gaps = np.diff(times)
            assert row["output_tokens"] == len(times)
            assert row["ttft_s"] == times[0] - arrival_s[i]
            assert row["e2e_s"] == times[-1] - arrival_s[i]
            assert row["norm_latency_s"] == pytest.approx(row["e2e_s"] / len(times), rel=1e-12)
            if len(times) == 1:
                assert math.isnan(row["tpot_s"])
                assert math.isnan(row["max_itl_s"])
            else:
                assert row["tpot_s"] == pytest.approx(gaps.mean(), rel=1e-9)
                assert row["max_itl_s"] == pytest.approx(gaps.max(), rel=1e-9)
            assert row["max_gap_s"] == pytest.approx(max([row["ttft_s"], *gaps]), rel=1e-9)

    def test_pooled_gaps(self, pressed: Result) -> None:
        gaps = np.concatenate([np.diff(times) for times in token_times(pressed).values()])
        found = pressed.summary()["metrics"]
        assert found["itl_count"] == gaps.size
        assert found["itl_mean_s"] == pytest.approx(gaps.mean(), rel=1e-9)
        assert found["itl_max_s"] == pytest.approx(gaps.max(), rel=1e-9)
        for label, q in {"p50": 0.5, "p90": 0.9, "p99": 0.99}.items():
            assert found[f"itl_{label}_s"] == pytest.approx(np.quantile(gaps, q), rel=0.005)

    def test_throughput_and_effective_batch(self, pressed: Result) -> None:
        steps = pressed.run.steps
        assert steps is not None
        times = token_times(pressed)
        duration_s = steps.end_s[-1]
        tokens = sum(map(len, times.values()))
        length_of = dict(zip(steps.end_s, steps.end_s - steps.start_s, strict=True))
        producing = sum(length_of[at] for each in times.values() for at in each)
        found = pressed.summary()["metrics"]
        assert found["duration_s"] == duration_s
        assert found["requests_per_s"] == pytest.approx(len(times) / duration_s, rel=1e-12)
        assert found["output_tokens_per_s"] == pytest.approx(tokens / duration_s, rel=1e-12)
        prompts = pressed.inputs.prompt_len[list(times)].sum()
        assert found["total_tokens_per_s"] == pytest.approx((tokens + prompts) / duration_s, rel=1e-12)
        assert found["effective_batch"] == pytest.approx(producing / duration_s, rel=1e-9)
        assert found["slot_util"] == pytest.approx(tokens / (24 * len(steps.start_s)), rel=1e-12)

    def test_steady_window(self, pressed: Result) -> None:
        times = token_times(pressed)
        window = pressed.summary()["steady_state"]
        start_s, end_s = window["start_s"], window["end_s"]
        inside = [at for each in times.values() for at in each if start_s < at <= end_s]
        finished = [each[-1] for each in times.values() if start_s < each[-1] <= end_s]
        assert end_s == pressed.run.outcome.arrival_s[-1]
        assert start_s == pytest.approx(0.1 * end_s)
        assert window["requests_per_s"] == pytest.approx(len(finished) / (end_s - start_s), rel=1e-12)
        one_step = 32 / (end_s - start_s)  # bins cut by the window split the step at each border
        assert window["output_tokens_per_s"] == pytest.approx(len(inside) / (end_s - start_s), abs=2 * one_step)

    def test_preemptions_and_recomputed_tokens(self, pressed: Result) -> None:
        steps = pressed.run.steps
        assert steps is not None
        count = np.bincount(steps.preempted[:, 0], minlength=len(pressed.requests))
        assert pressed.requests["preemptions"].tolist() == count.tolist()
        found = pressed.summary()
        assert found["metrics"]["preemptions"] == len(steps.preempted)
        assert found["metrics"]["preempted_requests"] == np.count_nonzero(count)
        processed = steps.scheduled[:, 1].sum()
        recomputed = pressed.requests["recomputed_tokens"].sum()
        assert found["metrics"]["recompute_share"] == pytest.approx(recomputed / processed, rel=1e-12)

    def test_steps_frame_counts_what_the_lists_hold(self, pressed: Result) -> None:
        assert pressed.steps is not None
        assert pressed.scheduled is not None
        by_step = pressed.scheduled.groupby("step")["tokens"].agg(["size", "sum"])
        found = pressed.steps.loc[by_step.index]
        assert found["scheduled_requests"].tolist() == by_step["size"].tolist()
        assert found["scheduled_tokens"].tolist() == by_step["sum"].tolist()
        assert pressed.steps["finished_requests"].sum() == pressed.is_finished.sum()

    def test_time_bins_add_up_to_the_run(self, pressed: Result) -> None:
        bins = pressed.over_time
        width = bins["end_s"] - bins.index
        assert width.sum() == pytest.approx(pressed.run.duration_s)
        assert (bins["output_tokens_per_s"] * width).sum() == pytest.approx(pressed.delivered_tokens, rel=1e-9)
        assert (bins["requests_per_s"] * width).sum() == pytest.approx(pressed.is_finished.sum(), rel=1e-9)
        assert (bins["preemptions_per_s"] * width).sum() == pytest.approx(pressed.run.counters["preemptions"])
        assert bins["running"].max() <= 24 + 1e-9
        assert bins["kv_used_blocks"].max() <= 400


class TestSummary:
    """The plain dict."""

    def test_survives_json_without_nan(self, pressed: Result) -> None:
        found = pressed.summary()
        assert json.loads(json.dumps(found, allow_nan=False)) == found

    def test_counts_every_request_once(self, pressed: Result) -> None:
        counts = pressed.summary()["requests"]
        total = counts.pop("total")
        assert sum(counts.values()) == total == 250
        assert counts == pressed.requests["status"].value_counts().to_dict()

    def test_truncated_requests_were_cut_and_finished_ones_were_not(self, pressed: Result) -> None:
        status, emitted = pressed.requests["status"], pressed.requests["output_tokens"]
        assert (emitted < pressed.info.true_len)[status == "truncated"].all()
        assert (emitted == pressed.info.true_len)[status == "finished"].all()

    def test_p99_is_null_below_a_hundred_values(self) -> None:
        values = {"workload.num_requests": 99, "workload.types.0.output": {"kind": "constant", "tokens": 3}}
        found = simulate(with_values(BASE, values)).summary()["metrics"]
        assert found["ttft_count"] == 99
        assert found["ttft_p99_s"] is None
        assert found["ttft_p95_s"] > 0
        assert found["itl_p99_s"] == pytest.approx(1.0)  # 198 gaps
        assert found["tail_ratio"] == 1.0
        more = simulate(with_values(BASE, values | {"workload.num_requests": 100})).summary()["metrics"]
        assert more["ttft_p99_s"] > 0

    def test_ledgers_state_what_their_rows_must_sum_to(self, pressed: Result) -> None:
        memory, spent = pressed.summary()["memory_ledger"], pressed.summary()["time_ledger"]
        assert memory["sum"] == pytest.approx(memory["blocks_x_duration"], rel=1e-9)
        assert memory["blocks_x_duration"] == 400 * pressed.run.duration_s
        assert spent["sum"] == pytest.approx(spent["stages_x_duration"], rel=1e-9)
        assert sum(memory["rows"].values()) == pytest.approx(memory["sum"])

    def test_attainment_is_the_share_of_good_requests(self, pressed: Result) -> None:
        frame = pressed.requests
        good = (frame["ttft_s"] <= 0.8) & (frame["tpot_s"].fillna(0) <= 0.015)
        found = pressed.summary()["slo"]
        assert 0 < found["good"] == good.sum() < 250
        assert found["attainment"] == pytest.approx(good.mean())
        assert found["goodput_rps"] == pytest.approx(good.sum() / pressed.run.duration_s)

    def test_says_when_lengths_exceed_what_the_limits_assume(self) -> None:
        lengths = [10] * 90 + [1000] * 10
        assuming = {p99: with_values(BASE, {"slo.assumed": {"p99": p99}}) for p99 in (800.0, 850.0)}
        flags = {p99: simulate(scenario, trace(lengths)).summary()["flags"] for p99, scenario in assuming.items()}
        assert flags[800.0]["longer_than_assumed"]  # 1000 > 1.2 * 800
        assert not flags[850.0]["longer_than_assumed"]
        assert not flags[800.0]["heavy_tail"]  # 1000 / 109
        found = simulate(BASE, trace([10] * 95 + [1000] * 5)).summary()["flags"]
        assert found["heavy_tail"]  # 1000 / 59.5
        assert found["longer_than_assumed"] is None

    def test_says_how_far_to_trust_the_step_time(self, pressed: Result) -> None:
        assert pressed.summary()["step_time"]["percent"] == 10.0
        assert pressed.summary()["step_time"]["is_calibrated"]

    def test_no_limits_no_attainment(self) -> None:
        found = run(BASE, trace([3])).summary()["slo"]
        assert (found["attainment"], found["goodput_rps"]) == (None, None)

    def test_straggler_share_is_of_token_seconds(self) -> None:
        result = run(BASE, trace([100] * 31 + [2000]))
        assert result.summary()["metrics"]["straggler_share"] == 2_001_000 / (2_001_000 + 31 * 5_050)

    @pytest.mark.skipif(numba.config.DISABLE_JIT, reason="speed of compiled kernels")
    def test_is_quick(self) -> None:
        values = {"workload.num_requests": 10_000, "workload.arrivals": {"kind": "poisson", "rate_rps": 1000.0}}
        result = simulate(with_values(Scenario(), values))
        result.summary()  # first use of the parts of NumPy
        used = []
        for _ in range(5):
            fresh = Result(result.scenario, result.resolved, result.inputs, result.info, result.run)
            start = time.process_time()
            fresh.summary()
            used.append(time.process_time() - start)
        assert min(used) < 0.01


class TestRejectedRequests:
    """A prompt that leaves no room for an answer."""

    def test_are_counted_and_have_no_latency(self) -> None:
        scenario = with_values(BASE, {"deployment.max_model_len": 50, "slo.ttft_ms": 5000.0})
        result = run(scenario, trace([3, 3, 100], prompt_len=[10, 50, 10]))
        assert result.requests["status"].tolist() == ["finished", "rejected", "truncated"]
        assert math.isnan(result.requests.loc[1, "ttft_s"])
        assert result.requests.loc[2, "output_tokens"] == 40
        assert result.summary()["slo"]["attainment"] == pytest.approx(2 / 3)

    def test_alone_make_a_summary_of_nulls(self) -> None:
        result = run(with_values(BASE, {"deployment.max_model_len": 50}), trace([3], prompt_len=[60]))
        found = json.loads(json.dumps(result.summary(), allow_nan=False))
        assert found["requests"]["rejected"] == 1
        assert found["metrics"]["ttft_p50_s"] is None
        assert found["metrics"]["output_tokens_per_s"] is None


class TestBatchDelivery:
    """Every token comes when the batch ends."""

    def test_time_per_token_is_end_to_end_and_labelled(self) -> None:
        result = run(STATIC, trace([4, 10]))
        assert result.tpot_s.tolist() == [2.5, 1.0]
        assert result.tpot_label == result.requests.attrs["tpot_s"] == "E2E per token (batch delivery)"
        assert result.ttft_s.tolist() == [10.0, 10.0]

    def test_has_no_gaps_between_tokens(self) -> None:
        found = run(STATIC, trace([4, 10])).summary()["metrics"]
        assert found["itl_count"] == 0
        assert found["itl_p50_s"] is None

    def test_limit_on_time_per_token_holds_for_the_end_to_end_figure(self) -> None:
        result = run(with_values(STATIC, {"slo.tpot_ms": 2000.0}), trace([4, 10]))
        assert result.attainment.good == 1

    @pytest.mark.parametrize("values", [{"scheduler.delivery": "stream"}, {"scheduler.hold": False}])
    def test_streamed_tokens_have_a_tpot_of_their_own(self, values: dict[str, object]) -> None:
        result = run(with_values(STATIC, values), trace([4, 10]))
        assert result.tpot_s.tolist() == [1.0, 1.0]
        assert result.tpot_label == "TPOT"
        assert result.ttft_s.tolist() == [1.0, 1.0]

    def test_tokens_of_a_batch_that_never_ended_were_not_delivered(self) -> None:
        result = run(with_values(STATIC, {"max_sim_time_s": 6.0}), trace([4, 10]))
        assert result.counts["unfinished"] == 2
        assert result.delivered_tokens == 0


class TestClientsThatGiveUp:
    """One seat, steps of a second, and clients that wait five seconds for their whole answer."""

    def test_are_counted_and_are_never_good(self) -> None:
        values = {"workload.client_timeout_s": 5.0, "scheduler.max_num_seqs": 1, "slo.ttft_ms": 60_000.0}
        result = run(with_values(BASE, values), trace([4, 20, 3], arrival_s=[0.0, 0.0, 20.0]))
        assert result.requests["status"].tolist() == ["finished", "aborted", "finished"]
        assert result.requests["output_tokens"].tolist() == [4, 1, 3]
        found = result.summary()
        assert found["requests"] == {
            "total": 3, "finished": 2, "truncated": 0, "rejected": 0, "aborted": 1, "unfinished": 0
        }  # fmt: skip
        assert result.attainment == (2, 3, 0)
        assert not found["flags"]["stopped_early"]
        assert math.isnan(result.requests.loc[1, "e2e_s"])

    def test_waited_behind_a_longer_answer_until_they_gave_up(self) -> None:
        values = {"workload.client_timeout_s": 5.0, "scheduler.max_num_seqs": 1}
        result = run(with_values(BASE, values), trace([20, 4, 2], arrival_s=[0.0, 0.0, 20.0]))
        assert result.counts["aborted"] == 2
        assert result.hol_delay_s.tolist() == [0.0, 5.0, 0.0]


class TestEarlyStop:
    """Requests the run left unfinished: one running, one waiting, one not yet there."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result() -> Result:
        scenario = with_values(BASE, {"max_sim_time_s": 10.0, "scheduler.max_num_seqs": 1})
        return run(scenario, trace([4, 20, 5, 5], arrival_s=[0.0, 0.0, 3.0, 12.0]))

    def test_are_counted(self, result: Result) -> None:
        found = result.summary()
        assert found["requests"] == {
            "total": 4,
            "finished": 1,
            "truncated": 0,
            "rejected": 0,
            "aborted": 0,
            "unfinished": 3,
        }
        assert found["flags"]["stopped_early"]
        assert result.run.duration_s == 10.0

    def test_have_the_latencies_that_did_happen(self, result: Result) -> None:
        assert result.requests.loc[1, "ttft_s"] == 5.0
        assert result.requests.loc[1, "output_tokens"] == 6
        assert math.isnan(result.requests.loc[1, "e2e_s"])
        assert math.isnan(result.requests.loc[2, "ttft_s"])
        assert percentile(result.ttft_s, 0.5).m == 2
        assert percentile(result.e2e_s, 0.5).m == 1

    @pytest.mark.parametrize(("slo", "good", "counted", "excluded"), [
        ({"ttft_ms": 6_000.0}, 1, 2, 2),  # second got its token in time, but is not done: excluded, like the last
        ({"ttft_ms": 7_500.0}, 1, 1, 3),  # third has waited 7 s only
        ({"ttft_ms": 4_500.0}, 1, 3, 1),  # second had to wait 5 s
        ({"e2e_ms": 9_000.0}, 1, 2, 2),  # second has been there for 10 s
        ({"tpot_ms": 250.0}, 0, 2, 2),  # first took 1 s a token; second has 5 s behind it, 20 tokens: at best 5 / 19 s
        ({"tpot_ms": 300.0}, 0, 1, 3),
    ])  # fmt: skip
    def test_miss_a_limit_once_it_has_passed_and_are_excluded_before(
        self, result: Result, slo: dict[str, float], good: int, counted: int, excluded: int
    ) -> None:
        scenario = with_values(result.scenario, {f"slo.{name}": limit for name, limit in slo.items()})
        judged = Result(scenario, result.resolved, result.inputs, result.info, result.run)
        assert judged.attainment == (good, counted, excluded)


def test_frames_are_made_once_and_only_on_demand(pressed: Result) -> None:
    fresh = Result(pressed.scenario, pressed.resolved, pressed.inputs, pressed.info, pressed.run)
    assert "requests" not in vars(fresh)
    assert fresh.requests is fresh.requests


def test_types_of_requests_are_named(pressed: Result) -> None:
    frame = pressed.requests
    assert set(frame["type"].unique()) == {"chat", "code"}
    assert (frame["output_tokens"][frame["type"] == "code"] <= 1).all()


def test_unrecorded_run_has_no_step_frames() -> None:
    result = simulate(BASE, trace([3]))
    assert result.steps is None
    assert result.scheduled is None


def test_another_replication_draws_other_requests() -> None:
    first, second = simulate(PRESSED), simulate(PRESSED, replication=1)
    assert first.inputs.prompt_len.tolist() != second.inputs.prompt_len.tolist()
    assert simulate(PRESSED, replication=1).requests.equals(second.requests)


def test_progress_is_reported_up_to_the_end() -> None:
    seen: list[float] = []
    simulate(PRESSED, on_progress=seen.append)
    assert seen[-1] == 1.0
    assert seen == sorted(seen)


def test_mean_of_requests_is_not_the_ratio_of_sums(pressed: Result) -> None:
    ratio = np.nansum(pressed.e2e_s) / pressed.delivered_tokens
    assert pressed.summary()["metrics"]["norm_latency_mean_s"] == metrics.mean(pressed.norm_latency_s) != ratio
