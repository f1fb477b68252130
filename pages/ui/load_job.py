"""The load curve as a job: point by point beside the page."""

from concurrent.futures import Executor

import streamlit as st
from ui.job import Job, release, task
from ui.pool import shared_pool

from sim.scenario import Scenario
from sim.studies.load_curve import LoadPoint, full_load, loads, point, without_load
from sim.workload import Trace

HEAD_START_S = 0.25  # the page itself comes first, in the browser too


class LoadJob(Job[float, LoadPoint]):
    """Points of one load curve, by load, as they come."""

    def __init__(self, scenario: Scenario, trace: Trace | None, pool: Executor) -> None:
        super().__init__({}, pool, head_start_s=HEAD_START_S)
        self.loads: tuple[float, ...] = ()
        self._hand_out(task(self._prepare, scenario, trace))

    @property
    def points(self) -> list[LoadPoint]:
        """Those that are there."""
        return list(self.found.values())

    def _prepare(self, scenario: Scenario, trace: Trace | None) -> None:
        """Find the loads and hand out the points."""
        self.loads = loads(scenario, trace)
        full = full_load(scenario, self.loads)
        self.add({load: task(point, scenario, load, trace, full_load=full) for load in self.loads})


def load_job(scenario: Scenario, trace: Trace | None) -> LoadJob:
    """The job of the scenario on screen, started where it is new."""
    return _current(_key(scenario), trace.sha256 if trace else "", scenario, trace)


def pinned_load_job(scenario: Scenario, trace: Trace | None) -> LoadJob:
    """The job of the pinned run."""
    return _pinned(_key(scenario), trace.sha256 if trace else "", scenario, trace)


def curve_key(scenario: Scenario) -> str:
    """Equal for scenarios that have the same load curve: load and limits do not matter."""
    return _key(without_load(scenario))


def _key(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude={"about", "slo"})


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("load-curve")


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _current(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> LoadJob:
    return LoadJob(_scenario, _trace, _pool())


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _pinned(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> LoadJob:
    return LoadJob(_scenario, _trace, _pool())
