"""Runs that take longer than a page may: made beside it with progress, stopped by a button or the next scenario.

Short runs are made in the page itself, which is quicker: nobody has to look whether they are done.
"""

import threading
from concurrent.futures import Executor
from functools import cache

import streamlit as st
from ui import runs
from ui.asked import Asked
from ui.pool import shared_pool

from sim.errors import ScenarioError

LONG = 50_000  # requests; about a quarter of a second
POLL_S = 0.2


class StoppedError(Exception):
    """Somebody wants no run, or another one."""


class RunJob:
    """Runs one after the other, into the cache of runs; and how far they are."""

    def __init__(self, wanted: tuple[runs.Run, ...]) -> None:
        self.done = 0.0  # share of the work
        self.is_done = False
        self.is_stopped = False
        self.problem = ""
        self.stop = threading.Event()
        self.wanted = wanted
        _pool().submit(self._work)

    def _work(self) -> None:
        try:
            for before, run in enumerate(self.wanted):
                self._make(run, before)
        except StoppedError:
            self.is_stopped = True
        except Exception as error:  # a dead worker would look like a slow one
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            self.is_done = True

    def _make(self, run: runs.Run, before: int) -> None:
        def progress(share: float) -> None:
            if self.stop.is_set():
                raise StoppedError
            self.done = (before + min(share, 1.0)) / len(self.wanted)

        try:
            runs.make(run, progress)
        except ScenarioError:
            return  # the page will find the same, at once, and say it


def long_runs(asked: Asked) -> RunJob | None:
    """The job of what the page needs and is long to make; none where everything is there or short."""
    scenarios = [asked.scenario, *(pin.scenario for pin in asked.pins)]
    wanted = [runs.Run.of(each, asked.trace, asked.is_saturated) for each in scenarios if each is not None]
    missing = tuple(run for run in wanted if run.num_requests > LONG and not runs.is_there(run))
    if not missing:
        return None
    job = _job(tuple(run.key for run in missing), asked.is_saturated, missing)
    return None if job.is_done and not job.is_stopped and not job.problem else job


def wait_for(job: RunJob) -> None:
    """Show how far the runs are and let people stop them; run the page once more at the end."""
    if job.problem:
        st.error(job.problem)
    elif job.is_stopped:
        st.info("The run was stopped. Move a knob, or run it again.")
        st.button("Run it again", key="run_again", on_click=_job.clear)
    else:
        requests = sum(run.num_requests for run in job.wanted)
        _progress(job, f"Simulating {requests:,} requests …")
        st.button("Stop", key="run_stop", icon=":material/stop:", on_click=job.stop.set)


@st.fragment(run_every=POLL_S)
def _progress(job: RunJob, text: str) -> None:
    st.progress(job.done, text=text)
    if job.is_done:
        st.rerun()


def _release(job: RunJob) -> None:
    job.stop.set()


@st.cache_resource(scope="session", max_entries=1, on_release=_release, show_spinner=False)
def _job(keys: tuple[str, ...], is_saturated: bool, _wanted: tuple[runs.Run, ...]) -> RunJob:
    return RunJob(_wanted)


@cache
def _pool() -> Executor:
    return shared_pool("run", max_workers=2)
