"""What the project holds itself to, and what was measured. A target is there only where its data are."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.studies.validation.figures import Row, mean_of

KERNEL_TABLES, VLLM_KERNELS, OLD_ENGINE = "sum_aic_ops", "sum_vllm_kernels", "engine_step"
DENSE = {"A100-80G-SXM": 6.0, "H100-SXM": 6.0, "H200": 6.0, "L40S": 6.0, "RTX-PRO-6000": 6.0, "B200": 9.0, "GB200": 9.0}
BLOCK_FP8, MOE = 11.0, 12.0
IN_VLLM = {"RTX-PRO-6000": 9.0, "RTX4090": 12.0}
OLD = 11.0
TPOT, STARVED_TPOT, THROUGHPUT, TTFT, TTFT_S = 8.0, 15.0, 5.0, 20.0, 0.020
CLOSED_LOOP, CALIBRATED, CALIBRATED_WORST = 12.0, 5.0, 8.0
CLOSED_LOOP_GPUS = ("H100-SXM", "H200", "B200")


def targets(parts: Row) -> list[Row]:
    """Every target whose data were found: what, measured, limit, met."""
    found: list[Row] = []
    if "goldens" in parts:
        found += _goldens(parts["goldens"])
    if "step_times" in parts:
        found += _step_times(parts["step_times"]["deployments"])
    if "vllm_runs" in parts:
        found += [target for run in parts["vllm_runs"]["runs"] for target in _run(run)]
    if "serving_benchmarks" in parts:
        found += _serving(parts["serving_benchmarks"]["servers"])
    return found


def _target(what: str, measured: float | None, limit: float, unit: str = "%") -> Row:
    met = None if measured is None else bool(measured <= limit)
    return {"what": what, "measured": measured, "limit": limit, "unit": unit, "met": met}


def _goldens(part: Row) -> Iterator[Row]:
    yield _target("recorded step tables that differ", float(len(part["different"])), 0.0, "files")


def _step_times(deployments: list[Row]) -> Iterator[Row]:
    """Means over deployments by GPU."""
    tables = [row for row in deployments if row["derivation"] == KERNEL_TABLES]
    for gpu in sorted({row["gpu"] for row in tables}):
        here = [row for row in tables if row["gpu"] == gpu]
        kinds = {
            "dense": ([row for row in here if row["family"] == "dense"], DENSE.get(gpu)),
            "block-scaled FP8": ([row for row in here if row["family"].endswith("block-FP8")], BLOCK_FP8),
            "mixture of experts": ([row for row in here if row["family"].startswith("MoE")], MOE),
        }
        for kind, (rows, limit) in kinds.items():
            if rows and limit is not None:
                yield _target(f"step time, {kind}, {gpu}", mean_of(rows, "error_percent"), limit)
    for gpu, limit in IN_VLLM.items():
        rows = [row for row in deployments if (row["derivation"], row["gpu"]) == (VLLM_KERNELS, gpu)]
        if rows:
            yield _target(f"step time, kernels in vLLM, {gpu}", mean_of(rows, "error_percent"), limit)
    old = [row for row in deployments if row["derivation"] == OLD_ENGINE]
    for gpu in sorted({row["gpu"] for row in old}):
        error = mean_of([row for row in old if row["gpu"] == gpu], "error_percent")
        yield _target(f"step time, whole steps of an old engine, own coefficients, {gpu}", error, OLD)


def _run(run: Row) -> Iterator[Row]:
    """A server run on one GPU with a dense model; others are reported without a target."""
    if run["caution"] is not None:
        return
    figures, name = run["figures"], run["name"]
    limit = STARVED_TPOT if run["is_starved_for_kv"] else TPOT
    yield _target(f"TPOT of each request, {name}", figures["tpot_error_percent"], limit)
    yield _target(f"throughput, {name}", abs(figures["output_tokens_per_s"]["error_percent"]), THROUGHPUT)
    ttft = figures["ttft_p50_s"]
    allowed = max(TTFT, 100 * TTFT_S / ttft["measured"])
    yield _target(f"median TTFT, {name}", abs(ttft["error_percent"]), allowed)


def _serving(servers: list[Row]) -> Iterator[Row]:
    """Closed loops of vLLM with a dense model in FP8."""
    chosen = [
        row
        for row in servers
        if row["engine"] == "vllm" and row["weight_dtype"] == "fp8" and not row["is_moe"]
        and row["gpu"] in CLOSED_LOOP_GPUS
    ]  # fmt: skip
    for gpu in CLOSED_LOOP_GPUS:
        here = [row for row in chosen if row["gpu"] == gpu]
        if here:
            error = np.average(_column(here, "tpot_error_percent"), weights=_column(here, "points"))
            yield _target(f"closed loop TPOT, vLLM FP8 dense, {gpu}", float(error), CLOSED_LOOP)
    calibrated = [row["calibrated_error_percent"] for row in chosen if row["calibrated_error_percent"] is not None]
    if calibrated:
        mean, worst = float(np.mean(calibrated)), float(np.max(calibrated))
        yield _target("the same, calibrated on the other points, mean of deployments", mean, CALIBRATED)
        yield _target("the same, worst deployment", worst, CALIBRATED_WORST)


def _column(rows: list[Row], name: str) -> list[Any]:
    return [row[name] for row in rows]
