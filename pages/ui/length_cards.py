"""The cards of Length tail: lengths beside real data, spread at equal mean, ledgers, counterfactuals."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from ui.asked import Asked
from ui.card import card
from ui.draw_lengths import draw_lengths
from ui.grouped import grouped
from ui.job import Job
from ui.length_jobs import Outcome, Spread
from ui.live_plot import live_plot
from ui.watch import JobFeed, watch

from sim.scenario import Scenario
from sim.studies.counterfactuals import EXACT, WORLDS, Cell, cells
from sim.studies.length_profile import Outputs, profiles, real_profiles
from sim.studies.length_spread import SpreadPoint
from sim.view import alt, figures, gain_figure, ledger_figures, length_figures
from sim.view.length_tail import (
    gain_rows,
    gain_table,
    how_compared,
    impossible,
    likeness,
    path_sentences,
    profile_table,
)
from sim.view.paths import memory_steps, time_steps
from sim.view.run_view import RunView

ROW_PX = 27
WAYS = {"tail": "tail", "share": "distribution"}


def lengths(asked: Asked, made: Outputs) -> None:
    """Output lengths of the scenario before those of real data sets."""
    own, real = profiles(made), real_profiles()
    with card("lengths", "Output lengths beside real data sets", WAYS) as which:
        with st.container(horizontal=True, vertical_alignment="center", key="lengths_tools"):
            chosen = st.selectbox(
                "Real data set to bring forward",
                [profile.name for profile in real],
                index=None,
                placeholder="Bring a real data set forward",
                key="show_dataset",
                label_visibility="collapsed",
                persist_state="session",
            )
            draw_lengths(asked, made)
        figure = length_figures.lengths(made, "tail" if which == "tail" else "share", chosen or "")
        live_plot(figure, "plot_lengths", f"Output lengths on a logarithmic axis: {likeness(own[0], real)}")


def length_table(made: Outputs) -> None:
    """The same in numbers."""
    own, real = profiles(made), real_profiles()
    with card("profiles", "In numbers (tokens)"):
        st.caption(likeness(own[0], real))
        table = profile_table(own, real)
        st.dataframe(
            grouped(table),
            hide_index=True,
            row_height=ROW_PX,
            height=444,
            key="table_profiles",
            column_config=_widths(table, 172, 76, 52),
        )


def spread(job: Job[Spread, SpreadPoint], current: RunView) -> None:
    """P99 and throughput as the spread grows and nothing else."""
    quantity = current.distributions["TPOT"].quantity

    def picture() -> tuple[go.Figure, str]:
        is_complete = job.is_complete  # before the points are read: none may come between
        points = [point for cv, point in list(job.found.items()) if cv is not None]
        figure = length_figures.spread(points, job.found.get(None), quantity, is_complete=is_complete)
        words = f"p99 {quantity.short} and output tokens/s against the CV of output lengths, {len(points)} points."
        return figure, words

    with card("spread", "As the spread grows, at equal mean and total"):
        if job.problem:
            st.error(job.problem)
        JobFeed(job, picture).draw("plot_spread")
        watch(job, "spreads", "stop_spread")


def paths(current: RunView) -> None:
    """What each path took, of memory and of time."""
    with card("paths", "Where KV memory and time went: from everything there was to what was of use"):
        figure = ledger_figures.waterfall(memory_steps(current.summary), time_steps(current.summary))
        sentences = path_sentences(current.summary)
        live_plot(figure, "plot_paths", " ".join(sentences).replace("**", ""))
        st.caption(" ".join(sentences))


def memory(current: RunView) -> None:
    """The memory ledger over time."""
    with card("memory", "Memory ledger over time"):
        live_plot(figures.memory(current.over_time), "plot_memory", alt.memory(current))


def time(current: RunView) -> None:
    """The time ledger over time."""
    with card("time", "Time ledger over time"):
        live_plot(ledger_figures.time_use(current.over_time), "plot_time", alt.time(current))


def counterfactuals(job: Job[Cell, Outcome], asked: Asked, current: RunView) -> None:
    """What would be gained if one of the reasons were taken away."""
    assert asked.scenario is not None
    scenario = asked.scenario
    quantity = current.distributions["TPOT"].quantity

    def picture() -> tuple[go.Figure, str]:
        is_complete = job.is_complete
        found = dict(job.found)
        figure = gain_figure.counterfactuals(gain_rows(scenario, found), quantity, is_complete=is_complete)
        return figure, _in_words(gain_table(scenario, found, quantity.short))

    with card("worlds", "What if …: same requests, seed and total output tokens"):
        if job.problem:
            st.error(job.problem)
        JobFeed(job, picture).draw("plot_worlds")
        quick = sum(cell.world not in EXACT for cell in cells(scenario, asked.trace))
        watch(job, "counterfactual runs", "stop_worlds", milestone=quick)


def counterfactual_table(job: Job[Cell, Outcome], scenario: Scenario, current: RunView) -> None:
    """All figures of the counterfactuals, and what each of them is."""
    found = dict(job.found)
    with card("world_table", "Every figure: change in % against the run as it is (95 % interval of the replications)"):
        table = pd.DataFrame(gain_table(scenario, found, current.distributions["TPOT"].quantity.short))
        st.dataframe(table, hide_index=True, row_height=ROW_PX, key="table_worlds")
        for sentence in impossible(found):
            st.caption(sentence)
        shown = {row.world for row in gain_rows(scenario, found)}
        st.caption(" ".join(f"**{world.value}**: {text}." for world, text in WORLDS.items() if world in shown))
        incomplete = "" if job.is_complete else "**Incomplete**: not all runs are there. "
        st.caption(incomplete + how_compared(scenario))


def _widths(names: Iterable[str], *widths_px: int) -> dict[str, Any]:
    """Widths of the columns from the left, the last one for all that follow, so that none is cut off."""
    columns = list(names)
    widths = [*widths_px, *widths_px[-1:] * len(columns)]
    return {name: st.column_config.Column(width=width) for name, width in zip(columns, widths, strict=False)}


def _in_words(table: dict[str, list[str]]) -> str:
    """The chart's two columns."""
    rate, latency = list(table)[1], list(table)[4]
    rows = zip(table["Counterfactual"], table[rate], table[latency], strict=True)
    return "; ".join(f"{name}: {rate} {first}, {latency} {second}" for name, first, second in rows)
