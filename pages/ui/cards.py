"""The cards of Explore: title, switch, curve; and the banners above them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import plotly.graph_objects as go
import streamlit as st
from ui.asked import Asked, Pin
from ui.card import card
from ui.feed import publish
from ui.frontier_feed import FrontierFeed, frontier_feed
from ui.live_plot import live_plot
from ui.load_feed import LoadFeed, load_feed

from sim.view import alt, figures
from sim.view.banners import all_clear
from sim.view.banners import banners as banners_of
from sim.view.lines import Pinned
from sim.view.pins import legend
from sim.view.quantity import INPUT_RATE, OUTPUT_RATE, TOTAL_RATE
from sim.view.run_view import RunView

Part = TypeVar("Part")
Pins = Sequence[tuple[Pin, RunView]]

RATES = {"output": OUTPUT_RATE, "prompt": INPUT_RATE, "all": TOTAL_RATE}
LATENCIES = ("TPOT", "TTFT", "ITL")
TRADE_OFFS = {"load": "against load", "frontier": "per user and per GPU"}


def banners(current: RunView, pin_problems: Sequence[str]) -> None:
    """Reasons to read the run with care, and pinned runs that are missing."""
    found = [banner.text for banner in banners_of(current.summary, current.cost_band)]
    with st.container(key="banners", gap="xxsmall"):
        for sentence in (*found, *pin_problems):
            st.warning(sentence, icon=":material/warning:")
        if not found and not pin_problems:  # a line is always there, so that curves do not jump when a warning comes
            st.caption(all_clear(current.summary, current.cost_band))


def pin_legend(asked: Asked, pins: Pins) -> None:
    """Which dash is which run, where there are several: a line, however long their labels are."""
    if len(asked.pins) > 1 and pins:
        with st.container(key="pin_legend"):
            st.html(legend([(pin.name, pin.dash, pin.label, pin.key == asked.base) for pin, _ in pins]))


def throughput(current: RunView, pins: Pins) -> None:
    """Tokens a second over time."""
    with card("throughput", "Throughput over time", {which: which for which in RATES}) as which:
        live_plot(throughput_figure(current, pins, which), "plot_throughput", alt.throughput(current, RATES[which]))


def throughput_figure(run: RunView, pins: Pins, which: str) -> go.Figure:
    """Tokens a second over time, of one kind."""
    return figures.throughput(run.over_time, RATES[which], _lines(pins, lambda pinned: pinned.over_time))


def distribution(current: RunView, pins: Pins) -> None:
    """Latency distribution with its limit."""
    names = {which: current.distributions[which].quantity.short for which in LATENCIES}
    with card("latency", "Latency distribution", names) as which:
        live_plot(
            distribution_figure(current, pins, which), "plot_latency", alt.distribution(current.distributions[which])
        )


def distribution_figure(run: RunView, pins: Pins, which: str) -> go.Figure:
    """Distribution of one latency."""
    return figures.distribution(run.distributions[which], _lines(pins, lambda pinned: pinned.distributions[which]))


def memory(current: RunView, base: Pins) -> None:
    """KV memory by ledger row, with running and waiting; of the pinned runs the one that numbers compare with."""
    with card("memory", "KV memory, requests running and waiting"):
        live_plot(memory_figure(current, base), "plot_memory", alt.memory(current))


def memory_figure(run: RunView, base: Pins) -> go.Figure:
    """KV memory by ledger row."""
    return figures.memory(run.over_time, _lines(base, lambda pinned: pinned.over_time))


def trade_offs(asked: Asked, current: RunView, pins: Pins) -> LoadFeed | FrontierFeed:
    """What is given for what, filled in while the page is already there: against load, or users against the GPU."""
    is_log = False

    def log_switch(which: str) -> None:
        nonlocal is_log
        if which == "frontier":
            is_log = st.toggle("Log axes", key="frontier_log", persist_state="session")

    with card("load", "Trade-offs", TRADE_OFFS, log_switch) as which:
        feed: LoadFeed | FrontierFeed
        if which == "load":
            feed = load_feed(asked, current, next((run for pin, run in pins if pin.key == asked.base), None))
        else:
            feed = frontier_feed(asked, current, pins, is_log=is_log)
        address = None if feed.is_done else publish(feed)
        figure, words = feed.picture()
        live_plot(figure, f"plot_{which}", words, address)
    return feed


def _lines(pins: Pins, part: Callable[[RunView], Part]) -> list[Pinned[Part]]:
    """Some part of each pinned run, with the line it is drawn as."""
    return [Pinned(part(run), pin.name, pin.dash) for pin, run in pins]
