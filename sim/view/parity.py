"""Measured against predicted: what lies on the diagonal is right, what lies beside it is off by a factor."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go
from numpy.typing import ArrayLike

from sim.view import theme
from sim.view.lines import note, positive_range, short
from sim.view.theme import layout, log_axis

LOOKS = (  # colour and shape say the same
    (theme.BLUE, "circle"), (theme.VERMILION, "diamond"), (theme.GREEN, "square"), (theme.PURPLE, "triangle-up"),
    (theme.ORANGE, "x"), (theme.SKY, "cross"), (theme.GREY, "triangle-down"), (theme.BLUE, "star-open"),
    (theme.VERMILION, "circle-open"), (theme.GREEN, "diamond-open"), (theme.PURPLE, "square-open"),
)  # fmt: skip
DIAGONAL = {"color": theme.GREY, "width": 1.4}
BAND = {"color": theme.GREY, "width": 1, "dash": "dot"}
NOTHING = "nothing to compare"


class Cloud(NamedTuple):
    """Points that belong together; all three of one length."""

    name: str
    measured: ArrayLike  # in the unit of the axes
    predicted: ArrayLike
    text: Sequence[str] = ()  # of each point, for the hover


def parity(kind: str, what: str, unit: str, clouds: Sequence[Cloud], band_percent: float) -> go.Figure:
    """Parity plot on logarithmic axes.

    Parameters
    ----------
    kind : str
        What the axes show; a zoom is kept as long as it stays.
    what, unit : str
        Titles of the axes are "measured `what`" and "simulated `what`".
    clouds : sequence of Cloud
    band_percent : float
        Dotted lines lie so far beside the diagonal.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    low, high = positive_range([values for cloud in clouds for values in (cloud.measured, cloud.predicted)] or [[]])
    traces = [_cloud(cloud, *LOOKS[i % len(LOOKS)], unit) for i, cloud in enumerate(clouds)]
    notes = [note(f"dotted: ±{band_percent:g} %", font={"size": 11.5})]
    if not clouds:
        notes.append(note(NOTHING, 0.5, 0.5))
    return go.Figure(
        traces,
        layout(
            f"parity {kind} {unit}",
            hovermode="closest",
            xaxis=log_axis(f"measured {what} ({unit}), log scale", low, high),
            yaxis=log_axis(f"simulated {what} ({unit})", low, high),
            shapes=_diagonals(low, high, 1 + band_percent / 100),
            annotations=notes,
            legend=theme.RIGHT_LEGEND | {"traceorder": "normal"},
            margin={"l": theme.LEFT_MARGIN_PX, "r": 142, "t": 22, "b": 38},
        ),
    )


def _cloud(cloud: Cloud, color: str, symbol: str, unit: str) -> go.Scatter:
    point = f"measured %{{x:,.4~g}} {unit}<br>simulated %{{y:,.4~g}} {unit}"
    return go.Scatter(
        x=short(cloud.measured),
        y=short(cloud.predicted),
        text=list(cloud.text) or None,
        name=cloud.name,
        uid=cloud.name,
        mode="markers",
        marker={"color": color, "symbol": symbol, "size": 6, "opacity": 0.8},
        hovertemplate=("%{text}<br>" if cloud.text else "") + point,
    )


def _diagonals(low: float, high: float, factor: float) -> list[dict[str, Any]]:
    """Where both are equal, and the band on both sides of it."""
    ends = {"type": "line", "layer": "below", "x0": low, "x1": high}
    return [
        ends | {"y0": low * by, "y1": high * by, "line": DIAGONAL if by == 1 else BAND}
        for by in (1 / factor, 1, factor)
    ]
