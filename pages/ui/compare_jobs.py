"""The job of Schedulers: each chosen one as asked, then against load."""

from collections.abc import Callable
from typing import Any

import streamlit as st
from ui.job import Job, release, start, task

from sim.scenario import Scenario
from sim.studies import compare
from sim.studies.compare import Compared, Row
from sim.studies.load_curve import full_load
from sim.workload import Trace

Key = tuple[str, float]  # scheduler and load; load 0 is the run as asked


def compare_job(
    scenario: Scenario, trace: Trace | None, names: tuple[str, ...], loads: tuple[float, ...], *, same_limits: bool
) -> Job[Key, Row | Compared | None]:
    """Runs as asked first, in the order chosen, then load by load."""
    key = scenario.model_dump_json(exclude={"about"})
    return _compare(key, trace.sha256 if trace else "", names, loads, same_limits, scenario, trace)


def rows_of(job: Job[Key, Row | Compared | None], names: tuple[str, ...]) -> dict[str, Row]:
    """Runs as asked that are there."""
    found = {name: job.found.get((name, 0.0)) for name in names}
    return {name: each for name, each in found.items() if isinstance(each, Row)}


def points_of(job: Job[Key, Row | Compared | None]) -> list[Compared]:
    """Runs against load that are there, in the same order whichever came first."""
    found = [each for each in list(job.found.values()) if isinstance(each, Compared)]
    return sorted(found, key=lambda each: (each.load, each.system))


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _compare(
    key: str,
    sha256: str,
    names: tuple[str, ...],
    loads: tuple[float, ...],
    same_limits: bool,
    _scenario: Scenario,
    _trace: Trace | None,
) -> Job[Key, Row | Compared | None]:
    tasks: dict[Key, Callable[[], Any]] = {
        (name, 0.0): task(compare.row, _scenario, name, _trace, same_limits=same_limits) for name in names
    }
    full = full_load(_scenario, loads)
    for load in loads[::-1]:
        tasks |= {
            (name, load): task(compare.at, _scenario, name, load, _trace, full_load=full, same_limits=same_limits)
            for name in names
        }
    return start(tasks)
