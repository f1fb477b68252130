"""`longtail run`: simulate one scenario."""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sim import (
    Result,
    Scenario,
    ScenarioError,
    Trace,
    load_scenario,
    preset,
    preset_names,
    read_trace,
    simulate,
    with_values,
)
from sim.commands.summary_text import as_text
from sim.errors import closest
from sim.options import UsageError
from sim.progress import compile_kernels, note, progress_bar, say
from sim.view.reproduce import Origin


def main(arguments: argparse.Namespace) -> int:
    """Simulate, then write whatever was asked for."""
    from sim.studies.saturated import replayed

    for out in (arguments.json, arguments.report, arguments.requests, arguments.steps):
        check_writable(out)  # not after the work
    found = find_scenario(arguments.scenario)
    scenario = with_values(found, dict(arguments.values))
    scenario, trace = with_trace(scenario, arguments.trace, dict(arguments.values))
    compile_kernels(scenario)
    with progress_bar("simulating") as show:
        rows = replayed(scenario, trace)
        result = simulate(scenario, rows, record_steps=arguments.steps is not None, on_progress=show)
    write(result, arguments)
    if arguments.report:
        with progress_bar("drawing the report") as show:
            write_report(result, trace, Origin(arguments.scenario, found), arguments.report, show)
    return 0


def write_report(
    result: Result, trace: Trace | None, origin: Origin, out: Path, on_progress: Callable[[float], None]
) -> None:
    """The run as one HTML file, its load curve included."""
    from sim.studies.load_curve import load_points
    from sim.view.report import report
    from sim.view.run_view import view_of

    points = load_points(result.scenario, trace, on_progress=on_progress)
    out.write_text(report(view_of(result, trace), origin, points), encoding="utf-8")


def check_writable(out: str | Path | None) -> None:
    """Refuse a file that is a folder, or in a folder that does not exist."""
    if out is None or out == "-":
        return
    if not Path(out).parent.is_dir():
        raise UsageError(f"{out} cannot be written: there is no folder {Path(out).parent}")
    if Path(out).is_dir():
        raise UsageError(f"{out} cannot be written: it is a folder")


def with_trace(scenario: Scenario, path: Path | None, values: Mapping[str, Any]) -> tuple[Scenario, Trace | None]:
    """The trace in a file, and the scenario with a record of which one it is.

    The trace brings its arrivals, where it has some, unless others were asked for: by `values`, those of the command
    line, or by a scenario that names a trace of its own.
    """
    named = scenario.workload.trace_file
    if path is None:
        if named is not None:
            raise ScenarioError(f"workload.trace_file is '{named.name}'; the file is needed too, with --trace")
        return scenario, None
    trace = read_trace(path)
    for sentence in trace.notes:
        note(sentence)
    if named is not None and named.sha256 != trace.sha256:
        note(f"{trace.name} is not the trace that the scenario names ({named.name}): other content")
    changed: dict[str, Any] = {"workload.trace_file": {"name": trace.name, "sha256": trace.sha256, "rows": len(trace)}}
    is_asked = named is not None or any(path.startswith("workload.arrivals") for path in values)
    if trace.arrival_s is not None and not is_asked:
        changed["workload.arrivals"] = {"kind": "trace"}
    return with_values(scenario, changed), trace


def find_scenario(name: str) -> Scenario:
    """The scenario in a file, or the preset of that name."""
    if Path(name).is_file() or Path(name).name != name or Path(name).suffix:
        return load_scenario(Path(name))
    known = preset_names()
    if name not in known:
        raise ScenarioError(f"SCENARIO is '{name}', neither a file nor a preset; closest are {closest(name, known)}")
    return preset(name)


def write(result: Result, arguments: argparse.Namespace) -> None:
    """Summary to standard output or a file, tables to theirs."""
    summary = result.summary()
    text = json.dumps(summary, indent=2, allow_nan=False)
    say(text if arguments.json == "-" else as_text(summary))
    if arguments.json not in (None, "-"):
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    trust = summary["step_time"]["text"]  # a table travels without its summary, so every row says it
    if arguments.requests:
        result.requests.assign(step_time=trust).to_csv(arguments.requests)
    if arguments.steps and result.steps is not None:
        result.steps.assign(step_time=trust).to_csv(arguments.steps)
