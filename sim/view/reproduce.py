"""How to make the same run elsewhere: one command, or a few lines of Python."""

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.keys import departures
from sim.presets import preset, preset_names
from sim.scenario import Scenario

NOT_OF_THE_RUN = ("about", "workload.trace_file")  # words, and what --trace says


class Origin(NamedTuple):
    """What a run departs from: a preset, or a scenario file."""

    name: str  # of the preset or the file, as `longtail run` takes it
    scenario: Scenario

    @property
    def is_preset(self) -> bool:
        """Whether everybody has it."""
        return self.name in preset_names()


def of_preset(name: str) -> Origin:
    """The preset of that name."""
    return Origin(name, preset(name))


def departures_of_run(scenario: Scenario, origin: Origin) -> dict[str, Any]:
    """Fields in which a run departs from where it started, by dotted path; words about it left aside.

    A trace brings its arrivals, so other ones are always named beside it.
    """
    changed = {
        path: value
        for path, value in departures(scenario, origin.scenario).items()
        if not path.startswith(NOT_OF_THE_RUN)
    }
    if _has_lengths_alone(scenario) and not any(path.startswith("workload.arrivals") for path in changed):
        changed["workload.arrivals.kind"] = scenario.workload.arrivals.kind
    return changed


def _has_lengths_alone(scenario: Scenario) -> bool:
    """Whether a trace gives its lengths, and the scenario says when they come."""
    return scenario.workload.trace_file is not None and scenario.workload.arrivals.kind != "trace"


def run_command(scenario: Scenario, origin: Origin, out: str = "") -> str:
    """The `longtail run` that makes the run again.

    Parameters
    ----------
    scenario : Scenario
        As it was run.
    origin : Origin
        What it departs from.
    out : str
        A report to write.
    """
    words = ["longtail", "run", origin.name]
    if (file := scenario.workload.trace_file) is not None:
        words += ["--trace", file.name]
    for path, value in departures_of_run(scenario, origin).items():
        words += ["--set", f"{path}={_argument(value)}"]
    return shlex.join([*words, "--report", out] if out else words)


def notebook_lines(scenario: Scenario, origin: Origin) -> str:
    """Python that makes the run again, for a notebook or a script."""
    changed = departures_of_run(scenario, origin)
    file = scenario.workload.trace_file
    reader = "preset" if origin.is_preset else "load_scenario"
    rows = f"read_trace({file.name!r}){'.without_arrivals()' * _has_lengths_alone(scenario)}" if file else ""
    named = ", ".join([reader, *(["read_trace"] if file else []), "simulate", *(["with_values"] if changed else [])])
    base = f"{reader}({origin.name!r})"
    return "\n".join(
        [
            f"from sim import {named}",
            "",
            f"scenario = with_values({base}, {_literal(changed)})" if changed else f"scenario = {base}",
            f"result = simulate(scenario, {rows})" if file else "result = simulate(scenario)",
            'result.summary()["metrics"]  # result.requests, result.over_time and result.ledger hold the rest',
        ]
    )


def _argument(value: object) -> str:
    """A value as `--set` reads it."""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _literal(values: Mapping[str, Any]) -> str:
    """A dict as Python writes it, a line for each entry."""
    return "{\n" + "".join(f"    {path!r}: {value!r},\n" for path, value in values.items()) + "}"
