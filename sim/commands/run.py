"""`longtail run`: simulate one scenario."""

import argparse
import json
from pathlib import Path
from typing import Any

from sim import Result, Scenario, ScenarioError, load_scenario, preset, preset_names, read_trace, simulate, with_values
from sim.errors import closest
from sim.progress import compile_kernels, progress_bar


def main(arguments: argparse.Namespace) -> int:
    """Simulate, then write whatever was asked for."""
    scenario = with_values(find_scenario(arguments.scenario), dict(arguments.values))
    trace = read_trace(arguments.trace) if arguments.trace else None
    compile_kernels()
    with progress_bar("simulating") as show:
        result = simulate(scenario, trace, record_steps=arguments.steps is not None, on_progress=show)
    write(result, arguments)
    return 0


def find_scenario(name: str) -> Scenario:
    """The scenario in a file, or the preset of that name."""
    if Path(name).is_file() or Path(name).name != name or Path(name).suffix:
        return load_scenario(Path(name))
    known = preset_names()
    if name not in known:
        raise ScenarioError(f"SCENARIO is '{name}', neither a file nor a preset; presets are {closest(name, known)}")
    return preset(name)


def write(result: Result, arguments: argparse.Namespace) -> None:
    """Summary to a file or standard output, tables to theirs."""
    print(as_json(result) if arguments.json == "-" else as_text(result))
    if arguments.json not in (None, "-"):
        Path(arguments.json).write_text(as_json(result) + "\n", encoding="utf-8")
    if arguments.requests:
        result.requests_frame().to_csv(arguments.requests, index_label="request")
    if arguments.steps:
        result.steps_frame().to_csv(arguments.steps, index=False)
