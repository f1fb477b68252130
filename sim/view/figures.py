"""The figures of one run: one function a figure; each takes numbers and returns a Plotly figure.

Pinned runs are grey and dashed everywhere, the current one blue and whole. Fixed heights, one `uirevision` for
each kind of figure: moving a knob changes curves, never the frame around them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.view import theme
from sim.view.curves import Distribution, OverTime
from sim.view.ledger_figures import stacked
from sim.view.lines import CURRENT, Pinned, across, line, note, positive_range, runs
from sim.view.memory import MEMORY_STYLE
from sim.view.number_words import short_percent
from sim.view.quantity import Quantity
from sim.view.theme import axis, layout, log_axis

NO_VALUES = "no values: nothing finished, or all tokens of an answer come at once"
TIME_AXIS = "time since first arrival (s)"
OVER_TIME: dict[str, Any] = {"rangemode": "tozero", "unifiedhovertitle": {"text": "%{x:,.4~g} s"}}
SHARE_OF_MARK = {"p50": 50.0, "p95": 95.0, "p99": 99.0}
FAR_APART = 0.09  # of an axis: a label fits between two marks


def throughput(current: OverTime, quantity: Quantity, pins: Sequence[Pinned[OverTime]] = ()) -> go.Figure:
    """Tokens a second over time.

    Parameters
    ----------
    current : OverTime
        The run on screen.
    quantity : Quantity
        Which tokens: its key is looked up in `rates`.
    pins : sequence of Pinned
        The runs it is compared with.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    return go.Figure(
        [line(run.time_s, run.rates[quantity.key], name, style) for run, name, style in runs(current, pins)],
        layout(
            f"throughput {quantity.key}",
            xaxis=axis(TIME_AXIS, **OVER_TIME),
            yaxis=axis(quantity.axis_title, rangemode="tozero"),
            showlegend=bool(pins),
        ),
    )


def distribution(current: Distribution, pins: Sequence[Pinned[Distribution]] = (), name: str = CURRENT) -> go.Figure:
    """Cumulative distribution on a logarithmic axis, with the limit and the share of requests within it.

    Parameters
    ----------
    current : Distribution
        Of the run that is shown, and marked.
    pins : sequence of Pinned
        The runs it is compared with.
    name : str
        What the run that is shown is called.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    quantity, scale = current.quantity, current.quantity.scale
    has_room = len(pins) == 1 and pins[0].run.num_values != current.num_values  # and something to say
    lines = [
        line(run.value * scale, run.share * 100, _with_count(run, called, has_room or called == name), style)
        for run, called, style in runs(current, pins, name)
    ]
    limit = [] if current.limit is None else [current.limit * scale]
    notes = [] if current.num_values else [note(NO_VALUES, 0.5, 0.5)]
    if limit:
        notes.append(note(_limit_label(current), font={"size": 11.5}))
    values = log_axis(f"{quantity.axis_title}, log scale", *positive_range([*(each.x for each in lines), limit]))
    return go.Figure(
        [*lines, _marks(current, values["range"])],
        layout(
            f"cdf {quantity.key}",
            hovermode="closest",
            xaxis=values,
            yaxis=axis("share of values at or below (%)", range=[-2, 103], tickvals=[0, 25, 50, 75, 100]),
            shapes=_limit_shapes(limit[0]) if limit else [],
            annotations=notes,
            legend=theme.CORNER_LEGEND if len(pins) > 1 else theme.TOP_LEGEND,
        ),
    )


def memory(current: OverTime, pins: Sequence[Pinned[OverTime]] = ()) -> go.Figure:
    """Where the KV memory is, as stacked shares of the usable blocks; below it the requests running and waiting."""
    traces = stacked(current.time_s, current.memory, MEMORY_STYLE)
    traces.append(line(current.time_s, current.running, "running", theme.CURRENT, "y2"))
    traces.append(line(current.time_s, current.waiting, "waiting", theme.SECOND, "y2"))
    for run, name, style in runs(current, pins)[:-1]:
        used = sum(run.memory[row] for row, of_row in MEMORY_STYLE.items() if of_row.is_used)
        traces.append(line(run.time_s, np.asarray(used) * 100, f"{name} used", style))
        traces.append(line(run.time_s, run.running, f"{name} running", style, "y2"))
    return go.Figure(
        traces,
        layout(
            "memory",
            xaxis=axis(TIME_AXIS, anchor="y2", **OVER_TIME),
            yaxis=axis("KV blocks (%)", range=[0, 100.5], domain=[0.44, 1], tickvals=[0, 50, 100]),
            yaxis2=axis("requests", rangemode="tozero", domain=[0, 0.32], nticks=4),
            legend=theme.RIGHT_LEGEND,
            margin={"l": theme.LEFT_MARGIN_PX, "r": 142, "t": 8, "b": 38},
        ),
    )


def _with_count(run: Distribution, name: str, is_room: bool) -> str:
    """A line's name with the values behind it, where there is room."""
    return f"{name}, n = {run.num_values:,}" if is_room else name


def _marks(run: Distribution, ends: Sequence[float]) -> go.Scatter:
    """Circles at the percentiles people quote, on an axis between two decimal logarithms."""
    values = [value * run.quantity.scale for value in run.marks.values()]
    at = [(math.log10(value) - ends[0]) / (ends[1] - ends[0]) if value > 0 else 0.0 for value in values]
    places = dict(zip(run.marks, at, strict=True))
    return go.Scatter(
        x=values,
        y=[SHARE_OF_MARK[name] for name in run.marks],
        text=list(run.marks),
        textposition=[_side(name, places) for name in run.marks],
        textfont={"size": 10.5},
        customdata=[f"{name} {run.quantity.told(value)}" for name, value in run.marks.items()],
        uid="marks",
        mode="markers+text",
        cliponaxis=False,
        marker={"color": theme.BLUE, "size": 7, "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate="%{customdata}<extra></extra>",
        showlegend=False,
    )


def _side(name: str, places: Mapping[str, float]) -> str:
    """Where a mark's name stands: beside the curve, not on it; places are shares of the axis, which ends with room."""
    if name == "p95" and places.get("p99", 1.0) - places[name] < FAR_APART:  # steep: the curve runs to the left
        return "middle left"
    return "bottom right"  # a curve that only rises is never there


def _limit_shapes(limit: float) -> list[dict[str, Any]]:
    """Dotted line and faint good side."""
    good_side = {"type": "rect", "x0": limit * 1e-9, "x1": limit, "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    return [
        across(limit, theme.LIMIT),
        good_side | {"line": {"width": 0}, "fillcolor": theme.GREEN, "opacity": 0.07},
    ]


def _limit_label(run: Distribution) -> str:
    assert run.limit is not None
    text = f"┊ SLO {run.quantity.told(run.limit)}"
    return text if run.attainment is None else f"{text}: {short_percent(run.attainment)} within"
