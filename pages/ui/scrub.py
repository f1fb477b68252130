"""Dragging a knob of Explore without a round trip: its neighbouring positions, computed ahead for pages/js/scrub.js.

Nothing is computed before somebody points at a slider, and only what lies around it. What was found for the
browser is there for the page too: letting the knob go at such a position takes no run.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import streamlit as st
from ui import runs
from ui.asked import Asked
from ui.feed import GATHER_S, Feed, publish
from ui.live_plot import PLOTLY_URL, json_of
from ui.pool import shared_pool
from ui.positions import Position, Show

from sim.errors import ScenarioError
from sim.keys import KEY_OF, KEYS, value_of, value_text
from sim.presets import preset
from sim.scenario import Scenario, with_values
from sim.view.form import default_text
from sim.view.knobs import KNOBS
from sim.view.scrub import stage
from sim.view.steps import with_stop

REACH = 6  # positions on each side
LARGEST = 20_000  # requests; a longer run is not made ahead
LOAD_CURVE_FIRST_S = 3.0  # the page's own job goes before, but not for ever
STEPS = {KEY_OF[knob.path]: knob for knob in KNOBS if knob.widget == "steps"}

_COMPONENT = """
const script = () => import(`${location.origin}/assets/js/scrub.js`);
export default async given => { (await script()).mount(given); }
"""
_mount = st.components.v2.component("longtail_scrub", js=_COMPONENT, html="<div></div>")


class ScrubFeed:
    """The positions around one knob, as they are found."""

    def __init__(self, asked: Asked, key: str, show: Show, is_page_done: Callable[[], bool]) -> None:
        self.key = key
        self.stop = threading.Event()
        self._found: dict[str, Position] = {}
        self._has_ended = False
        self._asked, self._show, self._is_page_done = asked, show, is_page_done
        _pool().submit(self._work)

    @property
    def version(self) -> int:
        """Positions there are."""
        return len(self._found)

    @property
    def is_done(self) -> bool:
        """Whether no more will come."""
        return self._has_ended

    def answer_since(self, seen: int) -> dict[str, Any]:
        """The positions that are new to a browser, and the stage for all."""
        found = list(self._found.items())
        charts = found[0][1].figures
        stages = {name: stage([position.figures[name] for _, position in found]) for name in charts}
        return {
            "stages": {name: json_of(figure) for name, figure in stages.items()},
            "positions": {text: position.for_browser() for text, position in found[seen:]},
        }

    def _work(self) -> None:
        try:
            waited_s = 0.0
            while not self._is_page_done() and waited_s < LOAD_CURVE_FIRST_S and not self.stop.wait(0.05):
                waited_s += 0.05
            for text, scenario in neighbours(self._asked, self.key):
                if self.stop.is_set():
                    return
                try:
                    run = runs.view(scenario, self._asked.trace, is_saturated=self._asked.is_saturated)
                except ScenarioError:
                    continue  # whoever lets the knob go there reads why
                self._found[text] = self._show(scenario, run)
        finally:
            self._has_ended = True


@dataclass(frozen=True)
class Since:
    """A feed for a browser that has seen some of it."""

    feed: ScrubFeed
    seen: int
    gather_s = GATHER_S

    @property
    def version(self) -> int:
        """Positions there are."""
        return self.feed.version

    @property
    def is_done(self) -> bool:
        """Whether no more will come."""
        return self.feed.is_done

    def answer(self) -> dict[str, Any]:
        """What is new."""
        return self.feed.answer_since(self.seen)


@dataclass
class ScrubDesk:
    """Starts the feed of the knob that somebody points at, and stops the one before."""

    asked: Asked
    show: Show
    is_page_done: Callable[[], bool]
    _feed: ScrubFeed | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def feed_of(self, name: str, seen: int) -> Feed | None:
        """The feed of a knob; none where it is no slider."""
        if name not in STEPS:
            return None
        with self._lock:
            if self._feed is None or self._feed.key != name:
                self.close()
                self._feed = ScrubFeed(self.asked, name, self.show, self.is_page_done)
            return Since(self._feed, seen)

    def close(self) -> None:
        """Stop what is being computed."""
        if self._feed is not None:
            self._feed.stop.set()


def scrub(asked: Asked, show: Show, is_page_done: Callable[[], bool]) -> None:
    """Let the sliders of this page replay what lies around them.

    Parameters
    ----------
    asked : Asked
    show : callable
        Makes a `Position` of a scenario and its run.
    is_page_done : callable
        Whether the page's own work is over, which goes before.
    """
    before = st.session_state.get("scrub_desk")
    if before is not None:
        before.close()
    st.session_state.scrub_desk = desk = ScrubDesk(asked, show, is_page_done)
    _mount(key="scrub", data={"feed": publish(desk), "plotly": PLOTLY_URL})


def neighbours(asked: Asked, key: str) -> list[tuple[str, Scenario]]:
    """Positions of a slider around where it stands, the nearest first, and what each would ask for."""
    assert asked.scenario is not None
    knob, path = STEPS[key], KEYS[key]
    now = value_text(_value_at(asked.scenario, path))
    stops = with_stop(knob.options, default_text(knob, preset(asked.preset_name)), now)
    here = stops.index(now)
    near = sorted(range(max(0, here - REACH), min(len(stops), here + REACH + 1)), key=lambda at: abs(at - here))
    found = []
    for at in near:
        try:
            scenario = with_values(asked.scenario, {path: value_of(stops[at], path)})
        except ScenarioError:
            continue
        if scenario.workload.num_requests <= LARGEST:
            found.append((stops[at], scenario))
    return found


def _value_at(scenario: Scenario, path: str) -> Any:
    part: Any = scenario
    for step in path.split("."):
        part = part[int(step)] if step.isdigit() else getattr(part, step)
    return part


@cache
def _pool() -> Executor:
    return shared_pool("scrub", max_workers=2)
