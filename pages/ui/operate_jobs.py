"""The jobs of Operate: caps, margins, routing, and the target under other lengths."""

from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st
from ui.job import Job, release, start, task

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies import routing, sla
from sim.studies.caps import CapPoint, cap_point, caps_of
from sim.studies.margins import MarginPoint, margin_point, margins_of, values_of
from sim.studies.routing import Split
from sim.workload import Trace
from sim.workload.retries import Retry

V = TypeVar("V")

CapKey = tuple[int | None, Retry]
Parted = tuple[Split, list[tuple[tuple[int, ...], Split]]]
TAIL, BREAKING = "longer tail", "breaking"


def cap_job(scenario: Scenario, trace: Trace | None, cap: int) -> Job[CapKey, CapPoint]:
    """The chosen cap with every kind of client, and no cap."""
    return _cap(_key(scenario), _sha256(trace), cap, scenario, trace)


def caps_job(scenario: Scenario, trace: Trace | None) -> Job[CapKey, CapPoint]:
    """A row of caps with every kind of client."""
    return _caps(_key(scenario), _sha256(trace), scenario, trace)


def margin_job(
    scenario: Scenario, trace: Trace | None, is_saturated: bool
) -> Job[tuple[str, float], MarginPoint | None]:
    """Every value of every control."""
    return _margins(_key(scenario), _sha256(trace), is_saturated, scenario, trace)


def routing_job(scenario: Scenario, replicas: int) -> Job[str, Parted]:
    """One pool and every split."""
    return _routing(_key(scenario), replicas, scenario)


def sla_job(scenario: Scenario, trace: Trace | None, factor: float, target: float) -> Job[str, Any]:
    """The target as assumed, as it is, under a longer tail, and what breaks it; a sentence where it is refused."""
    return _sla(_key(scenario), _sha256(trace), factor, target, scenario, trace)


def _key(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude={"about"})


def _sha256(trace: Trace | None) -> str:
    return trace.sha256 if trace else ""


def _or_refusal(function: Callable[..., V], *arguments: object) -> V | str:
    try:
        return function(*arguments)
    except ScenarioError as error:
        return str(error)


def _with_longer_tail(scenario: Scenario, trace: Trace | None, factor: float) -> sla.Attained:
    return sla.attained(scenario, f"tail {factor:g} x longer", trace, factor=factor)


def _breaking(scenario: Scenario, trace: Trace | None, target: float) -> sla.Breaking:
    return sla.breaking(scenario, target, trace)


def _margin(scenario: Scenario, trace: Trace | None, is_saturated: bool, key: str, value: float) -> MarginPoint | None:
    return margin_point(scenario, margins_of(scenario)[key], value, trace, is_saturated=is_saturated)


def _parted(scenario: Scenario, replicas: int) -> Parted:
    routing.check(scenario)
    ways = routing.splits(scenario, replicas)
    return routing.together(scenario, replicas), [(dealt, routing.apart(scenario, dealt)) for dealt in ways]


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _cap(key: str, sha256: str, cap: int, _scenario: Scenario, _trace: Trace | None) -> Job[CapKey, CapPoint]:
    keys: list[CapKey] = [(None, Retry.NEVER), *((cap, retry) for retry in Retry)]
    return start({each: task(cap_point, _scenario, *each, _trace) for each in keys})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _caps(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job[CapKey, CapPoint]:
    keys: list[CapKey] = [(each, retry) for retry in Retry for each in reversed(caps_of(_scenario))]
    return start({each: task(cap_point, _scenario, *each, _trace) for each in keys})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _margins(
    key: str, sha256: str, is_saturated: bool, _scenario: Scenario, _trace: Trace | None
) -> Job[tuple[str, float], MarginPoint | None]:
    cells = [(name, value) for name, each in margins_of(_scenario).items() for value in values_of(_scenario, each)]
    return start({cell: task(_margin, _scenario, _trace, is_saturated, *cell) for cell in cells})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _routing(key: str, replicas: int, _scenario: Scenario) -> Job[str, Parted]:
    return start({"parted": task(_parted, _scenario, replicas)})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _sla(
    key: str, sha256: str, factor: float, target: float, _scenario: Scenario, _trace: Trace | None
) -> Job[str, Any]:
    tasks: dict[str, Callable[[], Any]] = {
        sla.AS_IS: task(_or_refusal, sla.attained, _scenario, sla.AS_IS, _trace),
        TAIL: task(_or_refusal, _with_longer_tail, _scenario, _trace, factor),
        BREAKING: task(_or_refusal, _breaking, _scenario, _trace, target),
    }
    if _scenario.slo.assumed is not None:
        tasks = {sla.ASSUMED: task(_or_refusal, sla.attained_as_assumed, _scenario, _trace)} | tasks
    return start(tasks)
