"""What knowing lengths must bring, out of the public API: everybody waits from the start, and memory decides."""

from typing import Any

import pytest

from sim import preset, simulate, with_values

CROWD = {
    "workload.num_requests": 400,
    "workload.arrivals": {"kind": "all_at_once"},
    "workload.types.0.output": {"kind": "lognormal", "mean": 1500, "cv": 1},
    "workload.types.0.cap": 6000,
}


def figures(**scheduler: Any) -> dict[str, Any]:
    """Metrics of a crowd on a small card under a scheduler."""
    values = CROWD | {f"scheduler.{name}": value for name, value in scheduler.items() if name != "kind"}
    if "kind" in scheduler:
        values["predictor.kind"] = scheduler["kind"]
    metrics: dict[str, Any] = simulate(with_values(preset("memory-pressure"), values)).summary()["metrics"]
    return metrics


def test_s3_that_knows_the_truth_serves_at_least_as_much_as_orca_that_reserves_the_longest() -> None:
    truth = figures(system="s3", max_num_seqs=64, kind="oracle")
    longest = figures(system="orca", reserve="max_model_len", max_num_seqs=64)
    assert truth["output_tokens_per_s"] >= longest["output_tokens_per_s"]


@pytest.mark.parametrize("seats", [64, 256])
def test_past_future_preempts_less_than_aggressive_and_admits_more_than_conservative(seats: int) -> None:
    names = ("past_future", "aggressive", "conservative")
    drawn, soon, cap = (figures(system=name, max_num_seqs=seats) for name in names)
    assert drawn["preemptions"] < soon["preemptions"]
    assert drawn["effective_batch"] > cap["effective_batch"]
