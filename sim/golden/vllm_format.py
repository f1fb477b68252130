"""What a file of format `longtail-vllm-golden/1` must hold. Source: golden README, section 1.

The asynchronous format shares most of it: `check_recording`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sim.engine.inputs import Order
from sim.golden.files import (
    GoldenError,
    is_count,
    is_count_or_null,
    is_list_of_counts,
    is_list_of_rows,
    is_number,
    is_whole,
    need_choice,
    need_keys,
    need_table,
    shown,
)
from sim.vllm_releases import PriorityPolicy, vllm_release

KEYS = (
    "name", "about", "tags", "engine", "config", "clock", "workload", "detail", "steps", "requests", "status",
    "max_steps", "summary",
)  # fmt: skip
AT_LEAST = {
    "num_gpu_blocks": 2,
    "block_size": 1,
    "max_num_seqs": 1,
    "max_num_batched_tokens": 1,
    "max_model_len": 1,
    "long_prefill_token_threshold": 0,
}
SWITCHES = ("enable_chunked_prefill", "enable_prefix_caching", "reserve_full_isl")
POLICIES = {"fcfs": Order.FCFS, "priority": Order.PRIORITY}
SUMMARY = ("calls", "tokens", "preemptions", "recomputed_tokens", "cached_tokens_first")
Cells = dict[str, Callable[[Any], bool]]  # for each column, whether a value may stand in it
STEP_CELLS: dict[str, Cells] = {
    "full": {
        "step": is_count,
        "t_us": is_count_or_null,
        "sched": is_list_of_rows(4),
        "preempted": is_list_of_rows(2),
        "running": is_count,
        "waiting": is_count,
        "free_sched": is_count,
        "finished": is_list_of_counts,
        "free_end": is_count,
    },
    "aggregate": {
        "step": is_count,
        "t_us": is_count_or_null,
        "n_sched": is_count,
        "tokens": is_count,
        "n_preempted": is_count,
        "running": is_count,
        "waiting": is_count,
        "free_sched": is_count,
        "n_finished": is_count,
        "free_end": is_count,
        "crc": is_count,
    },
}
REQUEST_CELLS = dict.fromkeys(
    ("first_step", "first_token_step", "finish_step", "finish_us", "preemptions", "first_cached", "emitted"),
    is_count_or_null,
)


WORKLOAD_CELLS: Cells = {
    "arrival": is_number,
    "prompt_len": is_count,
    "output_len": is_count,
    "priority": is_whole,
    "segments": lambda value: value is None or is_list_of_rows(2)(value),  # [content id, tokens]
}


def check(golden: dict[str, Any]) -> None:
    """Refuse, with a `GoldenError`, a golden that could not be replayed or compared in full."""
    need_keys(golden, KEYS)
    check_clock(golden["clock"])
    check_recording(golden, STEP_CELLS, SUMMARY)
    num_steps, calls = len(golden["steps"]["rows"]), golden["summary"]["calls"]
    if calls != num_steps:
        raise GoldenError(f"steps has {num_steps} rows; summary.calls is {shown(calls)}")
    check_status(golden)


def check_recording(golden: dict[str, Any], step_cells: Mapping[str, Cells], summary: Sequence[str]) -> None:
    """Refuse settings, a workload or tables that do not make sense.

    Parameters
    ----------
    golden : dict
        With all its keys.
    step_cells : mapping
        For each `detail` the columns of a step.
    summary : sequence of str
        Names of the totals.
    """
    check_engine(golden["engine"])
    check_config(golden["config"])
    check_policy(golden["config"]["policy"], golden["engine"]["vllm"])
    workload = need_table(golden, "workload", WORKLOAD_CELLS)
    check_workload(workload)
    need_choice(golden["detail"], step_cells, "detail")
    need_table(golden, "steps", step_cells[golden["detail"]])
    requests = need_table(golden, "requests", REQUEST_CELLS)
    if len(requests) != len(workload):
        raise GoldenError(f"requests has {len(requests)} rows; workload has {len(workload)}")
    need_keys(golden["summary"], summary, "summary")


def check_engine(made_by: Any) -> None:
    """Refuse a recording whose release is not named or not known."""
    need_keys(made_by, ("vllm",), "engine")
    if not isinstance(made_by["vllm"], str):
        raise GoldenError(f'engine.vllm is {shown(made_by["vllm"])}; a release such as "0.33.0" is needed')
    try:
        vllm_release(made_by["vllm"])
    except ValueError as error:
        raise GoldenError(f"engine.vllm: {error}") from error


def check_config(config: Any) -> None:
    """Refuse a setting that is missing or that no scheduler could have."""
    need_keys(config, (*AT_LEAST, *SWITCHES, "policy", "watermark"), "config")
    for key, least in AT_LEAST.items():
        if not is_count(config[key]) or config[key] < least:
            raise GoldenError(f"config.{key} is {shown(config[key])}; a whole number of at least {least} is needed")
    for key in SWITCHES:
        if not isinstance(config[key], bool):
            raise GoldenError(f"config.{key} is {shown(config[key])}; true or false is needed")
    need_choice(config["policy"], POLICIES, "config.policy")
    if not is_number(config["watermark"]) or not 0 <= config["watermark"] < 1:
        raise GoldenError(f"config.watermark is {shown(config['watermark'])}; a share from 0 to below 1 is needed")
    if config["max_num_batched_tokens"] < config["max_num_seqs"]:
        raise GoldenError(
            f"config.max_num_batched_tokens is {config['max_num_batched_tokens']};"
            f" at least max_num_seqs, {config['max_num_seqs']}, is needed"
        )


def check_policy(policy: str, release: str) -> None:
    """Refuse a policy that the release does not have, or that does not work in it."""
    if policy == "priority" and vllm_release(release).priority != PriorityPolicy.RELIABLE:
        raise GoldenError(f'config.policy is "priority"; vLLM {release} serves only "fcfs" reliably')


def check_clock(clock: Any) -> None:
    """Refuse a clock that is neither of the two, or that would stand still."""
    need_keys(clock, ("mode",), "clock")
    if clock["mode"] == "time":
        check_times(clock, ("a_us", "b_us"))
    elif clock["mode"] != "step":
        raise GoldenError(f"clock.mode is {shown(clock['mode'])}; allowed are step, time")


def check_times(clock: dict[str, Any], keys: Sequence[str]) -> None:
    """Refuse a time that is missing or negative, and a step that takes none."""
    need_keys(clock, keys, "clock")
    for key in keys:
        if not is_count(clock[key]):
            raise GoldenError(f"clock.{key} is {shown(clock[key])}; a whole number from 0 on is needed")
    if clock["a_us"] + clock["b_us"] == 0:
        raise GoldenError("clock.a_us and clock.b_us are 0; one of them must be at least 1")


def check_workload(rows: list[list[Any]]) -> None:
    """Refuse an empty workload and requests that ask for nothing or quote more than they hold."""
    if not rows:
        raise GoldenError("workload has no rows; at least one request is needed")
    for number, (_, prompt_len, output_len, _, segments) in enumerate(rows):
        for name, value in (("prompt_len", prompt_len), ("output_len", output_len)):
            if value < 1:
                raise GoldenError(f"workload row {number}, column {name} is {value}; at least 1 is needed")
        quoted = sum(tokens for _, tokens in segments or ())
        if quoted > prompt_len:
            raise GoldenError(f"workload row {number} has segments of {quoted} tokens; its prompt_len is {prompt_len}")


def check_status(golden: dict[str, Any]) -> None:
    """Refuse a recording that does not say whether and where it was cut."""
    status, max_steps = golden["status"], golden["max_steps"]
    need_choice(status, ("complete", "truncated"), "status")
    if not is_count_or_null(max_steps) or max_steps == 0:
        raise GoldenError(f"max_steps is {shown(max_steps)}; null or a whole number of at least 1 is needed")
    if status == "truncated" and max_steps is None:
        raise GoldenError("max_steps is null; a truncated recording needs the number of its calls")
