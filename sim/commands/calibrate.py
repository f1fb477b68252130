"""`longtail calibrate`: step-time coefficients of a deployment from its own benchmark."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from sim import Scenario, with_values
from sim.benchmarks import read_benchmark
from sim.commands.run import check_writable
from sim.commands.summary_text import aligned
from sim.cost.calibration import Calibration, calibrate
from sim.cost.calibration_fit import PARAMETERS
from sim.cost.measured_point import MeasuredPoint, Simulated, points_of
from sim.progress import compile_kernels, note, progress_bar, say

WAYS = {"catalogue": "catalogue", "fitted": "fitted", "left_out": "left out"}
LABELS = {
    "fixed_ms": "fixed time a step, ms",
    "inv_eff_mem": "reading weights, over datasheet",
    "inv_eff_kv": "reading KV cache, over datasheet",
    "inv_eff_flop": "matrix products, over datasheet",
    "inv_eff_attn": "prefill attention, over datasheet",
}


def main(arguments: argparse.Namespace) -> int:
    """Fit, print how good the fit is, and write the coefficients."""
    check_writable(arguments.out)  # not after the work
    base = deployment_of(arguments)
    benchmark = read_benchmark(arguments.file)
    points, left_out = points_of(benchmark)
    for sentence in (*benchmark.notes, *left_out):
        note(sentence)
    compile_kernels()
    with progress_bar("calibrating") as show:
        found = calibrate(base, points, f"{benchmark.name} ({benchmark.tool})", show)
    if arguments.out:
        cost = base.cost.model_copy(update={"source": "calibrated", "coefficients": found.step})
        Path(arguments.out).write_text(cost.model_dump_json(indent=2) + "\n", encoding="utf-8")
    say(as_text(found))
    for sentence in found.warnings:
        note(sentence)
    return 0


def deployment_of(arguments: argparse.Namespace) -> Scenario:
    """The scenario that the options describe."""
    named = {
        "deployment.model": arguments.model,
        "deployment.gpu": arguments.gpu,
        "deployment.tensor_parallel_size": arguments.tp,
        "deployment.weight_dtype": arguments.weight_dtype,
        "deployment.kv_cache_dtype": arguments.kv_cache_dtype,
    }
    return with_values(
        Scenario(), {**{path: value for path, value in named.items() if value}, **dict(arguments.values)}
    )


def as_text(found: Calibration) -> str:
    """Coefficients, and every point with the errors of its TPOT."""
    return f"{aligned(list(coefficient_rows(found)))}\n\n{aligned(list(point_rows(found)))}"


def coefficient_rows(found: Calibration) -> Iterator[list[str]]:
    """Each parameter before and after."""
    yield ["", "catalogue", "fitted", ""]
    for name, before, after in zip(PARAMETERS, found.catalogue, found.values, strict=True):
        yield [LABELS[name], f"{before:.3f}", f"{after:.3f}", "not determined" if name in found.weak else ""]
    if found.client_ms is not None:
        yield ["in TTFT besides the server, ms", "-", f"{found.client_ms:.1f}", ""]


def point_rows(found: Calibration) -> Iterator[list[str]]:
    """Measured TPOT, and by how much the simulation is off."""
    yield ["load", "prompt", "output", "TPOT ms", *WAYS.values()]
    for each in found.points:
        point = each.point
        errors = [deviation(point, getattr(each, way)) for way in WAYS]
        yield [point.load, f"{point.prompt_tokens:.0f}", f"{point.output_tokens:.0f}", f"{point.tpot_ms:.2f}", *errors]
    means = [found.error_percent(way) for way in WAYS]
    yield ["mean error", "-", "-", "-", *("-" if mean is None else f"{mean:.1f} %" for mean in means)]


def deviation(point: MeasuredPoint, run: Simulated | None) -> str:
    """Error of a simulated TPOT."""
    return "-" if run is None else f"{100 * (run.tpot_ms / point.tpot_ms - 1):+.1f} %"
