"""Throughput of a GPU against what a user feels, one line a run, joined in order of the knob."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.studies.frontier import FrontierPoint, is_dominated
from sim.view import theme
from sim.view.lines import INCOMPLETE, Pinned, Style, note, positive_range, runs, short
from sim.view.number_words import short_number
from sim.view.theme import axis, layout, log_axis

DOMINATED = "○ another point is better in both"
NO_USERS = "all tokens of an answer come at once: there is no interactivity to show"
USER_AXIS = "interactivity, output tokens/s of one user (1,000 / median TPOT in ms)"
GPU_AXIS = "output tokens/s of one GPU"
FREE_CORNER: dict[str, Any] = {"x": 0.995, "y": 0.985, "xanchor": "right", "yanchor": "top"}  # better than any point
FREE_CORNER_OF_LOG = {"x": 0.0, "y": 0.01}  # which lines bend away from
FADED = 0.35
LABEL_ROOM = (0.09, 0.1)  # shares of the axes: labels nearer than that in both would lie on each other
FEW_PINS = 2  # with more of them the legend needs the whole line


def frontier(
    points: Sequence[FrontierPoint],
    knob: str,
    here: int | None,
    *,
    is_complete: bool,
    pins: Sequence[Pinned[Sequence[FrontierPoint]]] = (),
    problem: str = "",
    is_log: bool = False,
) -> go.Figure:
    """Interactivity to the right, throughput upwards: better is further out in both.

    Parameters
    ----------
    points : sequence of FrontierPoint
        In order of the knob.
    knob : str
        Its name, for the labels.
    here : int, optional
        The value that the run on screen has.
    is_complete : bool
        False while points are missing: the figure says so.
    pins : sequence of Pinned
        The same of the pinned runs.
    problem : str
        Why points will stay missing; the figure says that too.
    is_log : bool
        Both axes logarithmic: where the points span decades.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    is_felt = any(not np.isnan(point.tokens_per_s_user) for point in points)
    text = problem or (INCOMPLETE if not is_complete else DOMINATED if is_felt and any(is_dominated(points)) else "")
    notes = [note(text, **FREE_CORNER_OF_LOG if is_log else FREE_CORNER)] if text else []
    if is_complete and not is_felt:
        notes.append(note(NO_USERS, 0.5, 0.5))
    traces = [_line(run, name, style, knob) for run, name, style in runs(points, pins)]
    traces[-1].update(
        mode="lines+markers+text",
        text=_labels(points, [trace.x for trace in traces], [trace.y for trace in traces], is_log=is_log),
    )
    is_full = len(pins) > FEW_PINS
    return go.Figure(
        [*traces, *_mark(points, knob, here, "this run" if is_full else f"this run's {knob}")],
        layout(
            f"frontier {knob}{' log' * is_log}",
            hovermode="closest",
            xaxis=_axis(USER_AXIS, [trace.x for trace in traces], is_log=is_log),
            yaxis=_axis(GPU_AXIS, [trace.y for trace in traces], is_log=is_log),
            annotations=notes,
        ),
    )


def _axis(title: str, values: Sequence[Any], *, is_log: bool) -> dict[str, Any]:
    if is_log:
        return log_axis(f"{title}, log scale", *positive_range(np.nan_to_num(each) for each in values))
    return axis(title, rangemode="tozero")


def words(points: Sequence[FrontierPoint], knob: str) -> str:
    """The two ends of the line, for people who do not see it."""
    known = [point for point in points if not np.isnan([point.tokens_per_s_user, point.tokens_per_s_gpu]).any()]
    if not known:
        return "Throughput against interactivity; being computed."
    ends = " and ".join(
        f"{short_number(best.tokens_per_s_gpu)} tokens/s of one GPU at {short_number(best.tokens_per_s_user)} of one "
        f"user ({knob} {best.value:,})"
        for best in (
            max(known, key=lambda point: point.tokens_per_s_gpu),
            max(known, key=lambda point: point.tokens_per_s_user),
        )
    )
    return f"Throughput against interactivity, {len(known)} points: {ends}."


def _line(points: Sequence[FrontierPoint], name: str, style: Style, knob: str) -> go.Scatter:
    """The line in order of the knob; dominated points are faded and hollow."""
    beaten = is_dominated(points)
    is_current = style is theme.CURRENT
    return go.Scatter(
        x=short([point.tokens_per_s_user for point in points]),
        y=short([point.tokens_per_s_gpu for point in points]),
        name=name,
        uid=name,
        mode="lines+markers",
        cliponaxis=False,
        line=style,
        textposition="top right",
        textfont={"size": 10.5},
        marker={
            "size": 7 if is_current else 5,
            "color": style["color"],
            "symbol": ["circle-open" if bad else "circle" for bad in beaten],
            "opacity": [FADED if bad else 1.0 for bad in beaten],
        },
        customdata=[_hover(point, knob, bool(bad)) for point, bad in zip(points, beaten, strict=True)],
        hovertemplate="%{customdata}<extra>" + name + "</extra>",
    )


def _hover(point: FrontierPoint, knob: str, is_beaten: bool) -> str:
    lines = [
        f"{knob} {point.value:,}",
        f"{short_number(point.tokens_per_s_user)} tokens/s of one user",
        f"{short_number(point.tokens_per_s_gpu)} tokens/s of one GPU",
    ]
    if point.preemptions:
        lines.append(f"{point.preemptions:,} preemptions")
    if is_beaten:
        lines.append("dominated: another point is better in both")
    return "<br>".join(lines)


def _labels(points: Sequence[FrontierPoint], xs: Sequence[Any], ys: Sequence[Any], *, is_log: bool) -> list[str]:
    """Value of the knob at each point that is not dominated, both ends first, where there is room for it."""
    places = np.column_stack(
        [
            _shares([point.tokens_per_s_user for point in points], xs, is_log=is_log),
            _shares([point.tokens_per_s_gpu for point in points], ys, is_log=is_log),
        ]
    )
    beaten, taken = is_dominated(points), list[int]()
    last = len(points) - 1
    for i in sorted(range(len(points)), key=lambda i: (i not in (0, last), -i)):
        is_free = all((np.abs(places[i] - places[other]) > LABEL_ROOM).any() for other in taken)
        if is_free and not beaten[i]:
            taken.append(i)
    return [f"{point.value:,}" if i in taken else "" for i, point in enumerate(points)]


def _shares(values: Sequence[float], every: Sequence[Any], *, is_log: bool) -> Any:
    """Places on an axis that holds every value, from 0 to 1; NaN where a value has none."""
    if not is_log:
        return np.asarray(values) / max((float(np.nanmax(each, initial=0)) for each in every), default=1.0)
    low, high = np.log10(positive_range(np.nan_to_num(each) for each in every))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.log10(values) - low) / max(high - low, 1e-9)


def _mark(points: Sequence[FrontierPoint], knob: str, here: int | None, name: str) -> list[go.Scatter]:
    """A diamond where the run on screen stands."""
    found = [point for point in points if point.value == here]
    text: dict[str, Any] = {"hovertemplate": f"this run: {knob} {here}<extra></extra>"}
    return [
        go.Scatter(
            x=[point.tokens_per_s_user],
            y=[point.tokens_per_s_gpu],
            uid="this run",
            name=name,
            mode="markers",
            cliponaxis=False,
            marker=theme.THIS_RUN,
            **text,
        )
        for point in found
    ]
