"""The command line that starts a server configured as a scenario is.

Only what departs from the server's own defaults stands in it. Source of the flags: `vllm serve --help`, 0.33.0, and
`python -m sglang.launch_server --help`, 0.5.23.
"""

import shlex
from typing import NamedTuple

from sim.catalog import gpu, model
from sim.deployment import default_limits, resolve
from sim.gpu_memory import weight_dtype
from sim.scenario import Scenario
from sim.scheduler_spec import Recombination, Scheduler
from sim.sglang_spec import Sglang


class ServerCommand(NamedTuple):
    """A command line, or why there is none, and what it does not say."""

    text: str  # empty where no server is configured so
    notes: tuple[str, ...]


QUANTIZATION = {"fp8": "fp8", "fp8_block": "fp8"}  # of weights that are published at 16 bit
BY_ENVIRONMENT = (  # knobs of SGLang that have no flag
    "init_new_token_ratio",
    "min_new_token_ratio_factor",
    "new_token_ratio_decay_steps",
    "retract_decode_steps",
    "clip_max_new_tokens",
)
NO_SERVER = "No server in use starts as {}: it is a scheduler of the literature, or of a server's past."


def server_command(scenario: Scenario) -> ServerCommand:
    """`vllm serve` for a scenario, or SGLang's launch command.

    Parameters
    ----------
    scenario : Scenario
        One that can run.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    scheduler = scenario.scheduler
    hf_id = model(scenario.deployment.model).hf_id
    if scheduler.system == "vllm_v1":
        flags = _of_deployment(scenario) + _of_scheduler(scheduler, default_limits(gpu(scenario.deployment.gpu)))
        return ServerCommand(shlex.join(["vllm", "serve", hf_id, *flags]), tuple(_notes(scenario)))
    if scheduler.system == "sglang":
        start = ["python", "-m", "sglang.launch_server", "--model-path", hf_id]
        notes = (*_notes(scenario), *_sglang_notes(scheduler.sglang))
        return ServerCommand(shlex.join([*start, *_of_sglang(scenario)]), notes)
    return ServerCommand("", (NO_SERVER.format(scheduler.system),))


def _of_sglang(scenario: Scenario) -> list[str]:
    """Flags of SGLang. Its memory fraction means something else than vLLM's, so the KV tokens are said instead."""
    deployment, knobs = scenario.deployment, scenario.scheduler.sglang
    shape, usual = model(deployment.model), Sglang()
    return [
        *_flag("--tp-size", deployment.tensor_parallel_size, 1),
        *_flag("--quantization", _quantization(scenario), ""),
        *_flag("--kv-cache-dtype", {"fp8": "fp8_e4m3"}.get(deployment.kv_cache_dtype, "auto"), "auto"),
        *_flag("--max-total-tokens", resolve(scenario).kv_tokens, None),
        *_flag("--context-length", deployment.max_model_len or shape.max_context, shape.max_context),
        *_flag("--page-size", knobs.page_size, usual.page_size),
        *_flag("--max-running-requests", knobs.max_running_requests or scenario.scheduler.max_num_seqs, None),
        *_flag("--schedule-policy", knobs.schedule_policy, usual.schedule_policy),
        *_flag("--schedule-conservativeness", f"{knobs.schedule_conservativeness:g}", "1"),
        *_flag("--chunked-prefill-size", knobs.chunked_prefill_size, None),
        *_flag("--max-prefill-tokens", knobs.max_prefill_tokens, usual.max_prefill_tokens),
        *_flag("--prefill-max-requests", knobs.prefill_max_requests, None),
        *(["--enable-mixed-chunk"] if knobs.enable_mixed_chunk else []),
        *(["--disable-radix-cache"] if knobs.disable_radix_cache else []),
        *(["--disable-overlap-schedule"] if knobs.disable_overlap_schedule else []),
    ]


def _sglang_notes(knobs: Sglang) -> list[str]:
    usual = Sglang()
    changed = [name for name in BY_ENVIRONMENT if getattr(knobs, name) != getattr(usual, name)]
    return [f"SGLang takes {', '.join(changed)} from the environment."] if changed else []


def _quantization(scenario: Scenario) -> str:
    """How weights that are published at 16 bit are to be quantised; empty where they are not."""
    shape = model(scenario.deployment.model)
    if shape.dtype not in ("bf16", "fp16"):
        return ""
    return QUANTIZATION.get(weight_dtype(shape, scenario.deployment), "")


def _of_deployment(scenario: Scenario) -> list[str]:
    deployment = scenario.deployment
    shape = model(deployment.model)
    context = resolve(scenario).max_model_len
    return [
        *_flag("--tensor-parallel-size", deployment.tensor_parallel_size, 1),
        *_flag("--pipeline-parallel-size", deployment.pipeline_parallel_size, 1),
        *_flag("--quantization", _quantization(scenario), ""),
        *_flag("--kv-cache-dtype", deployment.kv_cache_dtype, "auto"),
        *_flag("--gpu-memory-utilization", f"{deployment.gpu_memory_utilization:g}", "0.9"),
        *_flag("--max-model-len", context, shape.max_context),
        *_flag("--block-size", deployment.block_size, 16),
        *_flag("--num-gpu-blocks-override", deployment.num_gpu_blocks_override, None),
    ]


def _of_scheduler(scheduler: Scheduler, defaults: tuple[int, int]) -> list[str]:
    seats, budget = defaults
    return [
        *_flag("--max-num-seqs", scheduler.max_num_seqs or seats, seats),
        *_flag("--max-num-batched-tokens", scheduler.max_num_batched_tokens or budget, budget),
        *_switch("enable-prefix-caching", scheduler.enable_prefix_caching, True),
        *_switch("enable-chunked-prefill", scheduler.enable_chunked_prefill, True),
        *_flag("--long-prefill-token-threshold", scheduler.long_prefill_token_threshold, 0),
        *_flag("--scheduling-policy", scheduler.scheduling_policy, "fcfs"),
        *_flag("--watermark", f"{scheduler.watermark or 0:g}", "0"),
        *_switch("scheduler-reserve-full-isl", scheduler.scheduler_reserve_full_isl, True),
        *_switch("async-scheduling", scheduler.async_scheduling, True),
    ]


def _notes(scenario: Scenario) -> list[str]:
    """What the command line does not say, or says only nearly."""
    deployment, scheduler = scenario.deployment, scenario.scheduler
    found = [f"Run it on {deployment.named_gpus}."]
    if any(getattr(scheduler, choice) is not None for choice in Recombination.model_fields):
        found.append("The choices put in place of the server's own have no flag.")
    if scheduler.system == "vllm_v1" and scheduler.vllm_release != "0.33.0":
        found.append(f"The rules are those of vLLM {scheduler.vllm_release}; it knows fewer of these flags.")
    if weight_dtype(model(deployment.model), deployment) == "fp4" and model(deployment.model).dtype != "mxfp4":
        found.append("4-bit weights need a checkpoint that is published so.")
    if any(task.cap is not None for task in scenario.workload.types):
        found.append("Output caps are `max_tokens` of each request, not a flag of the server.")
    if any(task.priority for task in scenario.workload.types):
        found.append("Priorities travel in each request.")
    return found


def _flag(name: str, value: object, default: object) -> list[str]:
    return [] if value == default else [name, str(value)]


def _switch(name: str, value: bool, default: bool) -> list[str]:
    return [] if value == default else [f"--{name}" if value else f"--no-{name}"]
