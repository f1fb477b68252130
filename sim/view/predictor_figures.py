"""Figures of the page Predictor: the map of errors, the curve along bias, order against accuracy."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.studies.predictor.error_map import TWICE, Direction, Found, Objective, curve, grid
from sim.studies.predictor.published import LESSON, PublishedHere
from sim.studies.predictor.uses import Measured
from sim.view import theme
from sim.view.lines import INCOMPLETE, across, note, short
from sim.view.number_words import short_percent
from sim.view.predictor import QUANTITIES, SHORT_NAMES, shown
from sim.view.quantity import Quantity
from sim.view.theme import SHORT_TICKS, axis, layout

FACTORS = {-2: "¼x", -1: "½x", 0: "1x", 1: "2x", 2: "4x"}  # by powers of two of the bias
BIAS_AXIS = "error direction: every prediction so many times the likeliest length"
MARKS = {"rank": "circle", "bucket": "square", "point": "diamond"}
NEARLY_ALIKE = 0.04  # of the value: what a chart spans at the least
LABEL_GAP = 0.06  # of the height of the map: less, and names overlap
MAP_HEIGHT_PX = 340
LESSON_PLACES = dict(  # of the labels: neighbours do not overlap
    zip(LESSON, ("bottom right", "middle left", "top right", "bottom left", "top center"), strict=True)
)


def error_map(
    found: Found,
    name: str,
    objective: Objective,
    own: tuple[float, float],
    published: Mapping[str, PublishedHere],
    *,
    is_complete: bool,
) -> go.Figure:
    """The objective over direction (x) and size (y) of the error; beside it, published predictors by their size.

    Parameters
    ----------
    found : mapping
        Runs of the map so far.
    name : str
        Of the objective.
    own : (float, float)
        Bias and spread of the scenario's predictor.
    published : mapping
        Those known so far.
    """
    heat = _heat(found, QUANTITIES[name], objective)
    top = max([1.4, *(cell.spread for cell in found)]) + 0.2
    under_over = "under-predicts ◂ error direction ▸ over-predicts"
    beside = {"domain": [0.76, 1], "range": [0, 1], "showticklabels": False, "showgrid": False, "ticks": ""}
    missing = note(INCOMPLETE, 0.3, yanchor="bottom")
    return go.Figure(
        [heat, _own_mark(own, top), *_published(published, top)],
        layout(
            f"error map {name}",
            height_px=MAP_HEIGHT_PX,
            hovermode="closest",
            showlegend=False,
            xaxis=_bias_axis(domain=[0, 0.64], range=[-2.5, 2.5], title=under_over),
            xaxis2=axis("published, by error size", **beside),
            yaxis=axis("error size (spread, log units)", range=[-0.14, top], nticks=6, showgrid=False),
            annotations=[note(QUANTITIES[name].axis_title), *([] if is_complete else [missing])],
            margin={"l": theme.LEFT_MARGIN_PX, "r": 8, "t": 22, "b": 38},
        ),
    )


def _heat(found: Found, quantity: Quantity, objective: Objective) -> go.Heatmap:
    """The map itself, better in yellow."""
    spreads, biases, values = grid(found, objective)
    low, high = apart([values * quantity.scale])
    return go.Heatmap(
        x=short(biases / TWICE),
        y=short(spreads),
        z=short(values * quantity.scale),
        zmin=low,
        zmax=high,
        uid="map",
        colorscale="Cividis",
        reversescale=not objective.is_higher_better,
        colorbar={"thickness": 9, "x": 0.66, "len": 1, "tickfont": {"size": 11}, "nticks": 5} | SHORT_TICKS,
        hovertemplate=f"%{{z:,.4~g}} {quantity.unit}<br>spread %{{y:.2g}}<extra></extra>",
    )


def _own_mark(own: tuple[float, float], top: float) -> go.Scatter:
    """Where the scenario's own predictor stands, at the upper end if beyond it."""
    return go.Scatter(
        x=[own[0] / TWICE],
        y=[min(own[1], top)],
        uid="own",
        mode="markers",
        name="this predictor",
        marker={"symbol": "diamond", "size": 12, "color": theme.ORANGE, "line": {"width": 1.5, "color": "white"}},
        hovertemplate="this predictor<extra></extra>",
    )


def apart(values: Sequence[Any]) -> tuple[float, float]:
    """Smallest and largest of several arrays, moved apart where they are nearly alike: noise is not to fill a chart."""
    every = np.concatenate([np.atleast_1d(np.asarray(each, np.float64)).ravel() for each in values])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    room = max(0.5 * (NEARLY_ALIKE * abs(high) - (high - low)), 0.0)
    return low - room, high + room


def _bias_axis(title: str = BIAS_AXIS, **more: Any) -> dict[str, Any]:
    return axis(title, tickvals=list(FACTORS), ticktext=list(FACTORS.values()), **more)


def _published(published: Mapping[str, PublishedHere], top: float) -> list[go.Scatter]:
    """A mark at the size of each predictor's error, with its name; those beyond the map at its upper end."""
    there = sorted((published[name].spread, name) for name in SHORT_NAMES if name in published)
    there = [(spread, name) for spread, name in there if not math.isnan(spread)]
    at = spaced([min(spread, top) for spread, _ in there], LABEL_GAP * top, top * 0.98)
    texts = [f"{SHORT_NAMES[name]}{f' ▴ {spread:.2g}' if spread > top else ''}" for spread, name in there]
    kinds = [published[name].published.kind for _, name in there]
    return [
        go.Scatter(
            x=[0.05] * len(there),
            y=at,
            xaxis="x2",
            uid="published",
            mode="markers+text",
            text=texts,
            textposition="middle right",
            textfont={"size": 11},
            marker={"symbol": [MARKS[kind] for kind in kinds], "size": 8, "color": theme.VERMILION},
            customdata=[f"{SHORT_NAMES[name]}: orders like a spread of {spread:.2g}" for spread, name in there],
            hovertemplate="%{customdata}<extra></extra>",
            cliponaxis=False,
        )
    ]


def spaced(at: Sequence[float], gap: float, top: float) -> list[float]:
    """Ascending places moved apart so that neighbours differ by `gap`, and none is above `top`."""
    placed: list[float] = []
    for place in at:
        placed.append(max(place, placed[-1] + gap) if placed else place)
    for i in range(len(placed) - 1, -1, -1):
        placed[i] = min(placed[i], top if i == len(placed) - 1 else placed[i + 1] - gap)
    return placed


def bias_curve(
    found: Found,
    spread: float,
    names: Sequence[str],
    objectives: Mapping[str, Objective],
    best: Direction | None,
    without: Measured | None,
    *,
    is_complete: bool,
) -> go.Figure:
    """Two objectives along the bias, one above the other, with the sides of under- and over-prediction marked."""
    traces: list[go.Scatter] = []
    axes: dict[str, Any] = {}
    for i, name in enumerate(names):
        quantity = QUANTITIES[name]
        yaxis = "y" if i == 0 else "y2"
        bias, value = curve(found, spread, objectives[name])
        traces.append(_along_bias(bias / TWICE, value * quantity.scale, name, quantity, yaxis))
        levels = [] if without is None else [objectives[name].of(without) * quantity.scale]
        traces += [_level(base, quantity, yaxis) for base in levels]
        low, high = apart([value * quantity.scale, *levels])
        room = 0.06 * (high - low) or 1.0
        domain = [0.55, 1] if i == 0 else [0, 0.43]
        ends = {"domain": domain, "range": [low - room, high + room]}
        axes["yaxis" if i == 0 else "yaxis2"] = axis(quantity.axis_title, nticks=4, **ends)
    shapes = [_side(-2.2, 0, theme.VERMILION), _side(0, 2.2, theme.SKY), across(0, {"color": theme.GREY, "width": 1})]
    notes = [
        note("◂ under-predicts", 0.25, yanchor="bottom"),
        note("over-predicts ▸", 0.75, yanchor="bottom"),
    ]
    if best is not None:
        shapes.append(across(best.best_bias / TWICE, {"color": theme.GREEN, "width": 2, "dash": "dash"}))
    if not is_complete:
        notes.append(note(INCOMPLETE, 0.5, 0.5))
    return go.Figure(
        traces,
        layout(
            f"bias curve {' '.join(names)}",
            height_px=MAP_HEIGHT_PX,
            showlegend=False,
            xaxis=_bias_axis(range=[-2.2, 2.2], anchor="y2"),
            **axes,
            shapes=shapes,
            annotations=notes,
        ),
    )


def _along_bias(x: Any, y: Any, name: str, quantity: Quantity, yaxis: str) -> go.Scatter:
    return go.Scatter(
        x=short(x),
        y=short(y),
        name=name,
        uid=f"{yaxis} {name}",
        mode="lines+markers",
        line=theme.CURRENT,
        marker={"size": 6},
        yaxis=yaxis,
        hovertemplate=f"%{{y:,.4~g}} {quantity.unit}",
    )


def _level(value: float, quantity: Quantity, yaxis: str) -> go.Scatter:
    return go.Scatter(
        x=[-2.2, 2.2],
        y=[value, value],
        name="no predictor",
        uid=f"{yaxis} without",
        mode="lines",
        line=theme.PINNED,
        yaxis=yaxis,
        hovertemplate=f"%{{y:,.4~g}} {quantity.unit}",
    )


def _side(x0: float, x1: float, color: str) -> dict[str, Any]:
    place = {"type": "rect", "x0": x0, "x1": x1, "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    return place | {"line": {"width": 0}, "fillcolor": color, "opacity": 0.08}


def lesson(found: Mapping[str, PublishedHere], without: Measured | None) -> go.Figure:
    """Mean E2E per token against the order a published predictor keeps; the share in the right class in words."""
    rows = [(SHORT_NAMES[name], found[name]) for name in LESSON if name in found]
    traces = [
        go.Scatter(
            x=short([row.tau for _, row in rows]),
            y=short([1000 * row.ordering.norm_latency_mean_s for _, row in rows]),
            uid="lesson",
            mode="markers+text",
            text=[_lesson_label(label, row) for label, row in rows],
            textposition=[LESSON_PLACES[name] for name in LESSON if name in found],
            textfont={"size": 11},
            marker={"size": 10, "color": theme.BLUE, "symbol": [MARKS[row.published.kind] for _, row in rows]},
            hovertemplate="%{text}: tau %{x:.2f}, %{y:,.4~g} ms<extra></extra>",
            cliponaxis=False,
        )
    ]
    if without is not None:
        level = 1000 * without.norm_latency_mean_s
        traces.append(
            go.Scatter(
                x=[0, 1],
                y=[level, level],
                uid="without",
                mode="lines",
                line=theme.PINNED,
                hovertemplate="no predictor: %{y:,.4~g} ms<extra></extra>",
            )
        )
    return go.Figure(
        traces,
        layout(
            "accuracy and order",
            hovermode="closest",
            showlegend=False,
            xaxis=axis("order kept: Kendall's tau, here", range=[0, 1]),
            yaxis=axis("mean E2E per token (ms), full queue", rangemode="tozero", nticks=6),
            annotations=[] if without is None else [note("dashed: no predictor")],
        ),
    )


def _lesson_label(label: str, row: PublishedHere) -> str:
    return label if math.isnan(row.accuracy) else f"{label}: {short_percent(row.accuracy)} in the right class"


def alt_curve(names: Sequence[str], best: Direction | None) -> str:
    """What the curve shows, for people who do not see it."""
    text = f"{' and '.join(names)} along the error direction"
    return text if best is None else f"{text}; best {shown(names[0], best.best)} at a bias of {best.best_bias:+.2f}."
