"""The job of Schedulers: each chosen one as asked, then against load."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

import streamlit as st
from ui.job import Job, kept, task
from ui.pool import page_waits, shared_pool

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.compare import Compared, Contender, Row, at, row
from sim.studies.load_curve import full_load, loads, without_load
from sim.studies.reach import SHARES, ceiling, loads_of_all, reach
from sim.workload import Trace

Key = tuple[str, float]  # scheduler and load
Found = Row | Compared | float | None
PATIENCE_S = 0.5
AS_ASKED, REACH = 0.0, -1.0  # in place of a load: the run as asked, and the largest load within the limits


class CompareJob(Job[Key, Found]):
    """Runs as asked first, in the order chosen, then load by load from the highest down, then how far each gets."""

    def __init__(self, contenders: Sequence[Contender], pool: Executor) -> None:
        self.loads: tuple[float, ...] = ()
        self._is_prepared = False
        self._contenders = contenders
        self._ceilings: dict[str, float] = {}
        self._points: dict[str, list[Compared | None]] = {one.system: [] for one in contenders}
        tasks: dict[Key, Callable[[], Found]] = {(one.system, AS_ASKED): task(row, one) for one in contenders}
        self._rows = tasks.keys()
        super().__init__(tasks, pool, head_start_s=0.0)
        self._hand_out(self._prepare)

    @property
    def is_complete(self) -> bool:
        """Whether every run is there, those against load among them."""
        return self._is_prepared and super().is_complete

    def wait_for_rows(self) -> None:
        """Wait for the runs as asked, but not for long: a page that has them need not be made again for them."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_done or self._rows <= self.found.keys(), PATIENCE_S)

    def _prepare(self) -> None:
        """Find the loads and hand out the runs."""
        self._ceilings = {one.system: ceiling(one) for one in self._contenders}
        scenario, _, trace, _ = self._contenders[0]
        try:
            own = loads(without_load(scenario), trace, SHARES)
        except ScenarioError:  # the page says why, of every scheduler
            own = ()
        self.loads = loads_of_all(own, self._ceilings.values())
        full = full_load(scenario, own)
        more: dict[Key, Callable[[], Found]] = {
            (one.system, load): task(self._point, one, load, full)
            for load in self.loads[::-1]
            for one in self._contenders
        }
        if not self.loads:
            more = {(one.system, REACH): task(reach, one, full_load=full) for one in self._contenders}
        self.add(more)
        self._is_prepared = True  # last: from here on the job may be complete

    def _point(self, one: Contender, load: float, full: float) -> Compared | None:
        """A run against load; the last of a scheduler hands out the search for how far it gets."""
        found = at(one, load, full_load=full)
        with self._changed:
            points = self._points[one.system]
            points.append(found)
            is_last = len(points) == len(self.loads)
        if is_last:
            there = [each for each in points if each is not None]
            most = self._ceilings[one.system]
            ceiling_rps = most if math.isfinite(most) else 0.0
            self.add({(one.system, REACH): task(reach, one, points=there, full_load=full, ceiling_rps=ceiling_rps)})
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
    return CompareJob([Contender(scenario, name, trace, same_limits) for name in names], _pool())
