"""SGLang in a scenario: knobs to limits and rules, what is refused, and runs that the pages can show."""

from typing import Any

import numpy as np
import pytest

from sim import Result, Scenario, preset, simulate, with_values
from sim.deployment import resolve
from sim.engine.sglang import loop
from sim.engine.sglang.first_state import largest_outputs
from sim.engine.sglang.inputs import SglangRules
from sim.errors import ScenarioError
from sim.systems.sglang_rules import sglang_rules
from tests.cases import BASE


def scenario(**values: Any) -> Scenario:
    """The plain test scenario under SGLang; names without a dot are SGLang's own knobs."""
    paths = {name if "." in name else f"scheduler.sglang.{name}": value for name, value in values.items()}
    return with_values(BASE, {"scheduler.system": "sglang", "scheduler.max_num_seqs": None} | paths)


def rules(**values: Any) -> SglangRules:
    asked = scenario(**values)
    return sglang_rules(asked, resolve(asked))


def served(**values: Any) -> Result:
    return simulate(scenario(**values))


def test_defaults_are_those_of_sglang_on_an_80_gb_card() -> None:
    own = rules(**{"deployment.gpu": "H100-SXM"})
    assert own.page_size == 1
    assert own.max_prefill_tokens == 16_384
    assert own.chunked_prefill_size == 8192
    assert own.clip_max_new_tokens == 4096
    assert own.retract_decode_steps == 20
    assert (own.radix_cache, own.overlap, own.mixed_chunk) == (True, True, False)
    assert (own.init_ratio, own.min_ratio) == (0.7, pytest.approx(0.098))
    assert own.ratio_drop == pytest.approx(0.0010033, rel=1e-4)


@pytest.mark.parametrize(("gpu", "chunk"), [("L4", 2048), ("A100-40G-SXM", 4096), ("H100-SXM", 8192), ("B200", 16_384)])
def test_default_chunk_follows_the_memory_of_the_gpu(gpu: str, chunk: int) -> None:
    values = {"deployment.gpu": gpu, "deployment.model": "Llama-3.2-1B"}
    assert rules(**values).chunked_prefill_size == chunk


def test_conservativeness_scales_the_ratio_up_to_one() -> None:
    assert rules(schedule_conservativeness=1.3).init_ratio == 0.7 * 1.3
    assert rules(schedule_conservativeness=2).init_ratio == 1.0


def test_pages_take_the_place_of_blocks() -> None:
    blocks = {"deployment.num_gpu_blocks_override": 101, "deployment.block_size": 16}
    resolved = resolve(scenario(page_size=64, **blocks))
    assert (resolved.usable_blocks, resolved.block_size) == (1600 // 64, 64)


def test_seats_are_those_asked_for_or_follow_the_memory() -> None:
    assert rules(max_running_requests=7).max_running_requests == 7
    assert rules(**{"scheduler.max_num_seqs": 9}).max_running_requests == 9
    assert rules(**{"deployment.num_gpu_blocks_override": 101, "deployment.block_size": 16}).max_running_requests == 800
    assert rules(**{"deployment.max_model_len": 4096}).max_running_requests == 4096


@pytest.mark.parametrize("page_size", [1, 16, 64])
def test_no_request_of_a_scenario_is_clipped_a_second_time(page_size: int) -> None:
    values = {"deployment.num_gpu_blocks_override": 1601, "workload.types.0.cap": None}
    asked = scenario(page_size=page_size, **values, **{"workload.types.0.prompt": UP_TO_THE_CONTEXT})
    result = simulate(asked)
    most = largest_outputs(sglang_rules(asked, result.resolved), result.inputs.prompt_len, result.inputs.cap)
    fits = ~result.info.is_rejected
    np.testing.assert_array_equal(most[fits], result.inputs.cap[fits])
    np.testing.assert_array_equal(result.is_rejected, result.info.is_rejected)
    assert result.counts["unfinished"] == 0
    assert result.counts["rejected"] > 0


UP_TO_THE_CONTEXT = {"kind": "uniform", "low": 1, "high": 1700}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"enable_mixed_chunk": True, "chunked_prefill_size": 64, "max_running_requests": 64},
            "scheduler.sglang.max_running_requests is 64; with enable_mixed_chunk at most 63 is allowed: "
            "chunked_prefill_size (64) less a page",
        ),
        (
            {"enable_mixed_chunk": True, "chunked_prefill_size": 64, "page_size": 8, "scheduler.max_num_seqs": 64},
            "scheduler.max_num_seqs is 64; with enable_mixed_chunk at most 56 is allowed",
        ),
        (
            {"page_size": 32, "chunked_prefill_size": 16},
            "scheduler.sglang.chunked_prefill_size is 16; at least page_size (32) is needed, or -1 for no cut",
        ),
        ({"chunked_prefill_size": 0}, "scheduler.sglang.chunked_prefill_size is 0; at least page_size (1) is needed"),
        ({"chunked_prefill_size": -2}, "scheduler.sglang.chunked_prefill_size is -2; at least -1 is needed"),
        (
            {"page_size": 256, "deployment.num_gpu_blocks_override": 30, "deployment.block_size": 16},
            "scheduler.sglang.page_size is 256; the KV memory holds 464 tokens and max_model_len is 464",
        ),
        ({"workload.client_timeout_s": 5}, "workload.client_timeout_s is 5; scheduler.system sglang allows only none"),
        ({"scheduler.order": "rank"}, "scheduler: system is sglang; it takes no other choices than its own"),
        ({"schedule_policy": "random"}, "scheduler.sglang.schedule_policy is 'random'"),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        served(**values)
    assert sentence.removeprefix("scheduler: ") in str(caught.value)


def test_end_without_memory_is_told_in_one_sentence() -> None:
    values = {
        "deployment.num_gpu_blocks_override": 201,
        "deployment.block_size": 1,
        "workload.types.0.prompt": {"kind": "uniform", "low": 10, "high": 100},
        "workload.types.0.output": {"kind": "constant", "tokens": 90},
        "workload.types.0.cap": 90,
        "workload.num_requests": 60,
        "workload.arrivals": {"kind": "all_at_once"},
    }
    knobs = {"enable_mixed_chunk": True, "chunked_prefill_size": 13, "max_running_requests": 7}
    careless = {"clip_max_new_tokens": 1, "schedule_conservativeness": 0.01}
    with pytest.raises(ScenarioError, match=r"after .* s the KV memory is full while a prompt is in work"):
        served(**values, **knobs, **careless)
    assert served(**values, **knobs).counts["finished"] == 60


@pytest.mark.parametrize("knobs", [{}, {"page_size": 16, "disable_overlap_schedule": True}, {"schedule_policy": "lpm"}])
@pytest.mark.parametrize("rate_rps", [0.5, 20.0])
def test_every_bin_balances(rate_rps: float, knobs: dict[str, Any]) -> None:
    values = {
        "deployment.num_gpu_blocks_override": 1201,
        "workload.arrivals": {"kind": "poisson", "rate_rps": rate_rps},
        "workload.num_requests": 200,
        "workload.types.0.prompt": {"kind": "uniform", "low": 1, "high": 300},
        "workload.types.0.output": {"kind": "uniform", "low": 1, "high": 200},
        "workload.types.0.cap": 200,
        "cost.source": "catalog",
    }
    result = served(**values, **knobs)
    assert max(result.ledger.imbalance()) < 1e-9
    assert max(result.ledger.largest_bin_imbalance()) < 1e-9
    assert result.ledger.memory_block_s()["held_straggler"] > 0
    assert result.counts["finished"] == 200
    assert result.slowdown.min() >= 1 - 1e-9


def test_less_conservative_admission_retracts_more_and_is_no_emptier() -> None:
    values = {
        "deployment.num_gpu_blocks_override": 6401,
        "workload.arrivals": {"kind": "all_at_once"},
        "workload.num_requests": 300,
        "workload.types.0.output": {"kind": "uniform", "low": 100, "high": 600},
        "workload.types.0.cap": 600,
    }
    careful, careless = (
        served(schedule_conservativeness=each, clip_max_new_tokens=clip, **values)
        for each, clip in ((1.4, 4096), (0.1, 64))
    )
    assert careful.run.counters["preemptions"] == 0
    assert careless.run.counters["preemptions"] > 0


def test_shared_beginnings_are_found_in_the_cache_and_ordered_by_it() -> None:
    shared = with_values(preset("shared-prefix"), {"workload.num_requests": 300, "scheduler.system": "sglang"})
    without = with_values(shared, {"scheduler.sglang.disable_radix_cache": True})
    assert simulate(shared).run.outcome.cached_tokens.sum() > 0
    assert simulate(without).run.outcome.cached_tokens.sum() == 0


def test_all_policies_run_through_one_signature() -> None:
    for policy in ("fcfs", "lpm", "lof"):
        for switch in (False, True):
            switches = {"enable_mixed_chunk": switch, "disable_overlap_schedule": switch, "disable_radix_cache": switch}
            served(schedule_policy=policy, **switches)
    assert len(loop.advance.signatures) == 1
    assert len(loop.settle.signatures) == 1
