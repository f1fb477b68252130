"""`longtail validate`: compare the simulator with measurements."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from sim.commands.run import check_writable
from sim.commands.summary_text import aligned
from sim.progress import compile_kernels, progress_bar, say
from sim.studies.validation import as_json, validate
from sim.studies.validation.figures import Row


def main(arguments: argparse.Namespace) -> int:
    """Run whatever is found, print the tables or the JSON."""
    check_writable(arguments.json)  # not after the work
    compile_kernels()
    with progress_bar("validating") as show:
        report = validate(arguments.data, show)
    text = as_json(report)
    if arguments.json not in (None, "-"):
        Path(arguments.json).write_text(text, encoding="utf-8")
    say(text.rstrip("\n") if arguments.json == "-" else as_text(report))
    return 0


def as_text(report: Row) -> str:
    """Targets first, then each part."""
    parts = report["parts"]
    blocks = [aligned(list(target_rows(report["targets"])))] if report["targets"] else []
    if "goldens" in parts:
        blocks.append(_titled("Recorded step tables", aligned(list(golden_rows(parts["goldens"])))))
    if "step_times" in parts:
        blocks.append(_titled("Step times", aligned(list(step_rows(parts["step_times"]["groups"])))))
    if "vllm_runs" in parts:
        blocks.append(_titled("Server runs", aligned(list(run_rows(parts["vllm_runs"]["runs"])))))
    if "serving_benchmarks" in parts:
        blocks.append(_titled("Closed loops", aligned(list(serving_rows(parts["serving_benchmarks"]["groups"])))))
    if "peers" in parts:
        blocks.append(_titled("Beside other simulators", aligned(list(peer_rows(parts["peers"]["workloads"])))))
    left_out = list(left_out_rows(parts))
    if left_out:
        blocks.append(_titled("Left out", aligned(left_out)))
    return "\n\n".join(blocks)


def _titled(title: str, table: str) -> str:
    return f"{title}\n{table}"


def number(value: float | None, digits: int = 1) -> str:
    """A figure, or a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def target_rows(targets: list[Row]) -> Iterator[list[str]]:
    """What, measured, limit, verdict."""
    yield ["target", "measured", "limit", "", ""]
    for each in targets:
        verdict = {True: "met", False: "MISSED", None: "no data"}[each["met"]]
        yield [each["what"], number(each["measured"]), number(each["limit"]), each["unit"], verdict]


def golden_rows(part: Row) -> Iterator[list[str]]:
    """Files by folder."""
    yield ["folder", "identical", "different", "refused", "steps"]
    for row in part["folders"]:
        yield [row["folder"], *(f"{row[name]:,}" for name in ("identical", "different", "refused", "steps"))]


def step_rows(groups: list[Row]) -> Iterator[list[str]]:
    """Errors by origin, GPU and family."""
    yield ["origin", "GPU", "family", "deployments", "rows", "error %"]
    for row in groups:
        counts = [str(row["deployments"]), str(row["rows"])]
        yield [row["derivation"], row["gpu"], row["family"], *counts, number(row["error_percent"])]


def run_rows(runs: list[Row]) -> Iterator[list[str]]:
    """Errors of each run, and why it may be off."""
    yield ["run", "TPOT %", "E2E %", "median TTFT %", "tokens/s %", "caution"]
    for run in runs:
        figures = run["figures"]
        errors = [figures["tpot_error_percent"], figures["e2e_error_percent"]]
        errors += [figures[name]["error_percent"] for name in ("ttft_p50_s", "output_tokens_per_s")]
        yield [run["name"], *map(number, errors), run["caution"] or ""]


def serving_rows(groups: list[Row]) -> Iterator[list[str]]:
    """Errors by engine and GPU."""
    yield ["engine", "GPU", "servers", "points", "TPOT %", "bias %", "TTFT %", "tokens/s %", "TPOT calibrated %", ""]
    names = ("tpot_error_percent", "tpot_bias_percent", "ttft_error_percent", "throughput_error_percent")
    for row in groups:
        errors = [number(row[name]) for name in (*names, "calibrated_error_percent")]
        yield [row["engine"], row["gpu"], str(row["servers"]), str(row["points"]), *errors, row["caution"] or ""]


def peer_rows(workloads: list[Row]) -> Iterator[list[str]]:
    """Ours and each peer's figures for each workload."""
    yield ["workload", "simulator", "requests/s", "tokens/s", "TTFT p50 ms", "p99", "TPOT p50 ms", "p99"]
    for workload in workloads:
        for who in ({"peer": "longtail", **workload["ours"]}, *workload["peers"]):
            figures = [who[name] for name in ("rps", "out_tok_s", "ttft_p50_ms", "ttft_p99_ms", "tpot_p50_ms")]
            yield [workload["workload"], who["peer"], *map(number, figures), number(who["tpot_p99_ms"])]


def left_out_rows(parts: Row) -> Iterator[list[str]]:
    """Why how many rows were not compared."""
    for name in ("step_times", "serving_benchmarks"):
        for reason, count in parts.get(name, {}).get("left_out", {}).items():
            yield [name, f"{count:,}", reason]
    for reason in (*parts.get("goldens", {}).get("refused", ()), *parts.get("vllm_runs", {}).get("left_out", ())):
        yield ["", "1", reason]
