"""The load curve: P99 latency and throughput against load, with the run on screen marked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.scenario import Scenario
from sim.studies.load_curve import LoadCurve, LoadPoint, is_closed
from sim.view import theme
from sim.view.lines import INCOMPLETE, Pinned, Style, across, note, positive_range, runs, short, too_few
from sim.view.quantity import Quantity
from sim.view.theme import axis, layout, log_axis

RELEASED = "curve: before the knob was moved"
UNSTABLE = "○ queue grows"


def load_title(scenario: Scenario) -> str:
    """Title of the load axis: what load is in this scenario."""
    return "concurrency (users)" if is_closed(scenario) else "arrival rate (requests/s)"


def load(
    curve: LoadCurve,
    quantity: Quantity,
    load_title: str,
    loads: Sequence[float],
    operating: LoadPoint | None,
    *,
    is_complete: bool,
    is_on_curve: bool = True,
    problem: str = "",
    limit: float | None = None,
    pins: Sequence[Pinned[LoadCurve]] = (),
) -> go.Figure:
    """P99 latency above, throughput below, against load; the operating point stands on a dotted line.

    Parameters
    ----------
    curve : LoadCurve
    quantity : Quantity
        Of the latency.
    load_title : str
        Title of the load axis.
    loads : sequence of float
        All loads to come, so that the axis stands still while points come in; empty while unknown.
    operating : LoadPoint, optional
        The run on screen.
    is_complete : bool
        False while points are missing: the figure says so.
    is_on_curve : bool
        False where the run on screen has another curve than the one drawn: the figure says so.
    problem : str
        Why points will stay missing; the figure says that too.
    limit : float, optional
        Of the latency, in its stored unit.
    pins : sequence of Pinned
        The curves it is compared with.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    scale = quantity.scale
    traces = [trace for run in runs(curve, pins) for trace in _curve(*run, quantity)]
    latencies = [trace.y for trace in traces if trace.yaxis == "y"]
    if operating is not None:
        traces += _mark(operating, quantity)
        latencies.append([np.nan_to_num(operating.p99_tpot_s * scale)])
    if limit is not None:
        latencies.append([limit * scale])
    all_loads = [*loads, operating.load if operating else 0, *(load for trace in traces for load in trace.x)]
    return go.Figure(
        traces,
        layout(
            f"load {quantity.key} {load_title}",
            xaxis=log_axis(f"{load_title}, log scale", *positive_range([all_loads]), anchor="y2"),
            yaxis=log_axis(f"p99 {quantity.short} ({quantity.unit})", *positive_range(latencies), domain=[0.56, 1]),
            yaxis2=axis("output tokens/s", rangemode="tozero", domain=[0, 0.44], nticks=4),
            showlegend=bool(pins) or operating is not None,
            shapes=_shapes(operating, None if limit is None else limit * scale),
            annotations=_notes(curve, quantity, is_complete, is_on_curve, problem, _limit_label(limit, quantity)),
        ),
    )


def _curve(run: LoadCurve, name: str, style: Style, quantity: Quantity) -> list[go.Scatter]:
    """Latency and throughput; points whose queue grew are hollow."""
    symbol = np.where(run.is_unstable, "circle-open", "circle").tolist()
    marker = {"size": 6, "symbol": symbol, "color": style["color"]}
    return [
        go.Scatter(
            x=short(run.load),
            y=short(values),
            name=name,
            uid=f"{yaxis} {name}",
            mode="lines+markers",
            cliponaxis=False,
            line=style,
            marker=marker,
            yaxis=yaxis,
            legendgroup=name,
            showlegend=yaxis == "y",
            hovertemplate=f"%{{y:,.4~g}} {unit}",
        )
        for values, yaxis, unit in (
            (run.p99_tpot_s * quantity.scale, "y", quantity.unit),
            (run.output_tokens_per_s, "y2", "tokens/s"),
        )
    ]


def _mark(point: LoadPoint, quantity: Quantity) -> list[go.Scatter]:
    """Diamonds where the run on screen stands."""
    return [
        go.Scatter(
            x=[point.load],
            y=[value],
            yaxis=yaxis,
            uid=f"{yaxis} this run",
            mode="markers",
            cliponaxis=False,
            marker=theme.THIS_RUN,
            name="this run",
            legendgroup="this run",
            showlegend=yaxis == "y",
            hovertemplate=f"%{{y:,.4~g}} {unit}",
        )
        for yaxis, value, unit in (
            ("y", point.p99_tpot_s * quantity.scale, quantity.unit),
            ("y2", point.output_tokens_per_s, "tokens/s"),
        )
    ]


def _shapes(operating: LoadPoint | None, limit: float | None) -> list[dict[str, Any]]:
    """Dotted lines: across the panels at the run on screen, along the upper one at the limit."""
    shapes = []
    if operating is not None:
        shapes.append(across(operating.load, {"color": theme.ORANGE, "width": 1, "dash": "dot"}, layer="below"))
    if limit is not None:
        along = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": limit, "y1": limit}
        shapes.append(along | {"line": theme.LIMIT})
    return shapes


def _limit_label(limit: float | None, quantity: Quantity) -> str:
    return "" if limit is None else f"┈ SLO {quantity.told(limit)}"


def _notes(
    curve: LoadCurve, quantity: Quantity, is_complete: bool, is_on_curve: bool, problem: str, limit_label: str
) -> list[dict[str, Any]]:
    """What is amiss with the curve; else what its dotted line and its hollow points are."""
    text = problem or (RELEASED if not is_on_curve else "" if is_complete else INCOMPLETE)
    if not text:
        text = "   ".join(each for each in (limit_label, UNSTABLE if curve.is_unstable.any() else "") if each)
    notes = [note(text, font={"size": 11.5})] if text else []
    if len(curve.load) and np.isnan(curve.p99_tpot_s).all():
        notes.append(too_few(quantity))
    return notes
