"""Colours, dashes and the layout every figure shares.

Okabe and Ito's palette, told apart by people with any colour vision; dash, marker or hatching says the same a
second time. No background and no font colour is set here: the page takes them from its light or dark theme.
"""

import math
from collections.abc import Sequence
from typing import Any

from sim.view.number_words import short_number

BLUE = "#0072B2"
SKY = "#56B4E9"
GREEN = "#009E73"
YELLOW = "#F0E442"
ORANGE = "#E69F00"
VERMILION = "#D55E00"
PURPLE = "#CC79A7"
GREY = "#8C8C8C"

IN_DARK = {BLUE: "#2B8FD0"}  # lines and marks on the dark theme, where the others stand out more

CURRENT = {"color": BLUE, "width": 2}
SECOND = {"color": VERMILION, "width": 1.6, "dash": "dot"}
PINNED = {"color": GREY, "width": 1.8, "dash": "dash"}
PIN_DASHES = ("dash", "dot", "11px,2px", "dashdot")  # of up to four pinned runs
THIS_RUN = {  # where the run on screen stands on a curve
    "symbol": "diamond",
    "size": 12,
    "color": ORANGE,
    "line": {"width": 1.2, "color": BLUE},
}
LIMIT = {"color": VERMILION, "width": 1.4, "dash": "dot"}

TOP_LEGEND = {
    "orientation": "h",
    "x": 1,
    "xanchor": "right",
    "y": 1.015,
    "yanchor": "bottom",
    "font": {"size": 11.5},
    "itemwidth": 30,
    "bgcolor": "rgba(0,0,0,0)",
}
RIGHT_LEGEND = {
    "x": 1.01,
    "xanchor": "left",
    "y": 1,
    "yanchor": "top",
    "font": {"size": 11},
    "traceorder": "reversed",
    "bgcolor": "rgba(0,0,0,0)",
    "itemwidth": 30,
}
CORNER_LEGEND = {  # for a curve that ends above it, where the room above the plot is taken
    "x": 0.99,
    "xanchor": "right",
    "y": 0.03,
    "yanchor": "bottom",
    "font": {"size": 11},
    "bgcolor": "rgba(0,0,0,0)",
    "itemwidth": 30,
}
PLOT_HEIGHT_PX = 290
LEFT_MARGIN_PX = 58  # the same everywhere, so that the plots of a column stand in one line
SHORT_TICKS = {  # of every axis, as `short_number`: 2,000, 20k in place of 20,000, and 0.5 in place of 500m
    "exponentformat": "SI",
    "minexponent": 3,
    "separatethousands": True,
}
FONT = {"family": '"Source Sans", "Source Sans Pro", sans-serif', "size": 12}


def layout(kind: str, *, height_px: int = PLOT_HEIGHT_PX, **more: Any) -> dict[str, Any]:
    """Layout of one kind of figure.

    Parameters
    ----------
    kind : str
        What the axes show. A zoom is kept as long as the kind stays, so put the metric and its unit in.
    height_px : int
        Fixed height: nothing on the page moves when curves come and go.
    **more
        Further keys of a Plotly layout; they win.

    Returns
    -------
    dict
        For `plotly.graph_objects.Figure(layout=...)`.
    """
    base: dict[str, Any] = {
        "template": None,
        "height": height_px,
        "autosize": True,
        "margin": {"l": LEFT_MARGIN_PX, "r": 14, "t": 22, "b": 38},
        "font": FONT,
        "uirevision": kind,
        "hovermode": "x unified",
        "hoverlabel": {"font": {"size": 12}},
        "showlegend": True,
        "legend": TOP_LEGEND,
    }
    return base | more


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis with its title: what, then the unit in brackets."""
    base: dict[str, Any] = {
        "title": {"text": title, "standoff": 6, "font": {"size": 12}},
        "showgrid": True,
        "gridwidth": 1,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 3,
        "tickfont": {"size": 11},
        "automargin": False,
        "tickangle": 0,  # this and the next: no measuring of labels, a third of the time to draw an axis
        "ticklabeloverflow": "allow",
        "fixedrange": False,
    }
    return base | SHORT_TICKS | more


def log_axis(title: str, low: float, high: float, **more: Any) -> dict[str, Any]:
    """A logarithmic axis whose labels are whole numbers, not the lone digits Plotly puts between decades.

    Parameters
    ----------
    title : str
    low, high : float
        Smallest and largest value shown, above 0; a little room is left on both sides.
    """
    low, high = math.log10(low), math.log10(high)
    room = max(0.04 * (high - low), 0.03)
    low, high = low - room, high + room
    return axis(title, **({"type": "log", "range": [low, high]} | log_ticks(low, high) | more))


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks of a logarithmic axis between two decimal logarithms, as whole numbers."""
    steps: tuple[float, ...] = (1, 2, 5) if high - low < 2.2 else (1, 3) if high - low < 3.5 else (1,)
    shown = _multiples(steps, low, high)
    if len(shown) < 2:
        shown = _multiples((1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), low, high)
    if len(shown) < 2:  # within one step: the ends themselves
        shown = [10**low, 10**high]
    return {"tickvals": shown, "ticktext": [short_number(tick) for tick in shown]}


def _multiples(steps: Sequence[float], low: float, high: float) -> list[float]:
    """Multiples of powers of ten between two decimal logarithms."""
    found = [step * 10.0**decade for decade in range(math.floor(low), math.ceil(high)) for step in steps]
    return [value for value in found if low <= math.log10(value) <= high]
