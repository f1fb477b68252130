"""The frontier as a job: one value of the knob after the other beside the page."""

from concurrent.futures import Executor

import streamlit as st
from ui.job import Job, kept, task
from ui.pool import shared_pool

from sim.scenario import Scenario
from sim.studies.frontier import FrontierPoint, frontier_point, seat_values
from sim.studies.saturated import saturated
from sim.workload import Trace


class FrontierJob(Job[int, FrontierPoint]):
    """Points of one frontier, by value of the knob and in its order, as they come."""

    def __init__(self, scenario: Scenario, trace: Trace | None, pool: Executor) -> None:
        super().__init__({}, pool, head_start_s=0.0)
        self._hand_out(task(self._prepare, scenario, trace))

    @property
    def points(self) -> list[FrontierPoint]:
        """Those that are there."""
        return list(self.found.values())

    def _prepare(self, scenario: Scenario, trace: Trace | None) -> None:
        """Hand out the points."""
        self.add({value: task(frontier_point, scenario, value, trace) for value in seat_values(scenario)})


def frontier_job(scenario: Scenario, trace: Trace | None) -> FrontierJob:
    """The job of a scenario, started where it is new. Its arrivals do not matter: the server never lacks work."""
    return _job(saturated(scenario), trace)


@kept(max_entries=8, ignoring={"about", "slo"})
def _job(scenario: Scenario, trace: Trace | None) -> FrontierJob:
    return FrontierJob(scenario, trace, _pool())


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("frontier", max_workers=1)  # one after the other
