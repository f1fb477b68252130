"""The figures of the page Your data: parity of a fit, and a server beside the simulation."""

from typing import Any, Literal

import plotly.graph_objects as go

from sim.cost.calibration import Calibration
from sim.cost.measured_point import MeasuredPoint, Simulated
from sim.view import theme
from sim.view.lines import positive_range
from sim.view.parity import Cloud, parity
from sim.view.server_now import Beside
from sim.view.theme import axis, layout, log_axis

WAYS = {"catalogue": "by the catalogue", "fitted": "fitted", "left_out": "left out of the fit"}
BAND_PERCENT = 5.0  # calibrated, at best
PANELS: dict[str, tuple[str, list[float]]] = {
    "requests": ("x", [0, 0.26]),
    "%": ("x2", [0.36, 0.5]),
    "ms": ("x3", [0.62, 1]),
}


def fit_parity(found: Calibration, which: Literal["tpot", "ttft"]) -> go.Figure:
    """Measured against simulated TPOT or TTFT of every point, before and after the fit."""
    clouds = []
    for way, name in WAYS.items():
        pairs = [
            (measured, getattr(run, f"{which}_ms"), each.point)
            for each in found.points
            if (run := _run(each, way)) is not None and (measured := getattr(each.point, f"{which}_ms")) is not None
        ]
        if pairs:
            measured, simulated, points = zip(*pairs, strict=True)
            clouds.append(Cloud(name, measured, simulated, [_in_words(point) for point in points]))
    return parity(f"fit {which}", which.upper(), "ms", clouds, BAND_PERCENT)


def server_now(rows: list[Beside]) -> go.Figure:
    """Server and simulation on the same axes: counts, KV use, latencies."""
    traces = [trace for panel in PANELS for trace in _panel([row for row in rows if row.panel == panel], panel)]
    latencies = positive_range([[value for row in rows if row.panel == "ms" for value in row[2:] if value is not None]])
    return go.Figure(
        traces,
        layout(
            "server now",
            hovermode="closest",
            xaxis=axis("", domain=PANELS["requests"][1], anchor="y"),
            xaxis2=axis("", domain=PANELS["%"][1], anchor="y2"),
            xaxis3=axis("", domain=PANELS["ms"][1], anchor="y3"),
            yaxis=axis("requests of one engine", rangemode="tozero", anchor="x"),
            yaxis2=axis("KV blocks (%)", range=[0, 102], anchor="x2"),
            yaxis3=log_axis("latency (ms), log scale", *latencies, anchor="x3"),
        ),
    )


def _panel(rows: list[Beside], panel: str) -> list[go.Scatter]:
    """Simulation with its range, and the server, in one panel; the first panel brings the legend."""
    xaxis, yaxis = PANELS[panel][0], PANELS[panel][0].replace("x", "y")
    simulated = [row for row in rows if row.middle is not None]
    measured = [row for row in rows if row.server is not None]
    common: dict[str, Any] = {"xaxis": xaxis, "yaxis": yaxis, "mode": "markers", "showlegend": panel == "requests"}
    return [
        go.Scatter(
            x=[row.name for row in simulated],
            y=[row.middle for row in simulated],
            error_y={
                "type": "data",
                "array": [(row.high or 0) - (row.middle or 0) for row in simulated],
                "arrayminus": [(row.middle or 0) - (row.low or 0) for row in simulated],
                "color": theme.BLUE,
            },
            name="simulation",
            uid=f"{panel} simulation",
            legendgroup="simulation",
            marker={"color": theme.BLUE, "size": 9, "symbol": "circle"},
            hovertemplate=f"simulation %{{y:,.4~g}} {panel}<extra></extra>",
            **common,
        ),
        go.Scatter(
            x=[row.name for row in measured],
            y=[row.server for row in measured],
            name="server",
            uid=f"{panel} server",
            legendgroup="server",
            marker={"color": theme.VERMILION, "size": 11, "symbol": "diamond"},
            hovertemplate=f"server %{{y:,.4~g}} {panel}<extra></extra>",
            **common,
        ),
    ]


def _run(each: Any, way: str) -> Simulated | None:
    run: Simulated | None = getattr(each, way)
    return run


def _in_words(point: MeasuredPoint) -> str:
    return f"{point.load}, {point.prompt_tokens:,.0f} + {point.output_tokens:,.0f} tokens"
