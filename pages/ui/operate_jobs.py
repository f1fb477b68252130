"""The jobs of Operate: caps, margins, routing, and the target under other lengths."""

from collections.abc import Callable
from typing import Any, TypeVar

from ui.job import Job, kept, start, task

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


@kept()
def cap_job(scenario: Scenario, trace: Trace | None, cap: int) -> Job[CapKey, CapPoint]:
    """The chosen cap with every kind of client, and the scenario's own caps and clients."""
    keys: list[CapKey] = [(None, Retry(scenario.workload.client_retry)), *((cap, retry) for retry in Retry)]
    return start({each: task(cap_point, scenario, *each, trace) for each in keys})


@kept()
def caps_job(scenario: Scenario, trace: Trace | None) -> Job[CapKey, CapPoint]:
    """A row of caps with every kind of client."""
    keys: list[CapKey] = [(each, retry) for retry in Retry for each in reversed(caps_of(scenario))]
    return start({each: task(cap_point, scenario, *each, trace) for each in keys})


@kept()
def margin_job(
    scenario: Scenario, trace: Trace | None, is_saturated: bool
) -> Job[tuple[str, float], MarginPoint | None]:
    """Every value of every control."""
    cells = [(name, value) for name, each in margins_of(scenario).items() for value in values_of(scenario, each)]
    return start({cell: task(_margin, scenario, trace, is_saturated, *cell) for cell in cells})


@kept()
def routing_job(scenario: Scenario, replicas: int) -> Job[str, Parted]:
    """One pool and every split."""
    return start({"parted": task(_parted, scenario, replicas)})


@kept()
def sla_job(scenario: Scenario, trace: Trace | None, factor: float, target: float) -> Job[str, Any]:
    """The target as assumed, as it is, under a longer tail, and what breaks it; a sentence where it is refused."""
    tasks: dict[str, Callable[[], Any]] = {
        sla.AS_IS: task(_or_refusal, sla.attained, scenario, sla.AS_IS, trace),
        TAIL: task(_or_refusal, _with_longer_tail, scenario, trace, factor),
        BREAKING: task(_or_refusal, _breaking, scenario, trace, target),
    }
    if scenario.slo.assumed is not None:
        tasks = {sla.ASSUMED: task(_or_refusal, sla.attained_as_assumed, scenario, trace)} | tasks
    return start(tasks)


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
