"""The load curve as a job: point by point beside the page, stopped by the next scenario and by closing the tab."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

import streamlit as st
from ui.pool import shared_pool

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.load_curve import LoadPoint, full_load, loads, point, without_load
from sim.workload import Trace

HEAD_START_S = 0.25  # the page itself comes first, in the browser too


class Job:
    """Points of one load curve, as they come."""

    def __init__(self, scenario: Scenario, trace: Trace | None, pool: Executor) -> None:
        self.scenario, self.trace, self.pool = scenario, trace, pool
        self.loads: tuple[float, ...] = ()
        self.points: list[LoadPoint] = []
        self.problem = ""
        self.stop = threading.Event()
        self._left = 1  # tasks handed to the pool and not finished: at first the one that finds the loads
        self._lock = threading.Lock()
        pool.submit(self._run, self._prepare)

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""
        return self._left == 0

    def _prepare(self) -> None:
        """Find the loads and hand out the points."""
        if self.stop.wait(HEAD_START_S):
            return
        self.loads = loads(self.scenario, self.trace)
        full = full_load(self.scenario, self.loads)
        with self._lock:
            self._left += len(self.loads)
        for load in self.loads:
            self.pool.submit(self._run, partial(self._add_point, load, full))

    def _add_point(self, load: float, full: float) -> None:
        """Run one point; each is short, so that `stop` is heard soon."""
        found = point(self.scenario, load, self.trace, full_load=full)
        self.points.append(found)

    def _run(self, task: Callable[[], None]) -> None:
        try:
            if not self.stop.is_set():
                task()
        except ScenarioError as error:
            self.problem = str(error)
        except Exception as error:  # a dead worker would look like a slow one
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            with self._lock:
                self._left -= 1


def load_job(scenario: Scenario, trace: Trace | None) -> Job:
    """The job of the scenario on screen, started where it is new."""
    return _current(_key(scenario), trace.sha256 if trace else "", scenario, trace)


def pinned_load_job(scenario: Scenario, trace: Trace | None) -> Job:
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


def _start(scenario: Scenario, trace: Trace | None) -> Job:
    return Job(scenario, trace, _pool())


def _release(job: Job) -> None:
    job.stop.set()


@st.cache_resource(scope="session", max_entries=1, on_release=_release, show_spinner=False)
def _current(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job:
    return _start(_scenario, _trace)


@st.cache_resource(scope="session", max_entries=1, on_release=_release, show_spinner=False)
def _pinned(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job:
    return _start(_scenario, _trace)
