"""One immutable value that describes a run, and its JSON file."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from sim.arrivals_spec import ARRIVAL_KINDS
from sim.errors import ScenarioError, closest, shown
from sim.lengths_spec import LENGTH_KINDS
from sim.part import Number, Part, Whole
from sim.predictor_spec import Predictor
from sim.scheduler_spec import Scheduler
from sim.system_spec import Cost, Deployment, Slo
from sim.workload_spec import Workload

__all__ = ["VERSION", "About", "Scenario", "ScenarioError", "load_scenario", "save", "scenario_of_json", "with_values"]

VERSION = 1

# How files of older versions become files of the next: {version: values of it -> values of version + 1}.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

KINDS: dict[str, dict[str, type[Part]]] = {"arrivals": ARRIVAL_KINDS, "prompt": LENGTH_KINDS, "output": LENGTH_KINDS}


class About(Part):
    """What a scenario is for, in words."""

    title: str = Field(default="", max_length=80, description="Short name.")
    question: str = Field(default="", max_length=300, description="The question it answers.")
    reading: str = Field(default="", max_length=600, description="What to expect, and where to look.")
    source: str = Field(default="", max_length=300, description="Where its figures come from.")
    tags: tuple[str, ...] = Field(default=(), max_length=16, description="Words to group scenarios by.")


class Scenario(Part):
    """Everything that determines a run, apart from the rows of a trace file.

    Same scenario, same version, same result on any machine.

    Raises
    ------
    ScenarioError
        With one sentence that names the field, the value and the limit.
    """

    version: Literal[1] = 1
    about: About = About()
    deployment: Deployment = Deployment()
    workload: Workload = Workload()
    predictor: Predictor = Predictor()
    scheduler: Scheduler = Scheduler()
    slo: Slo = Slo()
    cost: Cost = Cost()
    seed: Whole = Field(
        default=0, ge=0, le=2**31 - 1, description="Another seed, other requests from the same distributions."
    )
    replications: Whole = Field(default=5, ge=1, le=100, description="Runs of a study with different random numbers.")
    max_sim_time_s: Number | None = Field(
        default=None, gt=0, le=1e9, description="Stop here. None: run until all is finished."
    )
    tail_quantile: Number = Field(
        default=0.95, ge=0.5, le=0.999, description="Requests with an output above this quantile are the stragglers."
    )


def scenario_of_json(text: str | bytes, name: str = "scenario") -> Scenario:
    """The scenario in a JSON text, migrated from older versions.

    Parameters
    ----------
    text : str or bytes
        JSON; bytes in UTF-8, or in UTF-16 as some editors write it, with or without a byte-order mark.
    name : str
        What to call the text in sentences, such as the file's name.

    Raises
    ------
    ScenarioError
        Broken JSON (with the line), a missing or unknown version, or values that are refused.
    """
    try:
        values = json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise ScenarioError(f"{name} is not a text file; a scenario is JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ScenarioError(
            f"{name} is not JSON: line {error.lineno}, column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
        ) from None
    except ValueError as error:  # from parse_constant
        raise ScenarioError(f"{name} is not JSON: {error}") from None
    except RecursionError:
        raise ScenarioError(f"{name} is nested too deeply; a scenario has at most six levels") from None
    if not isinstance(values, dict):
        raise ScenarioError(f"{name} holds {shown(values)}; an object with named fields is needed")
    return Scenario(**_migrated(values))


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number it can hold")


def _migrated(values: dict[str, Any]) -> dict[str, Any]:
    """Values in the form of the present version."""
    while (version := values.get("version")) != VERSION or isinstance(version, bool | float):
        if "version" not in values:
            raise ScenarioError(f"version is missing; a scenario file says which it is, now {VERSION}")
        if not isinstance(version, int) or version not in MIGRATIONS:
            known = ", ".join(str(each) for each in [*MIGRATIONS, VERSION])
            raise ScenarioError(f"version is {shown(version)}; this release reads {known}")
        values = MIGRATIONS[version](values) | {"version": version + 1}
    return values


def load_scenario(path: str | Path) -> Scenario:
    """The scenario in a JSON file.

    Raises
    ------
    ScenarioError
        The file cannot be read, or what `scenario_of_json` refuses.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    return scenario_of_json(text, str(path))


def save(scenario: Scenario, path: str | Path) -> None:
    """Write a scenario, with every field, as a JSON file."""
    Path(path).write_text(scenario.model_dump_json(indent=2) + "\n", encoding="utf-8")


def with_values(scenario: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario with some fields changed.

    Parameters
    ----------
    scenario : Scenario
        Left as it is.
    values : mapping
        By dotted path; a list takes an index: `{"workload.types.0.cap": 500}`. A text for a field that does not
        hold one is read as JSON where it is JSON, as on the command line. A new `kind` of arrivals or lengths
        keeps the fields that both kinds have; the others are to be given as well.

    Raises
    ------
    ScenarioError
        An unknown path, or a value that is refused.
    """
    changed: dict[str, Any] = scenario.model_dump(mode="json")
    for path in sorted(values, key=lambda path: not path.endswith(".kind")):  # kinds first: they decide the fields
        _put(changed, path, values[path])
    return Scenario(**changed)


def _put(values: dict[str, Any], path: str, value: object) -> None:
    """Write one value at its dotted path into plain dicts and lists."""
    *parents, last = path.split(".")
    holder: Any = values
    for depth, part in enumerate(parents):
        slot = _slot(holder, part, path, parents[:depth])
        if holder[slot] is None:
            holder[slot] = {}  # a part that was left out, such as slo.assumed
        holder = holder[slot]
    slot = _slot(holder, last, path, parents, is_new_allowed=True)
    value = _read(value, holder[slot] if isinstance(holder, list) else holder.get(slot))
    if last == "kind" and parents and parents[-1] in KINDS:
        _drop_foreign_fields(holder, KINDS[parents[-1]].get(str(value)))
    holder[slot] = value


def _slot(holder: object, part: str, path: str, above: list[str], *, is_new_allowed: bool = False) -> Any:
    """Key or index of `part` in a dict or list; a new key is left for the scenario to judge."""
    where = ".".join(above) or "scenario"
    if isinstance(holder, dict):
        if part in holder or is_new_allowed:
            return part
        raise ScenarioError(f"{path} is not a known field; {where} has {closest(part, holder)}")
    if not isinstance(holder, list):
        raise ScenarioError(f"{path} is not a known field; {where} holds no fields")
    if not part.isdecimal() or int(part) >= len(holder):
        raise ScenarioError(f"{path} is not a known field; {where} takes an index from 0 to {len(holder) - 1}")
    return int(part)


def _read(value: object, present: object) -> object:
    """A text as the JSON it holds, unless it replaces a text."""
    if not isinstance(value, str) or isinstance(present, str):
        return value
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return int(found) if isinstance(found, float) and found.is_integer() else found  # 1e3 is a thousand


def _drop_foreign_fields(holder: dict[str, Any], kind: type[Part] | None) -> None:
    """Forget the fields of the former kind that the new one does not have."""
    for name in list(holder):
        if kind and name not in kind.model_fields:
            del holder[name]
