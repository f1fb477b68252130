"""Pipeline parallelism out of the public API: cases worked by hand, memory, refusals.

Every iteration takes one second for the whole model of 32 layers unless said otherwise, so each of two stages half a
second.
"""

from typing import Any

import numpy as np
import pytest

from sim import Result, Scenario, ScenarioError, simulate, with_values
from sim.catalog import gpu, model, model_names
from sim.cost import stage_times, step_time
from sim.deployment import resolve
from sim.engine.accounts import Bin
from sim.gpu_memory import GIB
from sim.stages import layers_of_stages
from sim.studies.deployments import fitting, named
from sim.systems import SYSTEMS
from sim.view.verdict import verdict
from tests.cases import BASE, trace

CLOSED = {"static", "seq_sched", "s3_three"}
DISPLACING = {"rank", "mlfq", "self_declared", "class10", "sjf", "srtf", "fastserve", "trail", "elis"}
ONE_STAGE = {"sglang", *CLOSED, *DISPLACING}
PP = "deployment.pipeline_parallel_size"
ASYNC = with_values(BASE, {"scheduler.async_scheduling": True})
BUDGET = "scheduler.max_num_batched_tokens"


def run(stages: int, output_len: list[int], prompt_len: int = 1, base: Scenario = ASYNC, **values: Any) -> Result:
    """All end where their cap says, so that the scheduler foresees it."""
    changed = {"workload.types.0.cap": max(output_len)} | {
        name.replace("__", "."): value for name, value in values.items()
    }
    return simulate(with_values(base, {PP: stages, **changed}), trace(output_len, prompt_len), record_steps=True)


def token_times(result: Result, request: int) -> list[float]:
    """When each of a request's tokens came: after its first, one a row that served it."""
    steps, scheduled = result.steps, result.scheduled
    assert steps is not None
    assert scheduled is not None
    rows = scheduled[scheduled.request == request].step
    return [float(time) for time in steps.end_s[rows]]


# --- time ---


@pytest.mark.parametrize("stages", [2, 3, 4, 8])
def test_a_lone_request_waits_for_every_stage_and_leaves_the_others_empty(stages: int) -> None:
    result = run(stages, [10])
    np.testing.assert_allclose(token_times(result, 0), np.arange(1, 11.0), rtol=1e-12)
    time = result.ledger.time_s()
    assert time["bubble"] == pytest.approx((stages - 1) * 10, rel=1e-12)
    assert time["fixed"] == pytest.approx(10, rel=1e-12)
    assert result.ledger.time_share(Bin.BUBBLE) == pytest.approx((stages - 1) / stages, rel=1e-12)


def test_two_requests_in_batches_of_their_own_fill_two_stages() -> None:
    """The second enters the first stage half a second later: a gap of that length at both ends of the run."""
    result = run(2, [10, 10], 4, scheduler__max_num_batched_tokens=4, scheduler__max_num_seqs=4)
    np.testing.assert_allclose(token_times(result, 0), np.arange(1, 11.0), rtol=1e-12)
    np.testing.assert_allclose(token_times(result, 1), np.arange(1.5, 11.0), rtol=1e-12)
    assert result.run.duration_s == pytest.approx(10.5, rel=1e-12)
    time = result.ledger.time_s()
    assert time["bubble"] == pytest.approx(1.0, rel=1e-12)
    assert time["fixed"] == pytest.approx(20.0, rel=1e-12)
    assert result.summary()["time_ledger"]["sum"] == pytest.approx(2 * 10.5, rel=1e-12)


def test_requests_whose_prompts_share_a_batch_stay_together_and_half_of_the_time_is_bubble() -> None:
    result = run(2, [10, 10], 4)
    assert token_times(result, 0) == token_times(result, 1)
    assert result.ledger.time_share(Bin.BUBBLE) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("stages", [2, 4])
def test_as_many_batches_as_stages_serve_as_much_as_one_stage_of_the_whole_model_serves_at_once(stages: int) -> None:
    """Each batch takes a second through the pipeline, and one leaves it every 1 / stages of a second."""
    one_each = {"scheduler__max_num_batched_tokens": 4, "scheduler__max_num_seqs": 4}
    result = run(stages, [50] * stages, 4, **one_each)
    fill_s = (stages - 1) / stages
    assert result.run.duration_s == pytest.approx(50 + fill_s, rel=1e-12)
    assert result.ledger.time_s()["bubble"] == pytest.approx(2 * sum(k / stages for k in range(stages)), rel=1e-9)


def test_chunks_of_one_prompt_follow_each_other_through_the_stages_in_vllm_and_wait_in_sarathi() -> None:
    """Four chunks: the last enters when three have left the first stage, or when three have left the last."""
    cut = {"scheduler__max_num_batched_tokens": 2, "scheduler__max_num_seqs": 2}
    assert run(2, [1], 8, **cut).ttft_s[0] == pytest.approx(3 * 0.5 + 1.0, rel=1e-12)
    sarathi = run(2, [1], 8, scheduler__system="sarathi", **cut)
    assert sarathi.ttft_s[0] == pytest.approx(4 * 1.0, rel=1e-12)


def test_the_synchronous_loop_of_vllm_pauses_when_its_only_request_is_under_way() -> None:
    """An empty call, after which it sleeps for a millisecond once the token is back."""
    result = run(2, [5], base=BASE)
    np.testing.assert_allclose(token_times(result, 0), 1.0 + 1.001 * np.arange(5), rtol=1e-12)
    assert result.ledger.time_s()["fixed"] == pytest.approx(5 + 2 * 4 * 0.001, rel=1e-9)


def test_an_arrival_is_seen_when_the_batch_under_way_is_through() -> None:
    """The queue is full, with an empty batch in it: the loop waits for the oldest although the first stage is free, and
    the newcomer's batch enters behind the one that was called already."""
    asked = with_values(ASYNC, {PP: 2, "workload.arrivals.kind": "trace"})
    result = simulate(asked, trace([3, 1], arrival_s=[0.0, 0.2]), record_steps=True)
    assert result.run.async_columns is not None
    assert result.run.async_columns.called_s[2] == pytest.approx(1.0, rel=1e-12)
    assert result.run.outcome.first_scheduled_s[1] == pytest.approx(1.5, rel=1e-12)


def test_a_displaced_request_gets_the_token_that_was_under_way() -> None:
    """Two batches in flight, 9 blocks of one token: the second gives way when the first needs the tenth."""
    tight = {"deployment__num_gpu_blocks_override": 10, "deployment__max_model_len": 9}
    result = run(2, [5, 5], 4, **tight, scheduler__max_num_batched_tokens=4, scheduler__max_num_seqs=4)
    assert result.run.counters["preemptions"] >= 1
    assert list(result.run.outcome.emitted) == [5, 5]
    columns = result.run.async_columns
    assert columns is not None
    assert len(columns.late) >= 1


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_every_system_serves_on_stages_or_says_why_not(system: str) -> None:
    asked = with_values(Scenario(), {"scheduler.system": system, PP: 2, "workload.num_requests": 40})
    if system in ONE_STAGE:
        with pytest.raises(ScenarioError, match=r"^deployment\.pipeline_parallel_size is 2; "):
            simulate(asked)
        return
    result = simulate(asked)
    assert result.counts["unfinished"] == 0
    assert result.ledger.imbalance() == pytest.approx((0.0, 0.0), abs=1e-9)
    assert result.ledger.time_share(Bin.BUBBLE) > 0


@pytest.mark.parametrize("until_s", [0.3, 3.3, 7.0])
def test_a_run_that_is_stopped_has_accounted_for_the_batches_under_way(until_s: float) -> None:
    result = run(2, [10, 10], 4, max_sim_time_s=until_s, scheduler__max_num_batched_tokens=4, scheduler__max_num_seqs=4)
    assert result.counts["unfinished"] == 2
    assert result.run.duration_s >= until_s
    assert result.ledger.imbalance() == pytest.approx((0.0, 0.0), abs=1e-12)
    assert result.ledger.largest_bin_imbalance() == pytest.approx((0.0, 0.0), abs=1e-9)


def test_the_verdict_says_how_much_of_the_time_is_bubble() -> None:
    text = verdict(ASYNC, run(2, [10]).summary())
    assert "pipeline stages stand empty beside one at work 50 % of the time" in text
    assert "pipeline" not in verdict(ASYNC, run(1, [10]).summary())


# --- step time ---


def test_stages_take_their_layers_time_and_send_hidden_states() -> None:
    """Weights and products of 16 bit split exactly; each stage launches its own kernels and has the host's time."""
    plain, pair = (stage_times(with_values(Scenario(), {PP: stages})) for stages in (1, 2))
    whole = step_time(Scenario())
    assert len(plain) == 1
    assert np.array_equal(plain[0].linear_s, whole.linear_s)
    lone = with_values(Scenario(), {"cost.host_ms": 0})
    shape, card = model("Llama-3.1-8B"), gpu("H100-SXM")
    tokens = np.arange(2.0, 400.0)
    sent_s = tokens * shape.hidden * 2 / (card.link_gbs * 1e9)
    both_s = pair[0].linear_s[2:400] + pair[1].linear_s[2:400]
    launch_s = both_s - sent_s - whole.linear_s[2:400]  # what is not dealt out
    assert launch_s == pytest.approx(np.full(398, launch_s[0]), rel=1e-6)
    no_host = [stage_times(with_values(lone, {PP: stages})) for stages in (1, 2)]
    launches_s = sum(each.linear_s[2] for each in no_host[1]) - sent_s[0] - no_host[0][0].linear_s[2]
    assert launch_s[0] == pytest.approx(launches_s + 0.001, rel=1e-6)  # vLLM's host time once more
    assert sum(each.kv_s for each in pair) == pytest.approx(whole.kv_s, rel=1e-12)
    assert sum(each.attention_s for each in pair) == pytest.approx(whole.attention_s, rel=1e-12)


def test_what_a_lone_request_takes_is_what_slowdown_is_measured_against() -> None:
    asked = with_values(Scenario(), {PP: 4, "workload.num_requests": 1})
    assert simulate(asked).slowdown[0] == pytest.approx(1.0, rel=1e-9)


# --- memory ---


@pytest.mark.parametrize(
    ("layers", "stages", "expected"),
    [
        (32, 2, (16, 16)),
        (32, 3, (11, 11, 10)),
        (61, 4, (15, 15, 16, 15)),
        (61, 8, (7, 7, 8, 8, 8, 8, 8, 7)),
        (80, 6, (13, 13, 13, 14, 14, 13)),
    ],
)
def test_layers_are_dealt_as_vllm_deals_them(layers: int, stages: int, expected: tuple[int, ...]) -> None:
    assert sum(expected) == layers
    assert layers_of_stages(layers, stages) == expected


def test_the_tightest_stage_sets_the_kv_memory() -> None:
    """Llama-3.1-70B on 2 x 4 H100: 40 layers and one embedding matrix each; only the last stage samples."""
    asked = with_values(Scenario(), {"deployment.model": "Llama-3.1-70B", "deployment.tensor_parallel_size": 4, PP: 2})
    shape, found = model("Llama-3.1-70B"), resolve(asked)
    matrix = shape.vocab * shape.hidden * 2
    weights = ((2 * shape.params - 2 * matrix) / 2 + matrix) / 4
    sampler = 1024 * shape.vocab * 3 * 4
    reserve = 0.6 + 0.5 + 0.4 + sampler / GIB
    kv_gib = 79.2 * 0.9 - weights / GIB - reserve
    assert found.weight_gib == pytest.approx(weights / GIB, rel=1e-12)
    assert found.reserve_gib == pytest.approx(reserve, rel=1e-12)
    kv_bytes = 2 * 40 * 8 * 128 * 2 / 4
    assert found.kv_bytes_per_token == kv_bytes
    assert found.usable_blocks == int(kv_gib * GIB // (16 * kv_bytes)) - 1


def test_gpus_are_counted_over_all_stages() -> None:
    asked = with_values(Scenario(), {"deployment.tensor_parallel_size": 2, PP: 3})
    assert asked.deployment.gpus == 6
    assert named(asked) == "6 x H100-SXM in 3 stages"
    assert all(each.deployment.pipeline_parallel_size == 1 for each in fitting(asked, ["H100-SXM"])[1:])


def test_mfu_is_a_share_of_all_gpus() -> None:
    few = with_values(Scenario(), {"workload.num_requests": 50})
    one, two = simulate(few), simulate(with_values(few, {PP: 2}))
    ratio = one.run.duration_s / two.run.duration_s / 2
    own, split = (each.summary()["metrics"] for each in (one, two))
    assert split["mfu"] == pytest.approx(own["mfu"] * ratio, rel=0.01)  # but for what the prefix cache saves
    assert 0 < split["mbu"] < 1


# --- what cannot be ---


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"scheduler.system": "sglang"}, "with scheduler.system sglang only 1 is simulated"),
        ({"scheduler.system": "static"}, "static runs one closed batch at a time"),
        ({"scheduler.system": "rank"}, "order rank chooses anew at every iteration"),
        ({"scheduler.preemption_mode": "fail"}, "preemption_mode fail says nothing"),
    ],
)
def test_what_needs_one_stage_is_refused_in_a_sentence(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(ScenarioError, match=reason) as refusal:
        simulate(with_values(Scenario(), {PP: 2, **values}))
    assert "\n" not in str(refusal.value)


def test_every_model_has_a_layer_for_each_of_the_most_stages() -> None:
    with pytest.raises(ScenarioError, match=r"deployment\.pipeline_parallel_size is 17; at most 16"):
        with_values(Scenario(), {PP: 17})
    assert all(model(name).layers >= 16 for name in model_names())
