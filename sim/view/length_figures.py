"""Output lengths beside real data sets, and what their spread does at equal mean."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from sim.catalog import dataset_names, length_quantiles
from sim.studies.length_profile import Outputs
from sim.studies.length_spread import SpreadPoint, in_order
from sim.view import theme
from sim.view.curves import cdf
from sim.view.lines import INCOMPLETE, note, positive_range, short, too_few
from sim.view.quantity import Quantity
from sim.view.theme import axis, layout, log_axis

Which = Literal["share", "tail"]
SMALLEST_SHARE = 1e-4  # of the tail that is drawn
REAL = {"color": theme.GREY, "width": 0.9}
CHOSEN = {"color": theme.ORANGE, "width": 2.2, "dash": "dash"}
TYPES = ("dot", "dashdot", "longdash")
AS_ASKED = theme.CURRENT
SATURATED = {"color": theme.VERMILION, "width": 2, "dash": "dot"}


def lengths(made: Outputs, which: Which, chosen: str = "", name: str = "this scenario") -> go.Figure:
    """Output lengths of the scenario and its types, before the real data sets in grey.

    Parameters
    ----------
    made : Outputs
    which : "share" or "tail"
        Share of answers at or below a length, or longer than it, on a logarithmic axis.
    chosen : str
        A real data set to bring forward; empty for none.
    name : str
        What the lengths are of.
    """
    traces = [_real(name, which, REAL, name == dataset_names("output")[0]) for name in dataset_names("output")]
    if chosen:
        traces.append(_real(chosen, which, CHOSEN, True))
    if len(made.type_names) > 1:
        for i, kind in enumerate(made.type_names):
            rows = made.output_len[made.type_id == i]
            style = {"color": theme.SKY, "width": 1.6, "dash": TYPES[i % len(TYPES)]}
            traces.append(_curve(*cdf(rows.astype(np.float64)), kind, which, style))
    traces.append(_curve(*cdf(made.output_len.astype(np.float64)), name, which, theme.CURRENT | {"width": 3}))
    return go.Figure(traces, layout(f"lengths {which}", hovermode="closest", **_length_axes(traces, which)))


def _length_axes(traces: Sequence[go.Scatter], which: Which) -> dict[str, Any]:
    low, high = positive_range([trace.x for trace in traces])
    x = log_axis("output length (tokens), log scale", max(low, 1.0), high)
    if which == "share":
        return {"xaxis": x, "yaxis": axis("answers at or below (%)", range=[-2, 103], tickvals=[0, 25, 50, 75, 100])}
    return {"xaxis": x, "yaxis": log_axis("answers longer (%), log scale", 100 * SMALLEST_SHARE, 100)}


def _curve(tokens: Any, share: Any, name: str, which: Which, style: Mapping[str, Any], **more: Any) -> go.Scatter:
    y = np.asarray(share) * 100 if which == "share" else (1 - np.asarray(share)) * 100
    shown = slice(None) if which == "share" else y >= 100 * SMALLEST_SHARE
    return go.Scatter(
        x=short(np.asarray(tokens)[shown]),
        y=short(y[shown]),
        name=name,
        uid=f"{name} {style['width']}",
        mode="lines",
        line=dict(style),
        hovertemplate=f"{name}: %{{x:,.4~g}} tokens, %{{y:.3~g}} %<extra></extra>",
        **more,
    )


def _real(dataset: str, which: Which, style: Mapping[str, Any], is_named: bool) -> go.Scatter:
    share, tokens = zip(*length_quantiles(dataset, "output"), strict=True)
    is_chosen = style is CHOSEN
    found = _curve(tokens, share, dataset, which, style, opacity=1 if is_chosen else 0.55, showlegend=is_named)
    return found if is_chosen else found.update(name="real data sets", legendgroup="real")


def spread(
    points: Sequence[SpreadPoint], own: SpreadPoint | None, per_token: Quantity, *, is_complete: bool
) -> go.Figure:
    """P99 above and throughput below, against the CV of the outputs at equal mean.

    Parameters
    ----------
    points : sequence of SpreadPoint
        So far, in any order.
    own : SpreadPoint, optional
        The scenario with its own outputs.
    per_token : Quantity
        What the P99 is of.
    """
    column = in_order(points)
    scale = per_token.scale
    panels = (
        ("y", "tpot_p99_s", "saturated_tpot_p99_s", scale, per_token.unit),
        ("y2", "output_tokens_per_s", "saturated_tokens_per_s", 1.0, "tokens/s"),
    )
    traces = []
    for yaxis, asked, full, by, unit in panels:
        for key, name, style in ((asked, "as asked", AS_ASKED), (full, "saturated", SATURATED)):
            traces.append(_against_cv(column["cv"], column[key] * by, name, style, yaxis, unit))
            if own is not None:
                traces.append(_own(own.cv, getattr(own, key) * by, style, yaxis, unit))
    latencies = [np.nan_to_num(np.asarray(trace.y, np.float64)) for trace in traces if trace.yaxis == "y"]
    return go.Figure(
        traces,
        layout(
            f"spread {per_token.key}",
            xaxis=axis("CV of the output lengths (standard deviation / mean)", rangemode="tozero", anchor="y2"),
            yaxis=log_axis(f"p99 {per_token.short} ({per_token.unit})", *positive_range(latencies), domain=[0.56, 1]),
            yaxis2=axis("output tokens/s", rangemode="tozero", domain=[0, 0.44], nticks=4),
            annotations=_spread_notes(column["tpot_p99_s"], per_token, is_complete),
        ),
    )


def _spread_notes(p99: Any, per_token: Quantity, is_complete: bool) -> list[dict[str, Any]]:
    notes = [] if is_complete else [note(INCOMPLETE)]
    if len(p99) and np.isnan(p99).all():
        notes.append(too_few(per_token))
    return notes


def _against_cv(cv: Any, y: Any, name: str, style: dict[str, Any], yaxis: str, unit: str) -> go.Scatter:
    return go.Scatter(
        x=short(cv),
        y=short(y),
        name=name,
        uid=f"{yaxis} {name}",
        mode="lines+markers",
        line=style,
        marker={"size": 5},
        yaxis=yaxis,
        legendgroup=name,
        showlegend=yaxis == "y",
        hovertemplate=f"%{{y:,.4~g}} {unit}",
    )


def _own(cv: float, y: float, style: dict[str, Any], yaxis: str, unit: str) -> go.Scatter:
    return go.Scatter(
        x=[cv],
        y=[y],
        yaxis=yaxis,
        uid=f"{yaxis} own {style['color']}",
        mode="markers",
        name="own outputs",
        marker=theme.THIS_RUN,
        legendgroup="own",
        showlegend=yaxis == "y" and style is AS_ASKED,
        hovertemplate=f"%{{y:,.4~g}} {unit} with its own outputs",
    )
