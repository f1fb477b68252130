"""Counterfactuals as a picture: what changes when something is taken away, with the replications' intervals."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from sim.studies.counterfactuals import Gain, World
from sim.view import theme
from sim.view.length_tail import GainRow, change, signed_percent
from sim.view.lines import INCOMPLETE, note
from sim.view.quantity import Quantity
from sim.view.theme import axis, layout

LOOKS = {"x": (theme.BLUE, "circle"), "x2": (theme.VERMILION, "diamond")}


class Dot(NamedTuple):
    """One gain as it is drawn, in percent."""

    x: float
    y: int
    text: str
    below: float  # length of the interval on both sides
    above: float
    symbol: str
    hover: str


def counterfactuals(rows: Sequence[GainRow], per_token: Quantity, *, is_complete: bool) -> go.Figure:
    """Change of saturated throughput on the left, of p99 as asked on the right.

    The axes hold every interval but those of the backlog, which is so far off that it would hide the others: what lies
    beyond an axis stands at its end as an arrow, with its number.
    """
    place = list(range(len(rows)))[::-1]
    panels = {"x": [row.rate for row in rows], "x2": [row.tpot_p99 for row in rows]}
    is_near = [row.world is not World.BACKLOG for row in rows]
    ends = {key: _range([gain for gain, near in zip(gains, is_near, strict=True) if near and gain is not None])
            for key, gains in panels.items()}  # fmt: skip
    traces = []
    for key, gains in panels.items():
        color, symbol = LOOKS[key]
        there = [(gain, y, row.label) for gain, y, row in zip(gains, place, rows, strict=True) if gain is not None]
        traces.append(_panel([_dot(*each, symbol, *ends[key]) for each in there], key, color))
    return go.Figure(
        traces,
        layout(
            f"counterfactuals {per_token.key}",
            hovermode="closest",
            showlegend=False,
            xaxis=_gain_axis("output tokens/s (%),<br>saturated", [0, 0.46], ends["x"]),
            xaxis2=_gain_axis(f"p99 {per_token.short} (%),<br>as asked", [0.54, 1], ends["x2"]),
            yaxis=axis("", tickvals=place, ticktext=[row.label for row in rows], range=[-0.6, len(rows) - 0.4]),
            annotations=[] if is_complete else [note(INCOMPLETE)],
            margin={"l": 172, "r": 14, "t": 22, "b": 54},
        ),
    )


def _range(gains: Sequence[Gain]) -> tuple[float, float]:
    """Percents that hold every interval and zero, with some room."""
    ends = [0.0] + [100 * end for gain in gains for end in (gain.mean, gain.low, gain.high) if np.isfinite(end)]
    room = max(0.2 * (max(ends) - min(ends)), 1.0)
    return min(ends) - room, max(ends) + room


def _gain_axis(title: str, domain: list[float], ends: tuple[float, float]) -> dict[str, Any]:
    return axis(title, domain=domain, range=list(ends), zeroline=True, zerolinewidth=2, nticks=5)


def _dot(gain: Gain, y: int, label: str, symbol: str, low: float, high: float) -> Dot:
    mean = 100 * gain.mean
    x = min(max(mean, low), high)
    below, above = (0.0, 0.0) if x != mean else (100 * (gain.mean - gain.low), 100 * (gain.high - gain.mean))
    if x != mean:
        symbol = "triangle-right" if mean > 0 else "triangle-left"
    return Dot(x, y, signed_percent(gain.mean), below, above, symbol, f"{label.replace('<br>', ' ')}: {change(gain)} %")


def _panel(dots: Sequence[Dot], xaxis: str, color: str) -> go.Scatter:
    return go.Scatter(
        x=[dot.x for dot in dots],
        y=[dot.y for dot in dots],
        xaxis=xaxis,
        uid=xaxis,
        name=xaxis,
        mode="markers+text",
        text=[dot.text for dot in dots],
        cliponaxis=False,
        textposition=["top left" if dot.symbol == "triangle-right" else "top center" for dot in dots],
        marker={"color": color, "size": 9, "symbol": [dot.symbol for dot in dots]},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [dot.above for dot in dots],
            "arrayminus": [dot.below for dot in dots],
            "color": color,
            "thickness": 1.6,
        },
        customdata=[dot.hover for dot in dots],
        hovertemplate="%{customdata}<extra></extra>",
    )
