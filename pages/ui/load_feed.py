"""The load curve as far as its jobs have got, for the page and then for its feed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from ui.asked import Asked, Pin
from ui.feed import GATHER_S
from ui.live_plot import spec_of
from ui.load_job import LoadJob, curve_key, load_job, pinned_load_job

from sim.scenario import Scenario
from sim.studies.load_curve import LoadPoint, curve, without_load
from sim.view import alt, load_figure
from sim.view.lines import Pinned
from sim.view.run_view import RunView


@dataclass
class LoadFeed:
    """The load curves of the run on screen and of the pinned one."""

    scenario: Scenario
    jobs: Sequence[LoadJob]
    runs: Sequence[RunView]  # the same order: each run is a point of its curve
    pin: Pin | None = None  # whose curve is the second
    gather_s = GATHER_S

    @property
    def version(self) -> int:
        """Points there are."""
        return sum(len(job.points) for job in self.jobs) + self.is_done

    @property
    def is_done(self) -> bool:
        """Whether all points are there."""
        return all(job.is_done for job in self.jobs)

    def picture(self) -> tuple[go.Figure, str]:
        """The figure and its description."""
        return self._picture()

    def at(self, scenario: Scenario, run: RunView) -> go.Figure:
        """The figure with another run on screen; where that one has a curve of its own, the old one says so."""
        if curve_key(scenario) != curve_key(self.scenario):
            return self._picture(run)[0]
        return replace(self, scenario=scenario, runs=[run, *self.runs[1:]]).picture()[0]

    def _picture(self, elsewhere: RunView | None = None) -> tuple[go.Figure, str]:
        """The same; with the mark on a run that is not on the curve, where there is one."""
        is_complete = self.is_done  # before the points are read: none may come between
        points = [_with_run(job.points, run) for job, run in zip(self.jobs, self.runs, strict=True)]
        shown = elsewhere or self.runs[0]
        per_token = shown.distributions["TPOT"]
        figure = load_figure.load(
            curve(points[0]),
            per_token.quantity,
            load_figure.load_title(self.scenario),
            [load for job in self.jobs for load in job.loads],
            shown.operating,
            is_complete=is_complete,
            is_on_curve=elsewhere is None,
            problem=next((job.problem for job in self.jobs if job.problem), ""),
            limit=per_token.limit,
            pins=[Pinned(curve(each), self.pin.name, self.pin.dash) for each in points[1:] if self.pin],
        )
        return figure, alt.load(points[0])

    def answer(self) -> dict[str, Any]:
        """The same for the browser."""
        return spec_of(*self.picture())


def load_feed(asked: Asked, current: RunView, pinned: RunView | None) -> LoadFeed:
    """The feed of what is on screen; the session keeps it until the next."""
    assert asked.scenario is not None
    jobs, runs = [load_job(without_load(asked.scenario), asked.trace)], [current]
    if pinned is not None and asked.pinned is not None:
        jobs.append(pinned_load_job(without_load(asked.pinned), asked.trace))
        runs.append(pinned)
    feed = LoadFeed(asked.scenario, jobs, runs, asked.base_pin)
    st.session_state.load_feed = feed
    return feed


def _with_run(points: list[LoadPoint], run: RunView) -> list[LoadPoint]:
    return points.copy() if run.operating is None else [*points, run.operating]
