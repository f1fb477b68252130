"""The frontier as a job: one value of the knob after the other beside the page."""

from concurrent.futures import Executor

import streamlit as st
from ui.job import Job, release, task
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
    full = saturated(scenario)
    return _job(full.model_dump_json(exclude={"about", "slo"}), trace.sha256 if trace else "", full, trace)


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("frontier", max_workers=1)  # one after the other


@st.cache_resource(scope="session", max_entries=8, on_release=release, show_spinner=False)
def _job(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> FrontierJob:
    return FrontierJob(_scenario, _trace, _pool())
