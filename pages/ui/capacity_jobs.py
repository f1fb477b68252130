"""The jobs of Capacity: the search itself, replication by replication, and what else the service could be."""

from collections.abc import Callable

import streamlit as st
from ui.job import Job, release, start, task
from ui.pool import page_waits

from sim.scenario import Scenario
from sim.studies.alternatives import Alternative, WhatIf, light_search, tried, what_ifs
from sim.studies.capacity import replications
from sim.studies.capacity_search import Searched, Server, search_long_enough
from sim.studies.deployments import fitting, named
from sim.workload import Trace

LIGHT = "light"  # the base once more, as alternatives are searched
PATIENCE_S = 0.3  # of a page for its verdict: drawing the page again would take longer


def base_job(scenario: Scenario, trace: Trace | None, share: float) -> Job[int | str, Searched]:
    """The chosen deployment, started where it is new; by replication, and `LIGHT`."""
    return _base(_key(scenario), _sha256(trace), share, scenario, trace)


def searched(job: Job[int | str, Searched]) -> list[Searched]:
    """Replications of the chosen deployment that are there, in order."""
    return [each for name, each in sorted(job.found.items(), key=str) if name != LIGHT]


def is_found(job: Job[int | str, Searched]) -> bool:
    """Whether every replication of the chosen deployment has been searched; a moment's wait for that."""
    with page_waits():
        return job.wait(PATIENCE_S)


def what_if_job(
    scenario: Scenario, trace: Trace | None, share: float, cap: int, factor: float
) -> Job[str, Alternative]:
    """Other answers, by name."""
    return _what_if(_key(scenario), _sha256(trace), share, cap, factor, scenario, trace)


def deployment_job(
    scenario: Scenario, trace: Trace | None, share: float, gpus: tuple[str, ...]
) -> Job[str, Alternative]:
    """Other deployments, by name."""
    return _deployments(_key(scenario), _sha256(trace), share, gpus, scenario, trace)


def _key(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude={"about"})


def _sha256(trace: Trace | None) -> str:
    return trace.sha256 if trace else ""


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _base(key: str, sha256: str, share: float, _scenario: Scenario, _trace: Trace | None) -> Job[int | str, Searched]:
    server = Server(_scenario, _trace, share)
    tasks: dict[int | str, Callable[[], Searched]] = {
        i: task(search_long_enough, server, i) for i in range(replications(_scenario))
    }
    return start(tasks | {LIGHT: task(light_search, _scenario, _trace, share)}, head_start_s=0)


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _what_if(
    key: str, sha256: str, share: float, cap: int, factor: float, _scenario: Scenario, _trace: Trace | None
) -> Job[str, Alternative]:
    changed: list[WhatIf] = what_ifs(_scenario, _trace, cap=cap, factor=factor)
    return start({each.name: task(tried, each.scenario, each.trace, share, each.without) for each in changed})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _deployments(
    key: str, sha256: str, share: float, gpus: tuple[str, ...], _scenario: Scenario, _trace: Trace | None
) -> Job[str, Alternative]:
    return start({named(each): task(tried, each, _trace, share) for each in fitting(_scenario, gpus)[1:]})
