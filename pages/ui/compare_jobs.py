"""The job of Schedulers: each chosen one as asked, then against load."""

import math
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import streamlit as st
from ui.job import Job, kept, task
from ui.pool import page_waits, shared_pool

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies import compare
from sim.studies.compare import Compared, Row
from sim.studies.load_curve import full_load, loads, without_load
from sim.workload import Trace

Key = tuple[str, float]  # scheduler and load
Found = Row | Compared | float | None
PATIENCE_S = 0.5
AS_ASKED, REACH = 0.0, -1.0  # in place of a load: the run as asked, and the largest load within the limits


class CompareJob(Job[Key, Found]):
    """Runs as asked first, in the order chosen, then load by load from the highest down, then how far each gets."""

    def __init__(
        self, scenario: Scenario, trace: Trace | None, names: tuple[str, ...], pool: Executor, *, same_limits: bool
    ) -> None:
        self.loads: tuple[float, ...] = ()
        self._is_prepared = False
        self._ceilings: dict[str, float] = {}
        self._points: dict[str, list[Compared | None]] = {name: [] for name in names}
        tasks: dict[Key, Callable[[], Found]] = {
            (name, AS_ASKED): task(compare.row, scenario, name, trace, same_limits=same_limits) for name in names
        }
        self._rows = tasks.keys()
        super().__init__(tasks, pool, head_start_s=0.0)
        self._hand_out(task(self._prepare, scenario, trace, names, same_limits=same_limits))

    @property
    def is_complete(self) -> bool:
        """Whether every run is there, those against load among them."""
        return self._is_prepared and super().is_complete

    def wait_for_rows(self) -> None:
        """Wait for the runs as asked, but not for long: a page that has them need not be made again for them."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_done or self._rows <= self.found.keys(), PATIENCE_S)

    def _prepare(self, scenario: Scenario, trace: Trace | None, names: tuple[str, ...], *, same_limits: bool) -> None:
        """Find the loads and hand out the runs."""
        self._ceilings = {name: compare.ceiling(scenario, name, trace, same_limits=same_limits) for name in names}
        try:
            own = loads(without_load(scenario), trace, compare.SHARES)
        except ScenarioError:  # the page says why, of every scheduler
            own = ()
        self.loads = compare.loads_of_all(own, self._ceilings.values())
        about = {"full_load": full_load(scenario, own), "same_limits": same_limits}
        more: dict[Key, Callable[[], Found]] = {}
        for load in self.loads[::-1]:
            more |= {(name, load): task(self._point, scenario, name, load, trace, about) for name in names}
        if not self.loads:
            more = {(name, REACH): task(compare.reach, scenario, name, trace, **about) for name in names}
        self.add(more)
        self._is_prepared = True  # last: from here on the job may be complete

    def _point(
        self, scenario: Scenario, name: str, load: float, trace: Trace | None, about: dict[str, Any]
    ) -> Compared | None:
        """A run against load; the last of a scheduler hands out the search for how far it gets."""
        found = compare.at(scenario, name, load, trace, **about)
        with self._changed:
            points = self._points[name]
            points.append(found)
            is_last = len(points) == len(self.loads)
        if is_last:
            about = about | {"points": [each for each in points if each is not None]}
            if math.isfinite(self._ceilings[name]):
                about["ceiling_rps"] = self._ceilings[name]
            self.add({(name, REACH): task(compare.reach, scenario, name, trace, **about)})
        return found


def compare_job(scenario: Scenario, trace: Trace | None, names: tuple[str, ...], *, same_limits: bool) -> CompareJob:
    """The chosen schedulers on the scenario on screen, started where they are new."""
    job = _compare(scenario, trace, names, same_limits)
    with page_waits():
        job.wait_for_rows()
    return job


def rows_of(job: CompareJob, names: tuple[str, ...]) -> dict[str, Row]:
    """Runs as asked that are there."""
    found = {name: job.found.get((name, AS_ASKED)) for name in names}
    return {name: each for name, each in found.items() if isinstance(each, Row)}


def reach_of(job: CompareJob, names: tuple[str, ...]) -> dict[str, float]:
    """How far each gets; empty until all are there."""
    found = {name: job.found.get((name, REACH)) for name in names}
    there = {name: each for name, each in found.items() if isinstance(each, float)}
    return there if len(there) == len(names) else {}


def points_of(job: CompareJob) -> list[Compared]:
    """Runs against load that are there, in the same order whichever came first."""
    found = [each for each in list(job.found.values()) if isinstance(each, Compared)]
    return sorted(found, key=lambda each: (each.load, each.system))


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("study")


@kept()
def _compare(scenario: Scenario, trace: Trace | None, names: tuple[str, ...], same_limits: bool) -> CompareJob:
    return CompareJob(scenario, trace, names, _pool(), same_limits=same_limits)
