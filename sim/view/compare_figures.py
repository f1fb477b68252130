"""Figures of schedulers side by side: KV memory on one scale, latencies and rates against load."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.studies.compare import TARGET, Compared, Row
from sim.view import theme
from sim.view.compare import title
from sim.view.lines import Style, note, positive_range, short
from sim.view.theme import axis, layout, log_axis

INCOMPLETE = "incomplete: more runs are on their way"
COLORS = (theme.BLUE, theme.VERMILION, theme.GREEN, theme.PURPLE, theme.ORANGE, theme.SKY, theme.GREY, theme.BLUE)
DASHES = ("solid", "dash", "dot", "dashdot", "solid", "dash", "longdash", "dot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "pentagon")
PANELS = {  # axis: field, factor, title, log
    "y": ("tpot_p99_s", 1e3, "p99 TPOT (ms)", True),
    "y2": ("ttft_p99_s", 1.0, "p99 TTFT (s)", True),
    "y3": ("output_tokens_per_s", 1.0, "output tokens/s", False),
    "y4": ("good_rps", 1.0, "good requests/s", False),
}
PLACES = {
    "y": ("x", [0, 0.46], [0.56, 1]),
    "y2": ("x2", [0.54, 1], [0.56, 1]),
    "y3": ("x3", [0, 0.46], [0, 0.44]),
    "y4": ("x4", [0.54, 1], [0, 0.44]),
}
COLUMNS_OF_MEMORY = 4


def style_of(place: int) -> Style:
    """Colour and dash of the scheduler in that place; never colour alone."""
    return {"color": COLORS[place % len(COLORS)], "dash": DASHES[place % len(DASHES)], "width": 1.8}


def memory(rows: Mapping[str, Row]) -> go.Figure:
    """KV memory over time, a panel a scheduler, all on the same scales."""
    shown = {name: each.memory for name, each in rows.items() if each.memory is not None}
    columns = min(COLUMNS_OF_MEMORY, max(len(shown), 1))
    lines = -(-max(len(shown), 1) // columns)
    end_s = max((float(each.time_s[-1]) for each in shown.values()), default=1.0)
    top_percent = 100 * max((float((each.used + each.wasted).max()) for each in shown.values()), default=1.0)
    traces: list[go.Scatter] = []
    axes: dict[str, Any] = {}
    notes = []
    for place, (name, each) in enumerate(shown.items()):
        line, column = divmod(place, columns)
        number = "" if place == 0 else str(place + 1)
        width, height = 1 / columns, 1 / lines
        x = [column * width, (column + 1) * width - 0.025]
        top = 1 - line * height
        y = [top - height + (0.1 if line < lines - 1 else 0), top - 0.06]
        is_lowest = line == lines - 1 or place + columns >= len(shown)
        axes[f"xaxis{number}"] = axis(
            "time (s)" if is_lowest else "", range=[0, end_s], domain=x, anchor=f"y{number}", nticks=4
        )
        axes[f"yaxis{number}"] = axis(
            "KV (%)" if column == 0 else "", range=[0, 1.05 * top_percent], domain=y, anchor=f"x{number}",
            nticks=4, showticklabels=column == 0,
        )  # fmt: skip
        notes.append(note(title(name), x[0], y[1], xanchor="left", yanchor="bottom", font={"size": 12}))
        for values, label, color, pattern in (
            (each.used, "computed tokens", theme.BLUE, ""),
            (each.wasted, "reserved, held or unfilled", theme.ORANGE, "/"),
        ):
            traces.append(
                go.Scatter(
                    x=short(each.time_s),
                    y=short(values * 100),
                    xaxis=f"x{number}",
                    yaxis=f"y{number}",
                    name=label,
                    uid=f"{label} {name}",
                    legendgroup=label,
                    showlegend=place == 0,
                    stackgroup=f"rows {name}",
                    mode="lines",
                    line={"width": 0.6, "color": color},
                    fillpattern={"shape": pattern, "fgcolor": color, "bgcolor": "rgba(0,0,0,0)"} if pattern else None,
                    fillcolor=color,
                    hovertemplate="%{y:.3~g} %",
                )
            )
    return go.Figure(
        traces,
        layout("compare memory", annotations=notes, hovermode="x", **axes, height=190 * lines + 60),
    )  # fmt: skip


def against_load(
    points: Sequence[Compared],
    names: Sequence[str],
    load_title: str,
    limits: Mapping[str, float | None],
    loads: Sequence[float],
    *,
    is_complete: bool,
    operating: float | None = None,
) -> go.Figure:
    """Two latencies and two rates against load, a line a scheduler; the side within the limit is shaded.

    Parameters
    ----------
    limits : mapping
        Seconds, of "ttft_p99_s" and "tpot_p99_s".
    loads : sequence of float
        All loads to come, so that the axis stands still.
    operating : float, optional
        The load as asked: a dotted line.
    """
    traces: list[go.Scatter] = []
    values: dict[str, list[Any]] = {yaxis: [] for yaxis in PANELS}
    for place, name in enumerate(names):
        own = sorted((each for each in points if each.system == name), key=lambda each: each.load)
        for yaxis, (field, factor, _, _) in PANELS.items():
            heights = np.array([getattr(each, field) * factor for each in own], np.float64)
            values[yaxis].append(np.nan_to_num(heights))
            traces.append(
                go.Scatter(
                    x=short([each.load for each in own]),
                    y=short(heights),
                    xaxis=PLACES[yaxis][0],
                    yaxis=yaxis,
                    name=title(name),
                    uid=f"{yaxis} {name}",
                    legendgroup=name,
                    showlegend=yaxis == "y",
                    mode="lines+markers",
                    line=style_of(place),
                    marker={"size": 6, "symbol": MARKERS[place % len(MARKERS)], "color": style_of(place)["color"]},
                    hovertemplate="%{y:,.4~g}",
                )
            )
    axes: dict[str, Any] = {}
    shapes = []
    low, high = positive_range([[*loads] or [1.0]])
    for yaxis, (field, factor, text, is_log) in PANELS.items():
        xaxis, x, y = PLACES[yaxis]
        name = f"axis{yaxis[1:]}"
        axes[f"x{name}"] = log_axis(load_title, low, high, domain=x, anchor=yaxis)
        limit = limits.get(field)
        reached: list[Any] = [*values[yaxis], *([[limit * factor]] if limit is not None else [])]
        if is_log:
            axes[f"y{name}"] = log_axis(text, *positive_range(reached), domain=y, anchor=xaxis)
        else:
            axes[f"y{name}"] = axis(text, rangemode="tozero", domain=y, anchor=xaxis, tickformat="~s")
        if limit is not None:
            span = {"type": "rect", "xref": f"{xaxis} domain", "x0": 0, "x1": 1, "yref": yaxis}
            bottom = positive_range(reached)[0] / 10
            shapes.append(
                span | {"y0": bottom, "y1": limit * factor, "fillcolor": theme.GREEN, "opacity": 0.1,
                        "line": {"width": 0}, "layer": "below"}
            )  # fmt: skip
            edge = {"type": "line", "xref": f"{xaxis} domain", "x0": 0, "x1": 1, "yref": yaxis}
            shapes.append(edge | {"y0": limit * factor, "y1": limit * factor, "line": theme.LIMIT})
        if operating is not None:
            mark = {"type": "line", "xref": xaxis, "x0": operating, "x1": operating, "yref": f"{yaxis} domain"}
            shapes.append(mark | {"y0": 0, "y1": 1, "line": {"color": theme.GREY, "width": 1, "dash": "dot"}})
    notes = [] if is_complete else [note(INCOMPLETE, 0.0, -0.02, yanchor="top")]
    return go.Figure(
        traces,
        layout("compare load", shapes=shapes, annotations=notes, hovermode="closest", height=520, **axes),
    )


def in_words(points: Sequence[Compared], names: Sequence[str]) -> str:
    """The figure against load for those who do not see it."""
    parts = []
    for name in names:
        own = sorted((each for each in points if each.system == name), key=lambda each: each.load)
        if own:
            last = own[-1]
            parts.append(
                f"{title(name)} at load {last.load:,.4g}: p99 TPOT {1000 * last.tpot_p99_s:,.4g} ms, "
                f"p99 TTFT {last.ttft_p99_s:,.4g} s, {last.output_tokens_per_s:,.4g} output tokens/s"
            )
    return f"Schedulers against load; limits for {TARGET:.0%} of requests. " + "; ".join(parts)
