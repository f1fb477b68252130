"""The command line of a server that is configured as a scenario is."""

import shlex

import pytest

from sim.deployment import resolve
from sim.presets import preset, preset_names
from sim.scenario import Scenario, with_values
from sim.view.server_command import NO_SERVER, server_command


def words(scenario: Scenario) -> list[str]:
    return shlex.split(server_command(scenario).text)


def test_only_what_departs_from_the_servers_defaults_is_said() -> None:
    plain = with_values(preset("chat"), {"scheduler.enable_prefix_caching": True, "scheduler.async_scheduling": True})
    assert server_command(plain).text == "vllm serve meta-llama/Meta-Llama-3.1-8B"
    assert words(preset("chat"))[3:] == ["--no-enable-prefix-caching"]


def test_each_knob_has_its_flag() -> None:
    edits = {
        "deployment.model": "Qwen3-32B",
        "deployment.gpu": "H200",
        "deployment.tensor_parallel_size": 2,
        "deployment.weight_dtype": "fp8",
        "deployment.kv_cache_dtype": "fp8",
        "deployment.gpu_memory_utilization": 0.85,
        "deployment.max_model_len": 8192,
        "deployment.block_size": 32,
        "deployment.num_gpu_blocks_override": 5000,
        "scheduler.max_num_seqs": 64,
        "scheduler.max_num_batched_tokens": 4096,
        "scheduler.enable_prefix_caching": False,
        "scheduler.enable_chunked_prefill": False,
        "scheduler.long_prefill_token_threshold": 1024,
        "scheduler.scheduling_policy": "priority",
        "scheduler.watermark": 0.05,
        "scheduler.scheduler_reserve_full_isl": False,
        "scheduler.async_scheduling": True,
    }
    edits |= {"deployment.max_model_len": 4096}  # without chunks a prompt must fit into the budget
    assert words(with_values(preset("chat"), edits)) == shlex.split(
        "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 --quantization fp8 --kv-cache-dtype fp8 "
        "--gpu-memory-utilization 0.85 --max-model-len 4096 --block-size 32 --num-gpu-blocks-override 5000 "
        "--max-num-seqs 64 --max-num-batched-tokens 4096 --no-enable-prefix-caching --no-enable-chunked-prefill "
        "--long-prefill-token-threshold 1024 --scheduling-policy priority --watermark 0.05 "
        "--no-scheduler-reserve-full-isl"
    )


def test_a_context_cut_to_the_memory_is_said_and_the_models_own_is_not() -> None:
    tight = with_values(preset("memory-pressure"), {"deployment.max_model_len": None})
    said = words(tight)
    assert said[said.index("--max-model-len") + 1] == str(resolve(tight).max_model_len)
    assert "--max-model-len" not in words(preset("chat"))


@pytest.mark.parametrize("system", ["static", "orca", "rank"])
def test_a_scheduler_of_the_literature_has_no_server(system: str) -> None:
    scenario = with_values(preset("chat"), {"scheduler.system": system})
    assert server_command(scenario) == ("", (NO_SERVER.format(system),))


def test_choices_put_in_place_of_its_own_are_a_note() -> None:
    changed = server_command(with_values(preset("chat"), {"scheduler.reserve": "cap"}))
    assert changed.text.startswith("vllm serve ")
    assert any("have no flag" in note for note in changed.notes)


def test_what_no_flag_says_is_a_note() -> None:
    notes = server_command(preset("mixed-priority")).notes
    assert notes[0] == "Run it on 1 x H100-SXM."
    assert any("max_tokens" in note for note in notes)
    assert any("Priorities" in note for note in notes)
    old = server_command(with_values(preset("chat"), {"scheduler.vllm_release": "0.18.1"}))
    assert any("0.18.1" in note for note in old.notes)


@pytest.mark.parametrize("name", preset_names("explore"))
def test_every_preset_has_a_command_or_a_reason(name: str) -> None:
    command = server_command(preset(name))
    assert command.text.startswith("vllm serve ") or command.notes


def test_sglang_is_launched_with_its_own_flags() -> None:
    edits = {
        "scheduler.system": "sglang",
        "deployment.tensor_parallel_size": 2,
        "deployment.kv_cache_dtype": "fp8",
        "deployment.max_model_len": 8192,
        "scheduler.sglang.page_size": 16,
        "scheduler.sglang.max_running_requests": 256,
        "scheduler.sglang.schedule_policy": "lpm",
        "scheduler.sglang.schedule_conservativeness": 0.5,
        "scheduler.sglang.chunked_prefill_size": 4096,
        "scheduler.sglang.max_prefill_tokens": 8192,
        "scheduler.sglang.prefill_max_requests": 8,
        "scheduler.sglang.enable_mixed_chunk": True,
        "scheduler.sglang.disable_radix_cache": True,
        "scheduler.sglang.disable_overlap_schedule": True,
        "scheduler.sglang.retract_decode_steps": 30,
    }
    scenario = with_values(preset("chat"), edits)
    command = server_command(scenario)
    assert shlex.split(command.text) == shlex.split(
        "python -m sglang.launch_server --model-path meta-llama/Meta-Llama-3.1-8B --tp-size 2 "
        f"--kv-cache-dtype fp8_e4m3 --max-total-tokens {resolve(scenario).kv_tokens} --context-length 8192 "
        "--page-size 16 --max-running-requests 256 --schedule-policy lpm --schedule-conservativeness 0.5 "
        "--chunked-prefill-size 4096 --max-prefill-tokens 8192 --prefill-max-requests 8 --enable-mixed-chunk "
        "--disable-radix-cache --disable-overlap-schedule"
    )
    assert command.notes[-1] == "SGLang takes retract_decode_steps from the environment."


def test_sglang_with_its_defaults_says_no_more_than_its_memory() -> None:
    plain = with_values(preset("chat"), {"scheduler.system": "sglang"})
    said = words(plain)
    assert said[4:] == ["meta-llama/Meta-Llama-3.1-8B", "--max-total-tokens", str(resolve(plain).kv_tokens)]
