"""Runs that take longer than a page may: made beside it with progress, stopped by a button or the next scenario.

Short runs are made in the page itself, which is quicker: nobody has to look whether they are done.
"""

from concurrent.futures import Executor
from functools import cache, partial

import streamlit as st
from ui import runs
from ui.asked import Asked
from ui.job import release
from ui.long_job import LongJob, Progress
from ui.pool import shared_pool

from sim.errors import ScenarioError

LONG = 50_000  # requests; about a quarter of a second
POLL_S = 0.2

RunJob = LongJob[runs.Run, None]  # into the cache of runs


def long_runs(asked: Asked) -> RunJob | None:
    """The job of what the page needs and is long to make; none where everything is there or short."""
    scenarios = [asked.scenario, *(pin.scenario for pin in asked.pins)]
    wanted = [runs.Run.of(each, asked.trace, asked.is_saturated) for each in scenarios if each is not None]
    missing = tuple(run for run in wanted if run.num_requests > LONG and not runs.is_there(run))
    if not missing:
        return None
    job = _job(tuple(run.key for run in missing), asked.is_saturated, missing)
    return None if job.is_complete else job


def wait_for(job: RunJob) -> None:
    """Show how far the runs are and let people stop them; run the page once more at the end."""
    if job.problem:
        st.error(job.problem)
    elif job.stop.is_set():
        st.info("The run was stopped. Move a knob, or run it again.")
        st.button("Run it again", key="run_again", on_click=_job.clear)
    else:
        _progress(job, f"Simulating {sum(run.num_requests for run in job.shares):,} requests …")
        st.button("Stop", key="run_stop", icon=":material/stop:", on_click=job.halt)


@st.fragment(run_every=POLL_S)
def _progress(job: RunJob, text: str) -> None:
    st.progress(job.done, text=text)
    if job.is_done:
        st.rerun()


def _make(run: runs.Run, progress: Progress) -> None:
    try:
        runs.make(run, progress)
    except ScenarioError:
        return  # the page will find the same, at once, and say it


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _job(keys: tuple[str, ...], is_saturated: bool, _wanted: tuple[runs.Run, ...]) -> RunJob:
    return LongJob({run: partial(_make, run) for run in _wanted}, _pool())


@cache
def _pool() -> Executor:
    return shared_pool("run", max_workers=2)
