"""The figures of Operate: what a cap gives and takes, and what three margins do."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.studies.caps import CapPoint, in_order
from sim.studies.margins import Margin, MarginPoint
from sim.view import theme
from sim.view.lines import INCOMPLETE, Style, across, note, positive_range
from sim.view.number_words import short_number
from sim.view.operate import CLIENTS
from sim.view.theme import axis, layout, log_axis
from sim.workload.retries import Retry

WIDER_MARGIN_PX = theme.LEFT_MARGIN_PX + 12  # beside ticks of thousands there stands a title of two lines
CLIENT_STYLES: dict[Retry, Style] = {
    Retry.NEVER: theme.CURRENT,
    Retry.REST: theme.SECOND,
    Retry.AGAIN: {"color": theme.PURPLE, "width": 1.8, "dash": "dash"},
}
MARKERS = {Retry.NEVER: "circle", Retry.REST: "diamond", Retry.AGAIN: "square"}
TYPE_DASHES = ("dot", "dash", "dashdot", "longdash")
PANELS = {"seats": ("x", [0, 0.3]), "watermark": ("x2", [0.36, 0.64]), "budget": ("x3", [0.7, 1])}
PREEMPTED = {"color": theme.VERMILION, "width": 2}


def caps(points: Sequence[CapPoint], cap: int, *, is_complete: bool) -> go.Figure:
    """Answers a second of a full server above, what is cut and lost below, against the cap.

    Parameters
    ----------
    points : sequence of CapPoint
        The scenario's own caps among them, once they are run.
    cap : int
        The one on the page; a dotted line stands there.
    """
    base = next((each for each in points if each.cap is None), None)
    traces: list[go.Scatter] = []
    if base is not None:
        traces += [_gain(in_order(points, retry), base, retry) for retry in Retry]
    never = [each for each in in_order(points, Retry.NEVER) if each.cap is not None]
    traces += [
        _share(never, [each.truncated for each in never], "answers cut", {"color": theme.GREEN, "width": 2}),
        _share(
            never,
            [each.tokens_lost for each in never],
            "tokens lost",
            {"color": theme.ORANGE, "width": 2, "dash": "dash"},
        ),
    ]
    if never and len(never[0].types) > 1:
        traces += [
            _share(
                never,
                [each.types[i].truncated for each in never],
                f"cut: {kind.name}",
                {"color": theme.GREEN, "width": 1.2, "dash": TYPE_DASHES[i % len(TYPE_DASHES)]},
            )
            for i, kind in enumerate(never[0].types)
        ]
    ends = positive_range([[each.cap for each in points if each.cap is not None] + [cap]])
    return go.Figure(
        traces,
        layout(
            "caps",
            xaxis=log_axis("output cap (tokens), log scale", *ends, anchor="y2"),
            yaxis=axis("answers/s, full<br>server (% change)", domain=[0.5, 1], zeroline=True, nticks=5),
            yaxis2=axis("share (%)", rangemode="tozero", domain=[0, 0.38], nticks=4),
            shapes=[across(cap, {"color": theme.ORANGE, "width": 1.4, "dash": "dot"}, layer="below")],
            annotations=[note("dots: the cap chosen above" if is_complete else INCOMPLETE)],
            legend=theme.RIGHT_LEGEND | {"traceorder": "normal"},
            margin={"l": WIDER_MARGIN_PX, "r": 142, "t": 22, "b": 38},
        ),
    )


def margins(
    controls: Mapping[str, Margin], points: Mapping[str, Sequence[MarginPoint]], present: Mapping[str, float],
    rate_title: str, *, is_complete: bool,
) -> go.Figure:  # fmt: skip
    """Preempted requests above and output tokens/s below, one column for each control.

    Parameters
    ----------
    controls : mapping
        By the keys of `PANELS`.
    points : mapping
        Values tried, ascending.
    present : mapping
        Where each control stands: a dotted line.
    rate_title : str
        Title of the lower axis.
    """
    traces: list[go.Scatter] = []
    axes: dict[str, Any] = {}
    shapes = []
    for key, margin in controls.items():
        xaxis, domain = PANELS[key]
        found = points.get(key, ())
        values = [each.value for each in found] or [present[key]]
        is_log = margin.values[0] > 0
        ends = positive_range([[*margin.values, present[key]]])
        axes[f"{xaxis[0]}axis{xaxis[1:]}"] = (
            log_axis(_on_two_lines(margin.label, ", log scale"), *ends, domain=domain, anchor="y2")
            if is_log
            else axis(_on_two_lines(margin.label), domain=domain, anchor="y2", rangemode="tozero", nticks=4)
        )
        traces.append(_column(values, [100 * each.preempted for each in found], "preempted (%)", xaxis, "y", PREEMPTED))
        rates = [each.output_tokens_per_s for each in found]
        traces.append(_column(values, rates, "output tokens/s", xaxis, "y2", theme.CURRENT))
        shapes.append(
            across(present[key], {"color": theme.ORANGE, "width": 1.4, "dash": "dot"}, layer="below", xref=xaxis)
        )
    return go.Figure(
        traces,
        layout(
            "margins",
            hovermode="closest",
            showlegend=False,
            yaxis=axis("preempted (%)", rangemode="tozero", domain=[0.56, 1], nticks=4),
            yaxis2=axis(rate_title, rangemode="tozero", domain=[0, 0.44], nticks=4),
            shapes=shapes,
            annotations=[] if is_complete else [note(INCOMPLETE)],
            margin={"l": WIDER_MARGIN_PX, "r": 14, "t": 22, "b": 52},
            **axes,
        ),
    )


def _on_two_lines(label: str, scale: str = "") -> str:
    """A title that does not reach the next panel's in a narrow window: its brackets below."""
    return label.replace(" (", f"{scale}<br>(", 1)


def _gain(points: Sequence[CapPoint], base: CapPoint, retry: Retry) -> go.Scatter:
    capped = [each for each in points if each.cap is not None]
    return go.Scatter(
        x=[each.cap for each in capped],
        y=[100 * (each.answers_per_s / base.answers_per_s - 1) for each in capped],
        name=f"clients {CLIENTS[retry]}".replace("ask again, no cap", "ask again"),
        uid=retry.value,
        mode="lines+markers",
        line=CLIENT_STYLES[retry],
        marker={"size": 6, "symbol": MARKERS[retry]},
        hovertemplate="%{y:+.1f} %",
    )


def _share(points: Sequence[CapPoint], values: Sequence[float], name: str, style: Style) -> go.Scatter:
    return go.Scatter(
        x=[each.cap for each in points],
        y=[100 * value for value in values],
        name=name,
        uid=f"y2 {name}",
        mode="lines",
        line=style,
        yaxis="y2",
        hovertemplate="%{y:.1f} %",
    )


def _column(x: Sequence[float], y: Sequence[float], name: str, xaxis: str, yaxis: str, style: Style) -> go.Scatter:
    return go.Scatter(
        x=list(x)[: len(y)],
        y=list(y),
        xaxis=xaxis,
        yaxis=yaxis,
        name=name,
        uid=f"{xaxis} {yaxis}",
        mode="lines+markers",
        line=style,
        marker={"size": 5},
        hovertemplate=f"%{{x:,.4~g}}: %{{y:,.4~g}} {name}<extra></extra>",
    )


def in_words(points: Sequence[CapPoint]) -> str:
    """How far the curves reach."""
    if not points:
        return "What caps give and take; being computed."
    finite = [each for each in points if each.cap is not None and np.isfinite(each.answers_per_s)]
    return (
        f"Change of answers/s of a full server, answers cut and tokens lost against the cap, {len(finite)} runs; "
        f"highest {short_number(max((each.answers_per_s for each in points), default=0.0))} answers/s."
    )
