"""A Plotly chart that stays alive: new numbers move its curves and leave zoom and hidden traces alone.

`st.plotly_chart` builds a chart anew whenever a number in it changes; this component updates the one that is there.
The work is done in pages/js/live_plot.js.
"""

import re

import plotly.graph_objects as go
import plotly.io as pio
import streamlit as st
from ui.order import stamp

from sim.view.theme import IN_DARK

_UNFIT = re.compile(r"[^\w -]|(?<= )(?=\d)")  # in a CSS selector, which Plotly makes of a uid when its line goes
PLOTLY_URL = "/assets/plotly.min.js"  # served by app.py, as is the script

_PLOT = """
const script = () => import(`${location.origin}/assets/js/live_plot.js`);
export default async given => (await script()).mount(given);
"""
_PRELOAD = """
const script = () => import(`${location.origin}/assets/js/live_plot.js`);
export default async given => { (await script()).plotly(given.data.plotly); }
"""
_mount = st.components.v2.component(
    "longtail_live_plot", js=_PLOT, isolate_styles=False, html='<div class="live-plot"></div>'
)
_preload = st.components.v2.component("longtail_preload", js=_PRELOAD, html="<div></div>")


def preload() -> None:
    """Let the browser fetch plotly.js while the first run is still being computed."""
    _preload(key="preload_plotly", data={"plotly": PLOTLY_URL})


def live_plot(figure: go.Figure, key: str, alt: str, feed: str | None = None) -> None:
    """Draw a figure.

    Parameters
    ----------
    figure : plotly.graph_objects.Figure
        With a constant `uirevision`; its height gives way to the style sheet's.
    key : str
        Identity of the chart; the same key keeps zoom and hidden traces.
    alt : str
        What the chart shows, for people who do not see it.
    feed : str, optional
        Address of a feed (`ui.feed`) whose answers, as `spec_of` makes them, take the figure's place as they come.
    """
    spec = spec_of(figure, alt)
    given = stamp(key, f"{spec} {feed}")
    _mount(key=key, data={**spec, "plotly": PLOTLY_URL, "feed": feed, "given": given, "dark": IN_DARK})


def spec_of(figure: go.Figure, alt: str) -> dict[str, str]:
    """A figure and its description as they travel to the browser."""
    return {"spec": json_of(figure), "alt": alt}


def json_of(figure: go.Figure) -> str:
    """A figure as text, with the `uid` by which the browser knows each line again."""
    spec = figure.to_dict()
    for trace in spec["data"]:
        if "uid" in trace:
            trace["uid"] = _UNFIT.sub(_spelt, trace["uid"])
    text: str = pio.to_json(spec, validate=False, remove_uids=False)
    return text


def _spelt(found: re.Match[str]) -> str:
    return f"_{ord(found[0]):x}_" if found[0] else "_"
