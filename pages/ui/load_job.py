"""The load curve as a job: point by point beside the page, stopped by the next scenario and by closing the tab."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import streamlit as st

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.load_curve import LoadPoint, full_load, loads, point
from sim.workload import Trace

HEAD_START_S = 0.15  # the page's own run comes first


class Job:
    """Points of one load curve, as they come."""

    def __init__(self, scenario: Scenario, trace: Trace | None) -> None:
        self.scenario, self.trace = scenario, trace
        self.loads: tuple[float, ...] = ()
        self.points: list[LoadPoint] = []
        self.problem = ""
        self.is_done = False
        self.stop = threading.Event()

    def work(self) -> None:
        """Run the points; each is short, so that `stop` is heard soon."""
        try:
            if self.stop.wait(HEAD_START_S):
                return
            self.loads = loads(self.scenario, self.trace)
            full = full_load(self.scenario, self.loads)
            for load in self.loads:
                if self.stop.is_set():
                    return
                self.points.append(point(self.scenario, load, self.trace, full_load=full))
        except ScenarioError as error:
            self.problem = str(error)
        except Exception as error:  # a dead worker would look like a slow one
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            self.is_done = True


def load_job(scenario: Scenario, trace: Trace | None) -> Job:
    """The job of the scenario on screen, started where it is new."""
    return _current(_key(scenario), trace.sha256 if trace else "", scenario, trace)


def pinned_load_job(scenario: Scenario, trace: Trace | None) -> Job:
    """The job of the pinned run."""
    return _pinned(_key(scenario), trace.sha256 if trace else "", scenario, trace)


def _key(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude={"about", "slo"})


@st.cache_resource
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="load-curve")


def _start(scenario: Scenario, trace: Trace | None) -> Job:
    job = Job(scenario, trace)
    _pool().submit(job.work)
    return job


def _release(job: Job) -> None:
    job.stop.set()


@st.cache_resource(scope="session", max_entries=1, on_release=_release, show_spinner=False)
def _current(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job:
    return _start(_scenario, _trace)


@st.cache_resource(scope="session", max_entries=1, on_release=_release, show_spinner=False)
def _pinned(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job:
    return _start(_scenario, _trace)
