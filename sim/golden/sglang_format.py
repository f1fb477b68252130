"""What a golden of SGLang must hold. Source: README of the SGLang goldens, file format."""

from collections.abc import Callable, Mapping
from typing import Any

from sim.engine.sglang.inputs import SglangOrder, StepKind
from sim.golden.files import (
    GoldenError,
    is_count,
    is_list_of_counts,
    is_list_of_rows,
    is_number,
    need_choice,
    need_keys,
    shown,
)

KEYS = ("format", "engine", "version", "tree", "name", "note", "config", "requests", "summary", "steps")
ORDERS = {"fcfs": SglangOrder.FCFS, "lpm": SglangOrder.LPM, "lof": SglangOrder.LOF}
KINDS = {"idle": StepKind.IDLE, "prefill": StepKind.PREFILL, "decode": StepKind.DECODE, "mixed": StepKind.MIXED}
AT_LEAST = {
    "max_total_num_tokens": 1,
    "max_running_requests": 1,
    "max_prefill_tokens": 1,
    "new_token_ratio_decay_steps": 1,
    "retract_decode_steps": 0,
    "clip_max_new_tokens": 1,
    "page_size": 1,
}
AT_LEAST_OR_NULL = {"chunked_prefill_size": 1, "prefill_max_requests": 1, "context_len": 1}
SWITCHES = ("enable_mixed_chunk", "disable_radix_cache", "overlap")
SHARES = ("schedule_conservativeness", "init_new_token_ratio", "min_new_token_ratio_factor")
SUMMARY = (
    "steps", "prefill", "decode", "mixed", "idle", "retractions", "aborted", "chunk_steps", "hit_tokens",
    "prefill_tokens", "decode_tokens", "min_avail", "max_queue",
)  # fmt: skip
Cells = dict[str, Callable[[Any], bool]]
STEP_CELLS: Cells = {  # those that every row has
    "step": is_count,
    "kind": lambda value: isinstance(value, str) and value in KINDS,
    "run": is_count,
    "queue": is_count,
    "avail": is_count,
    "evictable": is_count,
    "ntr": is_number,
}
OPTIONAL_STEP_CELLS: Cells = {
    "prefill": is_list_of_rows(3),
    "hit": is_count,
    "n_decode": is_count,
    "decode": is_list_of_counts,
    "retracted": is_list_of_counts,
    "aborted": is_list_of_counts,
    "finished": is_list_of_counts,
    "ntr_end": is_number,
    "ntr_reset": is_count,
    "chunked": is_count,
    "full": is_count,
}
REQUEST_CELLS: Cells = dict.fromkeys(
    ("id", "arrival_step", "prompt_len", "true_output_len", "max_new_tokens", "effective_max_new_tokens"), is_count
)
OPTIONAL_REQUEST_CELLS: Cells = {
    "ignore_eos": lambda value: isinstance(value, bool),
    "prefix": is_list_of_rows(2),  # [group, tokens]
    "parent": is_count,
}


def check(golden: dict[str, Any]) -> None:
    """Refuse, with a `GoldenError`, a golden that could not be replayed or compared in full."""
    need_keys(golden, KEYS)
    check_config(golden["config"])
    check_rows(golden, "requests", REQUEST_CELLS, OPTIONAL_REQUEST_CELLS)
    check_requests(golden["requests"])
    check_rows(golden, "steps", STEP_CELLS, OPTIONAL_STEP_CELLS)
    need_keys(golden["summary"], SUMMARY, "summary")
    num_steps = len(golden["steps"])
    if golden["summary"]["steps"] != num_steps:
        raise GoldenError(f"steps has {num_steps} rows; summary.steps is {shown(golden['summary']['steps'])}")


def check_config(config: Any) -> None:
    """Refuse a setting that is missing or that no scheduler could have."""
    need_keys(config, (*AT_LEAST, *AT_LEAST_OR_NULL, *SWITCHES, *SHARES, "schedule_policy"), "config")
    for key, least in (AT_LEAST | AT_LEAST_OR_NULL).items():
        if config[key] is None and key in AT_LEAST_OR_NULL:
            continue
        if not is_count(config[key]) or config[key] < least:
            raise GoldenError(f"config.{key} is {shown(config[key])}; a whole number of at least {least} is needed")
    for key in SWITCHES:
        if not isinstance(config[key], bool):
            raise GoldenError(f"config.{key} is {shown(config[key])}; true or false is needed")
    for key in SHARES:
        if not is_number(config[key]) or config[key] < 0:
            raise GoldenError(f"config.{key} is {shown(config[key])}; a number from 0 on is needed")
    need_choice(config["schedule_policy"], ORDERS, "config.schedule_policy")
    if config.get("prefill_decode_interval", 0) != 0:
        raise GoldenError(f"config.prefill_decode_interval is {shown(config['prefill_decode_interval'])}; 0 is needed")


def check_rows(golden: Mapping[str, Any], key: str, cells: Cells, optional: Cells) -> None:
    """Refuse rows that lack a field, have an unknown one, or hold what cannot stand there."""
    if not isinstance(golden[key], list):
        raise GoldenError(f"{key} is {shown(golden[key])}; a list is needed")
    for number, row in enumerate(golden[key]):
        need_keys(row, tuple(cells), f"{key} row {number}")
        for name, value in row.items():
            allows = cells.get(name) or optional.get(name)
            if allows is None:
                raise GoldenError(f"{key} row {number} has the unknown field {shown(name)}")
            if not allows(value):
                raise GoldenError(f"{key} row {number}, field {name} is {shown(value)}, which cannot stand there")


def check_requests(rows: list[dict[str, Any]]) -> None:
    """Refuse an empty workload, ids that are not the row numbers, and requests that make no sense."""
    if not rows:
        raise GoldenError("requests has no rows; at least one request is needed")
    for number, row in enumerate(rows):
        where = f"requests row {number}"
        if row["id"] != number:
            raise GoldenError(f"{where} has the id {row['id']}; {number} is needed")
        for key in ("prompt_len", "true_output_len", "effective_max_new_tokens"):
            if row[key] < 1:
                raise GoldenError(f"{where}, field {key} is {row[key]}; at least 1 is needed")
        if row["true_output_len"] > row["max_new_tokens"]:
            raise GoldenError(
                f"{where} has true_output_len {row['true_output_len']}; at most max_new_tokens,"
                f" {row['max_new_tokens']}, is needed"
            )
        quoted = sum(tokens for _, tokens in row.get("prefix", ()))
        if "parent" in row:
            if row["parent"] >= number:
                raise GoldenError(f"{where} has the parent {row['parent']}; an earlier row is needed")
            parent = rows[row["parent"]]
            quoted += parent["prompt_len"] + parent["true_output_len"]
        if quoted > row["prompt_len"]:
            raise GoldenError(f"{where} begins with {quoted} quoted tokens; its prompt_len is {row['prompt_len']}")
