"""A study as a job: run by run beside the page, stopped by a button, by the next scenario and by closing the tab."""

import threading
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import plotly.graph_objects as go
import streamlit as st
from ui.feed import publish
from ui.live_plot import live_plot, spec_of
from ui.pool import shared_pool

from sim.errors import ScenarioError

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

HEAD_START_S = 0.2  # the page itself comes first
POLL_S = 0.3


class Job(Generic[K, V]):
    """Short tasks on a pool, and what they have found so far."""

    def __init__(self, tasks: Mapping[K, Callable[[], V]], pool: Executor) -> None:
        self.found: dict[K, V] = {}
        self.total = len(tasks)
        self.problem = ""
        self.stop = threading.Event()
        self.is_end_shown = False  # whether a page has begun to be drawn since nothing more comes
        self._left = len(tasks)
        self._began = threading.Event()
        self._lock = threading.Lock()
        for key, task in tasks.items():
            pool.submit(self._run, key, task)

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""
        return self._left == 0 or self.stop.is_set()

    @property
    def is_complete(self) -> bool:
        """Whether every task has found something."""
        return len(self.found) == self.total

    def _run(self, key: K, task: Callable[[], V]) -> None:
        if not self._began.is_set():
            self.stop.wait(HEAD_START_S)
            self._began.set()
        try:
            if not self.stop.is_set():
                self.found[key] = task()
        except ScenarioError as error:
            self.problem = str(error)
        except Exception as error:  # a dead worker would look like a slow one
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            with self._lock:
                self._left -= 1


@dataclass
class JobFeed(Generic[K, V]):
    """The picture of a job, for the page and then for its feed."""

    job: Job[K, V]
    picture: Callable[[], tuple[go.Figure, str]]  # figure and description of what has been found so far

    @property
    def version(self) -> int:
        """Tasks that have found something."""
        return len(self.job.found) + self.job.is_done

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""
        return self.job.is_done

    def answer(self) -> dict[str, Any]:
        """The same for the browser."""
        return spec_of(*self.picture())

    def draw(self, key: str) -> None:
        """Put the chart on the page; the session keeps the feed until the next of that key."""
        st.session_state[f"feed_{key}"] = self
        figure, alt = self.picture()
        live_plot(figure, key, alt, None if self.is_done else publish(self))


def start(tasks: Mapping[K, Callable[[], V]]) -> Job[K, V]:
    """A job on the pool that all sessions share."""
    return Job(tasks, _pool())


def task(function: Callable[..., V], *arguments: object, **named: object) -> Callable[[], V]:
    """A call to be made later."""
    return partial(function, *arguments, **named)


def release(job: Job[K, V]) -> None:
    """Stop a job that nobody looks at any more."""
    job.stop.set()


def watch(job: Job[K, V], what: str, key: str, milestone: int = 0) -> None:
    """Progress and a stop button while a job runs; runs the page once more at its end, and at a milestone.

    More often would take from the job what it needs: each run draws every chart of the page. Until then a `JobFeed`
    keeps the chart up to date.

    Parameters
    ----------
    what : str
        The runs in words, such as "counterfactual runs".
    key : str
        Of the button.
    milestone : int
        Tasks after which there is more to say than the chart says; 0 for none.
    """
    num_seen = len(job.found)
    if job.is_done and not job.is_end_shown:  # it ended while the page was being drawn
        job.is_end_shown = True
        st.rerun()
    if job.is_done:
        if not job.is_complete and not job.problem:
            st.caption(f"Stopped after {num_seen} of {job.total} {what}; move a knob to start anew.")
        return

    @st.fragment(run_every=POLL_S)
    def look() -> None:
        with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_progress"):
            st.progress(len(job.found) / job.total, text=f"{len(job.found)} of {job.total} {what}")
            st.button("Stop", key=key, on_click=job.stop.set)
        if job.is_done or num_seen < milestone <= len(job.found):
            job.is_end_shown = job.is_done
            st.rerun()

    look()


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("study")
