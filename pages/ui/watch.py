"""How a page shows a job: a chart that fills up, progress, a button that stops it, and one more run at the end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

import plotly.graph_objects as go
import streamlit as st
from ui.asked import Asked
from ui.feed import publish
from ui.job import Job, K, V
from ui.live_plot import live_plot, spec_of

POLL_S = 0.4
GATHER_S = 0.3  # from one picture of a job to the next: to draw more of them would hold up the job
APART_S = 1.0  # runs of a page whose jobs end one after the other: each draws every chart
SOON_S = 0.5  # and one that is about to end is waited for


@dataclass
class JobFeed(Generic[K, V]):
    """The picture of a job, for the page and then for its feed."""

    job: Job[K, V]
    picture: Callable[[], tuple[go.Figure, str]]  # figure and description of what has been found so far
    gather_s = GATHER_S

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


@dataclass
class Watched:
    """The jobs that one run of a page watches."""

    asked: Asked  # in that run
    jobs: list[Job[Any, Any]] = field(default_factory=list)

    def is_run_due(self) -> bool:
        """Whether the page may run once more: at once when nothing else is going on, else not too soon nor in vain."""
        left_s = max(job.left_s for job in self.jobs)
        return left_s == 0 or (time.monotonic() - self.asked.at_s > APART_S and left_s > SOON_S)


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
    watched = _watched(job)
    if watched.asked.at_s < job.ended_s < float("inf"):  # it ended while the page was being drawn
        st.rerun()
    if job.is_done:
        if not job.is_complete and not job.problem:
            st.caption(f"Stopped after {num_seen} of {job.total} {what}; move a knob to start anew.")
        return

    @st.fragment(run_every=POLL_S)
    def look() -> None:
        with st.container(horizontal=True, vertical_alignment="center", key=f"{key}_progress"):
            st.progress(len(job.found) / job.total, text=f"{len(job.found)} of {job.total} {what}")
            if not job.is_done:  # the next run of the page, which tells more, may still wait for others
                st.button("Stop", key=key, on_click=job.halt)
        is_more_to_say = job.is_done or num_seen < milestone <= len(job.found)
        if is_more_to_say and watched.is_run_due():
            st.rerun()

    look()


def _watched(job: Job[K, V]) -> Watched:
    """What this run of the page watches, with one more job."""
    asked: Asked = st.session_state.asked
    watched: Watched = st.session_state.get("watched") or Watched(asked)
    if watched.asked is not asked:
        watched = Watched(asked)
    watched.jobs.append(job)
    st.session_state.watched = watched
    return watched
