"""`longtail systems`: every scheduler with what it knows, reserves and reads."""

import argparse
import json
import textwrap
from pathlib import Path
from typing import Any

from sim.commands.run import check_writable
from sim.part import Part
from sim.scheduler_spec import Scheduler
from sim.systems import IDEAS, MEANING, System, system_names
from sim.systems import system as system_of
from sim.systems.knobs_read import NEEDS
from sim.systems.predictors import own_predictor

WIDTH = 110
FACT, KNOB = 14, 38  # columns where what is said of a fact, or of a knob, begins


def main(arguments: argparse.Namespace) -> int:
    """Print the schedulers, or write them as JSON."""
    check_writable(arguments.json)
    chosen = [system_of(name) for name in arguments.name or system_names()]
    rows = [as_row(each) for each in chosen]
    text = json.dumps(rows, indent=2)
    if arguments.json == "-":
        print(text)
        return 0
    if arguments.json:
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    print("\n\n".join(as_text(row) for row in rows) if arguments.name else as_list(rows))
    return 0


def as_row(system: System) -> dict[str, Any]:
    """Everything there is to say of a scheduler, as JSON holds it."""
    return {
        "name": system.name,
        "title": system.title,
        "idea": system.idea,
        "source": system.source,
        "knows": system.knows,
        "reserves": system.reserves,
        "gives_way": system.gives_way,
        "choices": vars(system.choices),
        "knobs": knobs_of(system),
        "max_num_seqs": system.seats,
        "max_num_batched_tokens": system.budget,
        "predictor": own_predictor(system.name) if system.reads_predictor else None,
    }


def knobs_of(system: System) -> dict[str, Any]:
    """Fields of a scheduler that the system reads besides its limits, with their defaults."""
    found: dict[str, Any] = {}
    for knob in system.knobs:
        part = Scheduler.model_fields[knob].annotation
        if isinstance(part, type) and issubclass(part, Part):
            found |= {f"{knob}.{name}": field.default for name, field in part.model_fields.items()}
        else:
            found[knob] = default_of(system, knob)
    return found


def default_of(system: System, knob: str) -> Any:
    """Where a knob stands for this system when nobody sets it."""
    if knob == "watermark":
        return system.watermark
    if knob in ("batching", "prefill", "reserve", "order", "victim"):
        return getattr(system.choices, knob)
    if knob == "preemption_mode":
        return system.choices.eviction
    default = Scheduler.model_fields[knob].default
    if default is None and knob == "quantum_ms":
        return 1000 * system.details["quantum_s"]
    return system.details.get(knob) if default is None else default


def as_list(rows: list[dict[str, Any]]) -> str:
    """All schedulers by idea, four lines each."""
    lines = []
    for idea in IDEAS:
        if mine := [row for row in rows if row["idea"] == idea]:
            lines += [idea.upper(), ""]
            for row in mine:
                lines += [f"{row['name']}: {row['title']}", *facts(row, short=True), ""]
    lines.append("`longtail systems NAME` has each of the five choices, and every knob with its default.")
    return "\n".join(lines)


def as_text(row: dict[str, Any]) -> str:
    """One scheduler in full."""
    lines = [f"{row['name']}: {row['title']} ({row['idea']})", *facts(row, short=False), "", "choices"]
    for name, value in row["choices"].items():
        lines += wrapped(name, f"{value}: {MEANING[name][value]}")
    lines += ["", "knobs and defaults"]
    lines += wrapped("max_num_seqs", limit_text(row["max_num_seqs"]), KNOB)
    lines += wrapped("max_num_batched_tokens", limit_text(row["max_num_batched_tokens"]), KNOB)
    for knob, default in row["knobs"].items():
        needed = f"; read with {' or '.join(NEEDS[knob])}" if knob in NEEDS and not has_any(row, NEEDS[knob]) else ""
        lines += wrapped(knob, f"{text_of(default)}{needed}", KNOB)
    return "\n".join(lines)


def facts(row: dict[str, Any], *, short: bool) -> list[str]:
    """Source, knowledge, reservation, victim; and the knobs by name where they are not listed below."""
    predictor = row["predictor"]
    lines = wrapped("source", row["source"])
    lines += wrapped("knows", row["knows"])
    if predictor is not None:
        fields = ", ".join(f"{name} {value}" for name, value in predictor.items())
        lines += wrapped("predictor", f"the scenario's; where it names none: {fields}")
    lines += wrapped("reserves", row["reserves"])
    lines += wrapped("gives way", row["gives_way"])
    if short and row["knobs"]:
        lines += wrapped("knobs", ", ".join(f"{knob} {text_of(value)}" for knob, value in row["knobs"].items()))
    return lines


def has_any(row: dict[str, Any], values: tuple[str, ...]) -> bool:
    """Whether one of these is among the system's own choices."""
    return bool(set(values) & set(row["choices"].values()))


def limit_text(limit: int | str | None) -> str:
    """Default of a limit in words."""
    words = {None: "by the GPU", "context": "the longest sequence", "batch": "no limit"}
    return f"{limit:,}" if isinstance(limit, int) else words[limit]


def text_of(value: Any) -> str:
    """A default as one types it."""
    return "none" if value is None else json.dumps(value).strip('"')


def wrapped(name: str, words: str, column: int = FACT) -> list[str]:
    """A name and what is said of it, in lines of a terminal's width."""
    indent = f"  {name} ".ljust(column)
    return textwrap.wrap(words, WIDTH, initial_indent=indent, subsequent_indent=" " * len(indent))
