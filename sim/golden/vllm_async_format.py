"""What a file of format `longtail-vllm-async-golden/1` must hold.

Source: README of the asynchronous goldens, section 2.
"""

from typing import Any

from sim.golden.files import (
    GoldenError,
    is_count,
    is_list_of_counts,
    is_list_of_rows,
    need_choice,
    need_keys,
    shown,
)
from sim.golden.vllm_format import KEYS as SYNCHRONOUS_KEYS
from sim.golden.vllm_format import Cells, check_recording, check_times

KEYS = (*SYNCHRONOUS_KEYS, "stop")
SUMMARY = ("rows", "calls", "tokens", "preemptions", "recomputed_tokens", "cached_tokens_first")
QUEUE_SIZE = 2  # steps in flight; what vLLM uses without pipeline parallelism
STEP_CELLS: dict[str, Cells] = {
    "full": {
        "step": is_count,
        "t_us": is_count,
        "start_us": is_count,
        "end_us": is_count,
        "sched": is_list_of_rows(4),
        "preempted": is_list_of_rows(2),
        "running": is_count,
        "waiting": is_count,
        "free_sched": is_count,
        "placeholders": is_count,
        "applied_after": is_count,
        "finished": is_list_of_counts,
        "late": is_list_of_counts,
        "dropped": is_list_of_counts,
        "free_end": is_count,
    },
    "aggregate": dict.fromkeys(
        (
            "step", "t_us", "start_us", "end_us", "n_sched", "tokens", "n_preempted", "running", "waiting",
            "free_sched", "placeholders", "applied_after", "n_finished", "n_late", "n_dropped", "free_end", "crc",
        ),
        is_count,
    ),
}  # fmt: skip


def check(golden: dict[str, Any]) -> None:
    """Refuse, with a `GoldenError`, a golden that could not be replayed or compared in full."""
    need_keys(golden, KEYS)
    check_clock(golden["clock"])
    check_recording(golden, STEP_CELLS, SUMMARY)
    check_loop(golden["engine"])
    need_choice(golden["stop"], ("length", "eos"), "stop")
    num_steps, rows = len(golden["steps"]["rows"]), golden["summary"]["rows"]
    if rows != num_steps:
        raise GoldenError(f"steps has {num_steps} rows; summary.rows is {shown(rows)}")
    if golden["status"] != "complete":
        raise GoldenError(f"status is {shown(golden['status'])}; an asynchronous recording must be complete")


def check_loop(made_by: dict[str, Any]) -> None:
    """Refuse a recording of another loop."""
    need_keys(made_by, ("async_scheduling", "batch_queue_size"), "engine")
    for key, value in (("async_scheduling", True), ("batch_queue_size", QUEUE_SIZE)):
        if made_by[key] != value:
            raise GoldenError(f"engine.{key} is {shown(made_by[key])}; {shown(value)} is needed")


def check_clock(clock: Any) -> None:
    """Refuse any clock but one that counts microseconds."""
    need_keys(clock, ("mode",), "clock")
    if clock["mode"] != "time":
        raise GoldenError(f'clock.mode is {shown(clock["mode"])}; "time" is needed')
    check_times(clock, ("a_us", "b_us", "pause_us"))
