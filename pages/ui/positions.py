"""What Explore would show with a knob somewhere else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from ui import cards
from ui.asked import Asked
from ui.frontier_feed import FrontierFeed
from ui.live_plot import json_of
from ui.load_feed import LoadFeed

from sim.scenario import Scenario
from sim.view.run_view import RunView
from sim.view.tiles import tiles
from sim.view.verdict import verdict


@dataclass(frozen=True)
class Position:
    """Pictures and numbers of one position of a knob."""

    figures: dict[str, go.Figure]  # by chart
    verdict: str
    tiles: list[tuple[str, str]]  # number with its unit, and the note below

    def for_browser(self) -> dict[str, Any]:
        """Figures as text, like everything that a chart is drawn from."""
        specs = {name: json_of(figure) for name, figure in self.figures.items()}
        return {"charts": specs, "verdict": self.verdict, "tiles": self.tiles}


Show = Callable[[Scenario, RunView], Position]


def positions(asked: Asked, pins: cards.Pins, trade_off: LoadFeed | FrontierFeed) -> Show:
    """What turns a scenario and its run into a position, with the pinned runs and switches of this page."""
    rates, latency = st.session_state.show_throughput, st.session_state.show_latency
    base = [each for each in pins if each[0].key == asked.base]
    pinned = base[0][1].summary if base else None
    name = asked.base_name

    def show(scenario: Scenario, run: RunView) -> Position:
        figures = {
            "throughput": cards.throughput_figure(run, pins, rates),
            "latency": cards.distribution_figure(run, pins, latency),
            "memory": cards.memory_figure(run, base),
        }
        if isinstance(trade_off, LoadFeed):  # the frontier of another position would be many runs
            figures["load"] = trade_off.at(scenario, run)
        numbers = [(f"{tile.value} {tile.unit}".rstrip(), tile.note) for tile in tiles(run.summary, pinned)]
        return Position(figures, verdict(run.scenario, run.summary, pinned, name), numbers)

    return show
