"""`longtail bench`: measure the simulator's speed on the shipped `bench-*` presets."""

import argparse
import json
from pathlib import Path
from typing import Any

from sim.bench import SATURATED, Case, Figures, cases, measure, measure_start
from sim.commands.run import check_writable
from sim.presets import preset
from sim.progress import compile_kernels, progress_bar

FEW, MANY = 10_000, 1_000_000  # does speed hold from few requests to many?


def main(arguments: argparse.Namespace) -> int:
    """Measure, then print the table or the JSON."""
    check_writable(arguments.json)  # not after the work
    todo = cases(arguments.system, arguments.requests)
    if arguments.requests is None:
        todo += [Case(SATURATED, case.system, FEW) for case in todo if case.preset == SATURATED and is_quoted(case)]
    for case in todo:
        case.scenario()  # refuse what cannot run before the first measurement
    compile_kernels()
    report = report_of(measure_all(todo))
    if not arguments.system:
        report["cold_compile_s"], report["from_cache_s"] = measure_start()
    text = json.dumps(report, indent=2)
    print(text if arguments.json == "-" else as_text(report))
    if arguments.json not in (None, "-"):
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    return 0


def is_quoted(case: Case) -> bool:
    """Whether it is the saturated preset with all its requests, behind the one figure that is quoted."""
    return case.preset == SATURATED and case.requests == preset(SATURATED).workload.num_requests


def measure_all(todo: list[Case]) -> list[Figures]:
    """Every case, one after the other."""
    figures = []
    with progress_bar("measuring") as show:
        for case in todo:
            figures.append(measure(case))
            show(len(figures) / len(todo))
    return figures


def report_of(figures: list[Figures]) -> dict[str, Any]:
    """All figures, and two of the saturated preset's first scheduler: its speed, and how that holds with size."""
    first = next(each.system for each in figures if each.preset == SATURATED)
    saturated = {
        each.requests: each.requests_per_s
        for each in reversed(figures)
        if each.preset == SATURATED and each.system == first
    }
    few, many = saturated.get(FEW), saturated.get(MANY)
    return {
        "requests_per_s": saturated[max(saturated)],
        "many_over_few": many / few if few and many else None,
        "runs": [each._asdict() for each in figures],
    }


COLUMNS = {
    "preset": ("preset", "{}"),
    "system": ("system", "{}"),
    "requests": ("requests", "{:,}"),
    "requests/s": ("requests_per_s", "{:,.0f}"),
    "floor": ("floor_requests_per_s", "{:,}"),
    "steps/s": ("steps_per_s", "{:,.0f}"),
    "block allocations/s": ("block_allocations_per_s", "{:,.0f}"),
    "preempted": ("preempted_share", "{:.1%}"),
    "engine s": ("engine_s", "{:.3f}"),
    "all s": ("simulate_s", "{:.3f}"),
    "peak MB": ("peak_memory_mb", "{:.0f}"),
    "below the floor, because it": ("why_below", "{}"),
}


def as_text(report: dict[str, Any]) -> str:
    """The report as a table."""
    rows = [list(COLUMNS)]
    rows += [[cell(form, run[key]) for key, form in COLUMNS.values()] for run in report["runs"]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for *figures, why in rows:
        shown = "  ".join(text.rjust(width) for text, width in zip(figures, widths, strict=False))
        lines.append(f"{shown}  {why}".rstrip())
    if report["many_over_few"] is not None:
        lines.append(f"{SATURATED}: requests/s at {MANY:,} over {FEW:,} requests: {report['many_over_few']:.2f}")
    if "cold_compile_s" in report:
        cold, cached = report["cold_compile_s"], report["from_cache_s"]
        lines.append(f"Every loop compiled from nothing: {cold:.1f} s; from the cache: {cached:.2f} s.")
    lines.append("Rates are the engine's, with all accounting; `all s` adds drawing the requests and the summary.")
    return "\n".join(lines)


def cell(form: str, value: Any) -> str:
    """A figure as it is shown, a dash for none."""
    return "-" if value is None else form.format(value)
