"""The frontiers of the run on screen and of the pinned ones, as far as their jobs have got."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from ui.asked import Asked, Pin
from ui.feed import GATHER_S
from ui.frontier_job import FrontierJob, frontier_job
from ui.live_plot import spec_of

from sim.deployment import resolve
from sim.view.frontier_figure import frontier, words
from sim.view.lines import Pinned
from sim.view.run_view import RunView

KNOB = "max_num_seqs"


@dataclass
class FrontierFeed:
    """One frontier a run."""

    job: FrontierJob
    here: int  # where the run on screen stands
    pinned: list[tuple[Pin, FrontierJob]]
    is_log: bool
    gather_s = GATHER_S

    @property
    def version(self) -> int:
        """Points there are."""
        return sum(len(job.points) for job in self._jobs) + self.is_done

    @property
    def is_done(self) -> bool:
        """Whether all points are there."""
        return all(job.is_done for job in self._jobs)

    @property
    def _jobs(self) -> list[FrontierJob]:
        return [self.job, *(job for _, job in self.pinned)]

    def picture(self) -> tuple[go.Figure, str]:
        """The figure and its description."""
        is_complete = self.is_done  # before the points are read: none may come between
        points = self.job.points.copy()
        figure = frontier(
            points,
            KNOB,
            self.here,
            is_complete=is_complete,
            pins=[Pinned(job.points.copy(), pin.name, pin.dash) for pin, job in self.pinned],
            problem=next((job.problem for job in self._jobs if job.problem), ""),
            is_log=self.is_log,
        )
        return figure, words(points, KNOB)

    def answer(self) -> dict[str, Any]:
        """The same for the browser."""
        return spec_of(*self.picture())


def frontier_feed(asked: Asked, current: RunView, pins: Sequence[tuple[Pin, RunView]], *, is_log: bool) -> FrontierFeed:
    """The feed of what is on screen; the session keeps it until the next."""
    feed = FrontierFeed(
        frontier_job(current.scenario, asked.trace),
        resolve(current.scenario).max_num_seqs,
        [(pin, frontier_job(run.scenario, asked.trace)) for pin, run in pins],
        is_log,
    )
    st.session_state.frontier_feed = feed
    return feed
