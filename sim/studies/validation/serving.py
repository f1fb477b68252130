"""Published serving benchmarks: closed loops at the same concurrency and lengths, simulated."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sim.catalog import model
from sim.cost import band
from sim.cost.calibration import ENOUGH, calibrate
from sim.cost.measured_point import MeasuredPoint, Simulated, simulated
from sim.errors import ScenarioError
from sim.studies.validation.figures import Row, mean_of, thinned
from sim.studies.validation.serving_rows import Points, Served, read_serving

SIMULATED_ENGINE = "vllm"  # the scheduler and the kernels that are simulated
OTHER_ENGINE = "simulated with vLLM's scheduler and kernels"


def serving(path: Path, on_progress: Callable[[float], None]) -> Row:
    """Errors of TPOT, TTFT and throughput by server, engine and GPU; for vLLM also after calibration.

    Raises
    ------
    DataError
        The table cannot be read.
    """
    servers, left_out = read_serving(path)
    total, done = sum(len(points.points) for points in servers.values()), 0
    rows, parity, counts = [], [], Counter(left_out)
    for served, points in servers.items():
        try:
            runs = [simulated(served.base, point) for point in points.points]
        except ScenarioError as error:
            counts[_short(error)] += len(points.points)
        else:
            rows.append(_server(served, points, runs))
            parity += [_pair(served, point, run) for point, run in zip(points.points, runs, strict=True)]
        done += len(points.points)
        on_progress(done / total)
    return {
        "rows": sum(row["points"] for row in rows),
        "groups": groups(rows),
        "servers": rows,
        "parity": thinned(parity),
        "left_out": dict(counts),
    }


def _short(error: ScenarioError) -> str:
    """A refusal without its numbers, so that refusals of a kind are counted together."""
    return "the model does not fit the GPUs" if "takes" in str(error) else str(error)


def _server(served: Served, points: Points, runs: list[Simulated]) -> Row:
    deployment = served.base.deployment
    tpot = np.array([100 * (run.tpot_ms / point.tpot_ms - 1) for run, point in zip(runs, points.points, strict=True)])
    calibrated = _calibrated(served, points.points)
    return {
        "source": served.source,
        "engine": served.engine,
        "gpu": deployment.gpu,
        "model": deployment.model,
        "gpus": deployment.tensor_parallel_size,
        "weight_dtype": deployment.weight_dtype,
        "kv_cache_dtype": deployment.kv_cache_dtype,
        "is_moe": model(deployment.model).is_moe,
        "band": band(served.base).text,
        "points": len(points.points),
        "tpot_error_percent": float(np.abs(tpot).mean()),
        "tpot_bias_percent": float(tpot.mean()),
        "ttft_error_percent": _mean_error(
            (run.ttft_ms, point.ttft_ms) for run, point in zip(runs, points.points, strict=True)
        ),
        "throughput_error_percent": _mean_error(
            (run.output_tokens_per_s, rate) for run, rate in zip(runs, points.output_tokens_per_s, strict=True)
        ),
        "calibrated_error_percent": calibrated,
    }


def _mean_error(pairs: Iterable[tuple[float, float | None]]) -> float | None:
    """Mean absolute error in percent over the pairs that were measured."""
    errors = [abs(ours / real - 1) for ours, real in pairs if real]
    return 100 * float(np.mean(errors)) if errors else None


def _calibrated(served: Served, points: list[MeasuredPoint]) -> float | None:
    """TPOT error of points left out of a calibration on the others; None: too few points, or another scheduler."""
    if served.engine != SIMULATED_ENGINE or len(points) < ENOUGH:
        return None
    return calibrate(served.base, points).error_percent("left_out")


def _pair(served: Served, point: MeasuredPoint, run: Simulated) -> Row:
    return {
        "engine": served.engine,
        "gpu": served.base.deployment.gpu,
        "measured_ms": point.tpot_ms,
        "simulated_ms": run.tpot_ms,
    }


def groups(rows: list[Row]) -> list[Row]:
    """By engine and GPU: mean over points of TPOT, TTFT and throughput errors."""
    members: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        members[row["engine"], row["gpu"]].append(row)
    return [
        {
            "engine": engine,
            "gpu": gpu,
            "servers": len(each),
            "points": sum(row["points"] for row in each),
            **{name: _over_points(each, name) for name in MEANS},
            "calibrated_error_percent": mean_of(each, "calibrated_error_percent"),
            "caution": None if engine == SIMULATED_ENGINE else OTHER_ENGINE,
        }
        for (engine, gpu), each in sorted(members.items())
    ]


MEANS = ("tpot_error_percent", "tpot_bias_percent", "ttft_error_percent", "throughput_error_percent")


def _over_points(rows: list[Row], name: str) -> float | None:
    known = [(row[name], row["points"]) for row in rows if row[name] is not None]
    values, weights = zip(*known, strict=True) if known else ((), ())
    return float(np.average(values, weights=weights)) if known else None
