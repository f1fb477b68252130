"""Meeting mode: no sidebar, large type, a verdict and two pictures; left and right step through the pinned runs."""

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st
from ui.asked import Asked, Pin
from ui.card import card
from ui.headline import headline
from ui.live_plot import live_plot

from sim.keys import MEETING
from sim.view import alt, figures, theme
from sim.view.enlarged import enlarged
from sim.view.lines import CURRENT, Pinned
from sim.view.number_words import counted
from sim.view.run_view import RunView
from sim.view.verdict import verdict

ON = "1"
PLACE = "meeting_place"  # which of the runs is shown
STEPS = (("Previous", "meeting_previous", "Left", -1), ("Next", "meeting_next", "Right", 1))

_CSS = """
<style>
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"] {display: none;}
.st-key-verdict [data-testid="stHeading"] h1 {font-size: 1.9rem; line-height: 1.25;}
.st-key-meeting_where p {font-size: 1.25rem;}
.st-key-head {min-height: 7.6rem; align-items: flex-start;}
[class*="st-key-cardhead_meeting"] p {font-size: 1.3rem;}
[class*="st-key-plot_meeting"] .live-plot {height: max(320px, calc(100vh - 19.5rem));}
.st-key-head kbd {color: inherit; opacity: 1;}
</style>
"""


class Shown(NamedTuple):
    """A run that can be stepped to."""

    name: str
    label: str
    run: RunView


def is_meeting() -> bool:
    """Whether the link asks for it."""
    return bool(st.session_state[MEETING] == ON)


def meeting_button() -> None:
    """The button that begins it."""
    st.button(
        "Meeting",
        key="meeting_begin",
        icon=":material/co_present:",
        on_click=_set,
        args=(ON,),
        help="Hide the knobs and enlarge verdict and two pictures; the left and right keys step through the pinned "
        "runs.",
    )


def meeting(asked: Asked, current: RunView, pins: Sequence[tuple[Pin, RunView]], pin_problems: Sequence[str]) -> None:
    """Draw the page."""
    st.html(_CSS)
    runs = [Shown(CURRENT, "", current), *(Shown(pin.name, pin.label, run) for pin, run in pins)]
    place = min(st.session_state.get(PLACE, 0), len(runs) - 1)
    shown = runs[place]
    base = next((run for pin, run in pins if pin.key == asked.base), None)
    against = None if base is None or base is shown.run else base
    with st.container(horizontal=True, key="head"):
        with st.container(key="verdict"):
            headline(verdict(shown.run.scenario, shown.run.summary, against and against.summary, asked.base_name))
        _steps(place, len(runs))
    with st.container(key="meeting_where"):
        st.markdown(_where(shown, place, len(runs), shown.run.cost_band.text))
    if pin_problems:
        with st.container(key="banners", gap="xxsmall"):
            for sentence in pin_problems:
                st.warning(sentence, icon=":material/warning:")
    _pictures(shown, [each for each in runs if each is not shown])


def _steps(place: int, count: int) -> None:
    """Buttons that step and the one that ends it; keys do the same."""
    for label, key, shortcut, by in STEPS:
        st.button(
            label,
            key=key,
            shortcut=shortcut,
            on_click=_step,
            args=((place + by) % count,),
            disabled=count == 1,
            help="Steps through the pinned runs." if count > 1 else "Pin runs first.",
        )
    st.button("End", key="meeting_end", shortcut="Esc", on_click=_set, args=("",), help="Back to the knobs.")


def _where(shown: Shown, place: int, count: int, trust: str) -> str:
    """Which run it is, and how far to trust it."""
    label = f"{shown.name} ({shown.label})" if shown.label else shown.name
    which = f"Run {place + 1} of {count}: **{label}**. " if count > 1 else ""
    title = shown.run.scenario.about.title
    return (
        f"{which}{title}, {counted(shown.run.summary['requests']['total'], 'request')}. Trust in step times: {trust}."
    )


def _pictures(shown: Shown, others: Sequence[Shown]) -> None:
    """Latency and memory of the run; the others' latency as grey dashes."""
    left, right = st.columns(2, gap="small")
    with left, card("meeting_latency", f"Latency distribution: {shown.run.distributions['TPOT'].quantity.label}"):
        dashed = [
            Pinned(each.run.distributions["TPOT"], each.name, dash)
            for each, dash in zip(others, theme.PIN_DASHES, strict=False)
        ]
        run = shown.run.distributions["TPOT"]
        figure = enlarged(figures.distribution(run, dashed, shown.name))
        live_plot(figure, "plot_meeting_latency", alt.distribution(run))
    with right, card("meeting_memory", "KV memory, requests running and waiting"):
        live_plot(enlarged(figures.memory(shown.run.over_time)), "plot_meeting_memory", alt.memory(shown.run))


def _set(text: str) -> None:
    st.session_state[MEETING] = text
    st.session_state[PLACE] = 0


def _step(place: int) -> None:
    st.session_state[PLACE] = place
