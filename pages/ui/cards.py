"""The cards of Explore: title, switch, curve; and the banners above them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import streamlit as st
from ui.asked import Asked, Pin
from ui.card import card
from ui.live_plot import live_plot
from ui.load_job import Job, load_job, pinned_load_job

from sim.studies.load_curve import curve, without_load
from sim.view import alt, figures, load_figure
from sim.view.banners import all_clear
from sim.view.banners import banners as banners_of
from sim.view.lines import Pinned
from sim.view.pins import legend
from sim.view.quantity import INPUT_RATE, OUTPUT_RATE, TOTAL_RATE
from sim.view.run_view import RunView

Part = TypeVar("Part")

POLL_S = 0.3
RATES = {"output": OUTPUT_RATE, "prompt": INPUT_RATE, "all": TOTAL_RATE}
LATENCIES = ("TPOT", "TTFT", "ITL")


def banners(current: RunView, pin_problems: Sequence[str]) -> None:
    """Reasons to read the run with care."""
    found = [banner.text for banner in banners_of(current.summary, current.cost_band)]
    found += [f"The pinned run cannot be shown: {problem}" for problem in pin_problems]
    with st.container(key="banners", gap="xxsmall"):
        for sentence in found:
            st.warning(sentence, icon=":material/warning:")
        if not found:  # a line is always there, so that curves do not jump when a warning comes
            st.caption(all_clear(current.summary, current.cost_band))


def base_name(asked: Asked) -> str:
    """What the verdict calls the run that it compares with."""
    return "the pinned run" if asked.base_pin is None or len(asked.pins) == 1 else asked.base_pin.name


def pin_legend(asked: Asked) -> None:
    """Which dash is which run, where there are several."""
    if len(asked.pins) > 1:
        with st.container(key="pin_legend"):
            st.caption(f"{legend([pin.label for pin in asked.pins])}. Numbers compare with {base_name(asked)}.")


def throughput(current: RunView, pins: Sequence[tuple[Pin, RunView]]) -> None:
    """Tokens a second over time."""
    with card("throughput", "Throughput over time", {which: which for which in RATES}) as which:
        quantity = RATES[which]
        figure = figures.throughput(current.over_time, quantity, _lines(pins, lambda run: run.over_time))
        live_plot(figure, "plot_throughput", alt.throughput(current, quantity))


def distribution(current: RunView, pins: Sequence[tuple[Pin, RunView]]) -> None:
    """Latency distribution with its limit."""
    names = {which: current.distributions[which].quantity.short for which in LATENCIES}
    with card("latency", "Latency distribution", names) as which:
        run = current.distributions[which]
        others = _lines(pins, lambda pinned: pinned.distributions[which])
        live_plot(figures.distribution(run, others), "plot_latency", alt.distribution(run))


def memory(current: RunView, base: Sequence[tuple[Pin, RunView]]) -> None:
    """KV memory by ledger row, with running and waiting; of the pinned runs the one that numbers compare with."""
    with card("memory", "KV memory, requests running and waiting"):
        figure = figures.memory(current.over_time, _lines(base, lambda run: run.over_time))
        live_plot(figure, "plot_memory", alt.memory(current))


def load(asked: Asked, current: RunView, pinned: RunView | None) -> None:
    """P99 and throughput against load, filled in while the page is already there."""
    assert asked.scenario is not None
    jobs = [load_job(without_load(asked.scenario), asked.trace)]
    if pinned is not None and asked.pinned is not None:
        jobs.append(pinned_load_job(without_load(asked.pinned), asked.trace))
    is_complete = all(job.is_done for job in jobs)  # before the points are read: none may come between
    points = [list(job.points) for job in jobs]
    num_points = sum(map(len, points))
    for drawn, run in zip(points, (current, pinned), strict=False):
        if run is not None and run.operating is not None:
            drawn.append(run.operating)  # the run itself is a point of its curve
    per_token = current.distributions["TPOT"]
    with card("load", "Against load"):
        if problem := next((job.problem for job in jobs if job.problem), ""):
            st.error(problem)
        figure = load_figure.load(
            curve(points[0]),
            per_token.quantity,
            load_figure.load_title(asked.scenario),
            jobs[0].loads,
            current.operating,
            is_complete=is_complete,
            limit=per_token.limit,
            pinned=curve(points[1]) if len(points) > 1 else None,
        )
        live_plot(figure, "plot_load", alt.load(points[0]))
    if not is_complete:
        _draw_again_when_more_has_come(jobs, num_points)


def _draw_again_when_more_has_come(jobs: list[Job], num_drawn: int) -> None:
    """Look after the jobs; run the page once more when they have got further.

    The chart itself stays out of the fragment: one that polls and draws now and then loses its chart for a moment
    when a run of the page crosses it.
    """

    @st.fragment(run_every=POLL_S)
    def look() -> None:
        if sum(len(job.points) for job in jobs) > num_drawn or all(job.is_done for job in jobs):
            st.rerun()

    look()


def _lines(pins: Sequence[tuple[Pin, RunView]], part: Callable[[RunView], Part]) -> list[Pinned[Part]]:
    """Some part of each pinned run, with the line it is drawn as."""
    return [Pinned(part(run), pin.name, pin.dash) for pin, run in pins]
