"""The load curve as a job: point by point beside the page."""

from concurrent.futures import Executor

import streamlit as st
from ui.job import Job, kept, task
from ui.pool import shared_pool

from sim.scenario import Scenario
from sim.studies.load_curve import LoadPoint, full_load, loads, point, without_load
from sim.workload import Trace

HEAD_START_S = 0.25  # the page itself comes first, in the browser too
NO_MATTER = {"about", "slo"}  # to a load curve


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


@kept(ignoring=NO_MATTER)
def load_job(scenario: Scenario, trace: Trace | None) -> LoadJob:
    """The job of the scenario on screen, started where it is new."""
    return LoadJob(scenario, trace, _pool())


@kept(ignoring=NO_MATTER)
def pinned_load_job(scenario: Scenario, trace: Trace | None) -> LoadJob:
    """The job of the pinned run."""
    return LoadJob(scenario, trace, _pool())


def curve_key(scenario: Scenario) -> str:
    """Equal for scenarios that have the same load curve: load and limits do not matter."""
    return without_load(scenario).model_dump_json(exclude=NO_MATTER)


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("load-curve")
