"""The frontier as a job: point by point beside the page, stopped by the next scenario and by closing the tab."""

import threading
from concurrent.futures import Executor

import streamlit as st
from ui.pool import shared_pool

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.frontier import FrontierPoint, frontier_point, seat_values
from sim.studies.saturated import saturated
from sim.workload import Trace


class FrontierJob:
    """Points of one frontier, in order of the knob, as they come."""

    def __init__(self, scenario: Scenario, trace: Trace | None, pool: Executor) -> None:
        self.points: list[FrontierPoint] = []
        self.problem = ""
        self.is_done = False
        self.stop = threading.Event()
        pool.submit(self._run, scenario, trace)

    def _run(self, scenario: Scenario, trace: Trace | None) -> None:
        """Run one value after the other; each is short, so that `stop` is heard soon."""
        try:
            for value in seat_values(scenario):
                if self.stop.is_set():
                    return
                self.points.append(frontier_point(scenario, value, trace))
        except ScenarioError as error:
            self.problem = str(error)
        except Exception as error:  # a dead worker would look like a slow one
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            self.is_done = True


def frontier_job(scenario: Scenario, trace: Trace | None) -> FrontierJob:
    """The job of a scenario, started where it is new. Its arrivals do not matter: the server never lacks work."""
    full = saturated(scenario)
    return _job(full.model_dump_json(exclude={"about", "slo"}), trace.sha256 if trace else "", full, trace)


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("frontier", max_workers=1)


def _release(job: FrontierJob) -> None:
    job.stop.set()


@st.cache_resource(scope="session", max_entries=8, on_release=_release, show_spinner=False)
def _job(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> FrontierJob:
    return FrontierJob(_scenario, _trace, _pool())
