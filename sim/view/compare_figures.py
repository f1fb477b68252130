"""Figures of schedulers side by side: KV memory on one scale, latencies and rates against load."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.studies.compare import Compared, Memory, Row
from sim.studies.reach import TARGET
from sim.view import theme
from sim.view.compare import title
from sim.view.lines import INCOMPLETE, Style, note, positive_range, short
from sim.view.number_words import short_percent
from sim.view.theme import axis, layout, log_axis

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
    "y": ("x", [0, 0.44], [0.56, 1]),
    "y2": ("x2", [0.56, 1], [0.56, 1]),
    "y3": ("x3", [0, 0.44], [0, 0.44]),
    "y4": ("x4", [0.56, 1], [0, 0.44]),
}
MOST_COLUMNS = 4  # of panels of memory
FOR_NAME, FOR_TIMES = 0.06, 0.1  # above and below a panel, as shares of the picture's height
ABOVE_LEGEND_PX = 26
EMPTY_DECADE = (0.1, 1.0)  # of the limit, shown until there is a point
LONGEST = 2.0  # times the median run: what is shown of memory over time
HATCHING = {"shape": "/", "fgcolor": theme.ORANGE, "bgcolor": "rgba(0,0,0,0)", "size": 5}


def style_of(place: int) -> Style:
    """Colour and dash of the scheduler in that place; never colour alone."""
    return {"color": COLORS[place % len(COLORS)], "dash": DASHES[place % len(DASHES)], "width": 1.8}


def memory_end_s(rows: Mapping[str, Row]) -> float:
    """Where the panels' common axis of time ends: who takes far longer than most would make slivers of the others."""
    ends = [each.memory.end_s for each in rows.values() if each.memory is not None]
    return min(max(ends), LONGEST * float(np.median(ends))) if ends else 1.0


def memory(rows: Mapping[str, Row]) -> go.Figure:
    """KV memory over time, a panel a scheduler, all on the same scales."""
    shown = {name: each.memory for name, each in rows.items() if each.memory is not None}
    lines, columns = grid(len(shown))
    end_s = memory_end_s(rows)
    top_percent = 100 * max((float((each.used + each.wasted).max()) for each in shown.values()), default=1.0)
    traces: list[go.Scatter] = []
    axes: dict[str, Any] = {}
    notes = []
    for place, (name, each) in enumerate(shown.items()):
        x, y = _panel(place, lines, columns)
        number = "" if place == 0 else str(place + 1)
        is_lowest, is_leftmost = place + columns >= len(shown), place % columns == 0
        axes[f"xaxis{number}"] = axis(
            "time (s)" if is_lowest else "", range=[0, end_s], domain=x, anchor=f"y{number}", **_round_ticks(end_s)
        )
        axes[f"yaxis{number}"] = axis(
            "KV (%)" if is_leftmost else "", range=[0, 1.05 * top_percent], domain=y, anchor=f"x{number}",
            nticks=4, showticklabels=is_leftmost,
        )  # fmt: skip
        notes.append(note(title(name), x[0], y[1], xanchor="left", yanchor="bottom", font={"size": 11}))
        traces += _areas(name, each, number, in_legend=place == 0)
    return go.Figure(
        traces, layout("compare memory", annotations=notes, hovermode="x", **axes, height=190 * lines + 60)
    )


def grid(panels: int) -> tuple[int, int]:
    """Lines and columns for so many panels of memory: lines as equally long as can be."""
    lines = -(-max(panels, 1) // MOST_COLUMNS)
    return lines, -(-max(panels, 1) // lines)


def _panel(place: int, lines: int, columns: int) -> tuple[list[float], list[float]]:
    """Where a panel stands, from left to right and line by line: its ends in x and in y."""
    line, column = divmod(place, columns)
    height = (1 - lines * FOR_NAME - (lines - 1) * FOR_TIMES) / lines  # of each line the same: they share a scale
    left, top = column / columns, 1 - FOR_NAME - line * (height + FOR_TIMES + FOR_NAME)
    return [left, left + 1 / columns - 0.025], [max(top - height, 0.0), top]


def _round_ticks(end: float) -> dict[str, Any]:
    """Few ticks, the last well before the end: labels of neighbouring panels do not touch."""
    decade = 10 ** np.floor(np.log10(end / 2)) if end > 0 else 1.0
    step = max(each for each in (decade, 2 * decade, 5 * decade) if each <= max(end / 2, decade))
    ticks = [tick for tick in (0.0, step, 2 * step) if tick <= 0.8 * end]
    texts = [f"{tick:g}" if tick < 1000 else f"{tick / 1000:g}k" for tick in ticks]  # shorter than elsewhere
    return {"tickmode": "array", "tickvals": ticks, "ticktext": texts}


def _areas(name: str, of: Memory, number: str, *, in_legend: bool) -> list[go.Scatter]:
    """Memory in use, and above it what is kept without use."""
    return [
        go.Scatter(
            x=short(of.time_s),
            y=short(values * 100),
            xaxis=f"x{number}",
            yaxis=f"y{number}",
            name=label,
            uid=f"{key}_{name}",  # without spaces: Plotly makes the address of the hatching from it
            legendgroup=key,
            showlegend=in_legend,
            stackgroup=name,
            mode="lines",
            line={"width": 0.6, "color": color},
            fillpattern=hatching,
            fillcolor=color,
            hovertemplate="%{y:.3~g} %",
        )
        for key, values, label, color, hatching in (
            ("used", of.used, "computed tokens", theme.BLUE, None),
            ("wasted", of.wasted, "reserved, held or unfilled", theme.ORANGE, HATCHING),
        )
    ]


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
    axes: dict[str, Any] = {}
    shapes: list[dict[str, Any]] = []
    low, high = positive_range([loads])
    for yaxis, (field, factor, text, is_log) in PANELS.items():
        xaxis, x, y = PLACES[yaxis]
        lines = [_line(points, names, place, yaxis) for place in range(len(names))]
        traces += lines
        limit = limits.get(field)
        heights = [np.nan_to_num(line.y) for line in lines]
        if limit is not None:
            heights.append(np.multiply(limit * factor, 1.0 if points else EMPTY_DECADE))
        place_y: dict[str, Any] = {"domain": y, "anchor": xaxis}
        axes[f"xaxis{yaxis[1:]}"] = log_axis(load_title, low, high, domain=x, anchor=yaxis)
        axes[f"yaxis{yaxis[1:]}"] = (
            log_axis(text, *positive_range(heights), **place_y) if is_log else axis(text, rangemode="tozero", **place_y)
        )
        if limit is not None:
            shapes += _good_side(xaxis, yaxis, positive_range(heights)[0] / 10, limit * factor)
        if operating is not None:
            shapes.append(_as_asked(xaxis, yaxis, operating))
    notes = [] if is_complete else [note(INCOMPLETE, yshift=ABOVE_LEGEND_PX)]
    return go.Figure(
        traces,
        layout("compare load", shapes=shapes, annotations=notes, hovermode="closest", height=520, **axes),
    )


def _line(points: Sequence[Compared], names: Sequence[str], place: int, yaxis: str) -> go.Scatter:
    """One scheduler in one panel."""
    name, (field, factor, _, _) = names[place], PANELS[yaxis]
    own = sorted((each for each in points if each.system == name), key=lambda each: each.load)
    return go.Scatter(
        x=short([each.load for each in own]),
        y=short([getattr(each, field) * factor for each in own]),
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


def _good_side(xaxis: str, yaxis: str, bottom: float, limit: float) -> list[dict[str, Any]]:
    """A limit of one panel and the shaded side within it."""
    across = {"xref": f"{xaxis} domain", "x0": 0, "x1": 1, "yref": yaxis, "y1": limit}
    shade = {"fillcolor": theme.GREEN, "opacity": 0.1, "line": {"width": 0}, "layer": "below"}
    return [
        across | {"type": "rect", "y0": bottom} | shade,
        across | {"type": "line", "y0": limit, "line": theme.LIMIT},
    ]


def _as_asked(xaxis: str, yaxis: str, load: float) -> dict[str, Any]:
    """Where the scenario stands."""
    place = {"xref": xaxis, "x0": load, "x1": load, "yref": f"{yaxis} domain", "y0": 0, "y1": 1}
    return place | {"type": "line", "line": {"color": theme.GREY, "width": 1, "dash": "dot"}}


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
    return f"Schedulers against load; limits for {short_percent(TARGET)} of requests. " + "; ".join(parts)
