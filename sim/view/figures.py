"""The figures of Explore. One function a figure; each takes numbers and returns a Plotly figure.

The pinned run is grey and dashed everywhere, the current one blue and whole. Fixed heights, one `uirevision` for
each kind of figure: moving a knob changes curves, never the frame around them.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from sim.scenario import Scenario
from sim.studies.load_curve import LoadCurve, LoadPoint, is_closed
from sim.view import theme
from sim.view.curves import Distribution, Floats, OverTime
from sim.view.memory import MEMORY_STYLE
from sim.view.quantity import Quantity
from sim.view.theme import axis, layout, log_axis, short_number, short_percent

Run = TypeVar("Run", OverTime, Distribution, LoadCurve)
Style = dict[str, Any]
NO_VALUES = "no values: nothing finished, or all tokens of an answer come at once"


def throughput(current: OverTime, quantity: Quantity, pinned: OverTime | None = None) -> go.Figure:
    """Tokens a second over time.

    Parameters
    ----------
    current, pinned : OverTime
        The run on screen and the one it is compared with.
    quantity : Quantity
        Which tokens: its key is looked up in `rates`.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    lines = [_line(run.time_s, run.rates[quantity.key], name, style) for run, name, style in _runs(current, pinned)]
    return go.Figure(
        lines,
        layout(
            f"throughput {quantity.key}",
            xaxis=axis("time since first arrival (s)", rangemode="tozero"),
            yaxis=axis(quantity.axis_title, rangemode="tozero", tickformat="~s"),
            showlegend=pinned is not None,
        ),
    )


def distribution(current: Distribution, pinned: Distribution | None = None) -> go.Figure:
    """Cumulative distribution on a logarithmic axis, with the limit and the share of requests within it."""
    scale = current.quantity.scale
    lines = [
        _line(run.value * scale, run.share * 100, f"{name}, n = {run.num_values:,}", style)
        for run, name, style in _runs(current, pinned)
    ]
    low, high = _positive_range([*(line.x for line in lines), [current.limit * scale] if current.limit else []])
    figure = go.Figure(
        [*lines, _marks(current)],
        layout(
            f"cdf {current.quantity.key}",
            hovermode="closest",
            xaxis=log_axis(f"{current.quantity.axis_title}, log scale", low, high),
            yaxis=axis("share of values at or below (%)", range=[-2, 103], tickvals=[0, 25, 50, 75, 100]),
        ),
    )
    if not current.num_values:
        figure.add_annotation(text=NO_VALUES, xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False)
    if current.limit is not None:
        _add_limit(figure, current.limit * scale, _limit_label(current))
    return figure


def memory(current: OverTime, pinned: OverTime | None = None) -> go.Figure:
    """Where the KV memory is, as stacked shares of the usable blocks; below it the requests running and waiting."""
    areas = [
        go.Scatter(
            x=_short(current.time_s),
            y=_short(current.memory[row] * 100),
            name=style.label,
            uid=row,
            stackgroup="memory",
            mode="lines",
            line={"width": 0},
            fillcolor=style.color,
            fillpattern={"shape": style.hatch, "fgcolor": style.color, "bgcolor": "rgba(0,0,0,0)", "size": 5},
            hovertemplate="%{y:.1f} %",
        )
        for row, style in MEMORY_STYLE.items()
        if row in current.memory and current.memory[row].max(initial=0) > 5e-4
    ]
    lines = [
        _line(current.time_s, current.running, "running", theme.CURRENT, "y2"),
        _line(current.time_s, current.waiting, "waiting", theme.SECOND, "y2"),
    ]
    if pinned is not None:
        used = sum(pinned.memory[row] for row, style in MEMORY_STYLE.items() if style.is_used and row in pinned.memory)
        areas.append(_line(pinned.time_s, np.asarray(used) * 100, "pinned, used", theme.PINNED))
        lines.append(_line(pinned.time_s, pinned.running, "pinned, running", theme.PINNED, "y2"))
    return go.Figure(
        areas + lines,
        layout(
            "memory",
            xaxis=axis("time since first arrival (s)", rangemode="tozero", anchor="y2"),
            yaxis=axis("KV blocks (%)", range=[0, 100.5], domain=[0.44, 1], tickvals=[0, 50, 100]),
            yaxis2=axis("requests", rangemode="tozero", domain=[0, 0.32], nticks=4, tickformat="~s"),
            legend={
                "x": 1.01,
                "xanchor": "left",
                "y": 1,
                "yanchor": "top",
                "font": {"size": 11},
                "traceorder": "reversed",
                "bgcolor": "rgba(0,0,0,0)",
                "itemwidth": 30,
            },
            margin={"l": theme.LEFT_MARGIN_PX, "r": 142, "t": 8, "b": 38},
        ),
    )


def load(
    curve: LoadCurve,
    quantity: Quantity,
    load_title: str,
    loads: Sequence[float],
    operating: LoadPoint | None,
    *,
    is_complete: bool,
    limit: float | None = None,
    pinned: LoadCurve | None = None,
) -> go.Figure:
    """P99 latency above, throughput below, against load; the operating point stands on a dotted line.

    Parameters
    ----------
    curve, pinned : LoadCurve
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
    limit : float, optional
        Of the latency, in its stored unit.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    traces: list[go.Scatter] = []
    for run, name, style in _runs(curve, pinned):
        traces += _load_traces(run, quantity, name, style)
    shown = [*(trace.y for trace in traces[::2]), [limit * quantity.scale] if limit else []]
    if operating and operating.p99_tpot_s > 0:
        shown.append([operating.p99_tpot_s * quantity.scale])
    figure = go.Figure(
        traces,
        layout(
            f"load {quantity.key} {load_title}",
            xaxis=log_axis(
                f"{load_title}, log scale", *_positive_range([loads, [operating.load if operating else 0]]), anchor="y2"
            ),
            yaxis=log_axis(f"p99 {quantity.short} ({quantity.unit})", *_positive_range(shown), domain=[0.56, 1]),
            yaxis2=axis("output tokens/s", rangemode="tozero", domain=[0, 0.44], nticks=4, tickformat="~s"),
            showlegend=pinned is not None,
        ),
    )
    if limit is not None:
        figure.add_shape(
            type="line",
            xref="paper",
            x0=0,
            x1=1,
            y0=limit * quantity.scale,
            y1=limit * quantity.scale,
            line=theme.LIMIT,
        )
    if operating:
        _add_operating_point(figure, operating, quantity)
    if len(curve.load) and np.isnan(curve.p99_tpot_s).all():
        text = "P99 needs at least 100 requests"
        figure.add_annotation(text=text, xref="paper", yref="paper", x=0.5, y=0.8, showarrow=False)
    if not is_complete:
        figure.add_annotation(
            text="incomplete: more points are being computed",
            xref="paper",
            yref="paper",
            x=0,
            y=1.02,
            xanchor="left",
            yanchor="bottom",
            showarrow=False,
            font={"color": theme.VERMILION},
        )
    return figure


def load_title(scenario: Scenario) -> str:
    """Title of the load axis: what load is in this scenario."""
    return "concurrency (users)" if is_closed(scenario) else "arrival rate (requests/s)"


def _runs(current: Run, pinned: Run | None) -> list[tuple[Run, str, Style]]:
    """The runs to draw with name and line, pinned first so that it lies below."""
    runs = [(current, "current", theme.CURRENT)]
    if pinned is not None:
        runs.insert(0, (pinned, "pinned", theme.PINNED))
    return runs


def _line(x: Floats, y: Floats, name: str, style: Style, yaxis: str = "y") -> go.Scatter:
    return go.Scatter(
        x=_short(x),
        y=_short(y),
        name=name,
        uid=f"{yaxis} {name}",
        mode="lines",
        line=style,
        yaxis=yaxis,
        hovertemplate="%{y:,.4~g}",
    )


def _add_operating_point(figure: go.Figure, point: LoadPoint, quantity: Quantity) -> None:
    """Diamonds where the run on screen stands, on a dotted line through both panels."""
    values = (("y", point.p99_tpot_s * quantity.scale), ("y2", point.output_tokens_per_s))
    marker = {"symbol": "diamond", "size": 11, "color": theme.ORANGE, "line": {"width": 1.2, "color": theme.BLUE}}
    for yaxis, value in values:
        figure.add_trace(
            go.Scatter(
                x=[point.load],
                y=[value],
                yaxis=yaxis,
                uid=f"{yaxis} operating point",
                mode="markers",
                marker=marker,
                name="this run",
                legendgroup="this run",
                showlegend=yaxis == "y",
                hovertemplate="%{y:,.4~g}",
            )
        )
    line = {"color": theme.ORANGE, "width": 1, "dash": "dot"}
    figure.add_shape(type="line", x0=point.load, x1=point.load, yref="paper", y0=0, y1=1, line=line, layer="below")


def _short(values: Floats) -> NDArray[np.float32]:
    """Half the bytes; a screen shows fewer digits."""
    return np.asarray(values, np.float32)


def _marks(run: Distribution) -> go.Scatter:
    """Dots at the percentiles people quote."""
    at = [{"p50": 50.0, "p95": 95.0, "p99": 99.0}[name] for name in run.marks]
    value = [mark * run.quantity.scale for mark in run.marks.values()]
    return go.Scatter(
        x=value,
        y=at,
        text=[f"{name} {short_number(x)} {run.quantity.unit}" for name, x in zip(run.marks, value, strict=True)],
        mode="markers",
        marker={"color": theme.BLUE, "size": 7, "symbol": "circle-open", "line": {"width": 2}},
        hovertemplate="%{text}<extra></extra>",
        name="p50, p95, p99",
        showlegend=False,
    )


def _positive_range(values: list[Any]) -> tuple[float, float]:
    """Smallest and largest value above 0, over several arrays."""
    every = np.concatenate([np.asarray(each, np.float64) for each in values])
    every = every[every > 0]
    return (float(every.min()), float(every.max())) if len(every) else (1.0, 10.0)


def _add_limit(figure: go.Figure, limit: float, label: str) -> None:
    """Dotted line, faint good side, label above the plot where no curve runs."""
    figure.add_shape(type="line", x0=limit, x1=limit, yref="paper", y0=0, y1=1, line=theme.LIMIT)
    figure.add_shape(
        type="rect",
        x0=limit * 1e-9,
        x1=limit,
        yref="paper",
        y0=0,
        y1=1,
        line_width=0,
        fillcolor=theme.GREEN,
        opacity=0.07,
        layer="below",
    )
    figure.add_annotation(
        x=0,
        xref="paper",
        y=1.015,
        yref="paper",
        yanchor="bottom",
        xanchor="left",
        showarrow=False,
        text=label,
        font={"color": theme.VERMILION, "size": 11.5},
    )


def _limit_label(run: Distribution) -> str:
    assert run.limit is not None
    text = f"┊ SLO {short_number(run.limit * run.quantity.scale)} {run.quantity.unit}"
    return text if run.attainment is None else f"{text}: {short_percent(run.attainment)} within"


def _load_traces(run: LoadCurve, quantity: Quantity, name: str, style: Style) -> list[go.Scatter]:
    """Latency and throughput; points whose queue grew are hollow."""
    symbol = np.where(run.is_unstable, "circle-open", "circle").tolist()
    marker = {"size": 6, "symbol": symbol, "color": style["color"]}
    return [
        go.Scatter(
            x=_short(run.load),
            y=_short(y),
            name=name,
            mode="lines+markers",
            line=style,
            marker=marker,
            yaxis=yaxis,
            legendgroup=name,
            uid=f"{yaxis} {name}",
            showlegend=yaxis == "y",
            hovertemplate=f"%{{y:,.4~g}} {unit}",
        )
        for y, yaxis, unit in (
            (run.p99_tpot_s * quantity.scale, "y", quantity.unit),
            (run.output_tokens_per_s, "y2", "tokens/s"),
        )
    ]
