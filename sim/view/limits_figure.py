"""The figure of a predictor's limits: what it gains over none, by size of its error and by delay."""

from collections.abc import Mapping

import plotly.graph_objects as go

from sim.studies.predictor.break_even import DELAYS_MS, SPREADS, Gains, Limits
from sim.studies.predictor.uses import Use
from sim.view import theme
from sim.view.lines import INCOMPLETE, note, short
from sim.view.theme import axis, layout

USE_STYLE = {Use.RESERVE: theme.CURRENT, Use.ORDER: theme.SECOND}
WORST_SHOWN = -60.0  # percent: what is worse runs off the axis
STEPS_MS = sorted({*DELAYS_MS[True], *DELAYS_MS[False]})  # side by side: they span five decades
LABELLED_MS = {0.0: "0", 1.0: "1", 10.0: "10", 100.0: "100", 1000.0: "1k", 10_000.0: "10k", 100_000.0: "100k"}


def limits(of_uses: Mapping[Use, Limits], *, is_complete: bool) -> go.Figure:
    """Gain against no predictor, by size of the error on the left and by delay on the right."""
    traces = [_line(use, now.by_spread, "x") for use, now in of_uses.items()]
    traces += [_line(use, now.waits, "x2", "waits") for use, now in of_uses.items()]
    traces += [_line(use, now.meanwhile, "x2", "goes on") for use, now in of_uses.items()]
    every = [100 * gain for now in of_uses.values() for _, gains in now for gain in gains]
    low, high = min([0.0, *every]), max([10.0, *every])
    return go.Figure(
        traces,
        layout(
            "limits of a predictor",
            hovermode="closest",
            xaxis=axis("error size (spread, log units)", domain=[0, 0.44], range=[-0.1, max(SPREADS) + 0.1]),
            xaxis2=axis(
                "delay (ms): ● scheduler waits, ○ goes on",
                domain=[0.52, 1],
                range=[-0.5, len(STEPS_MS) - 0.5],
                tickvals=[STEPS_MS.index(delay_ms) for delay_ms in LABELLED_MS],
                ticktext=list(LABELLED_MS.values()),
            ),
            yaxis=axis(
                "better than no predictor (%)",
                zeroline=True,
                zerolinewidth=2,
                nticks=6,
                range=[max(1.15 * low, WORST_SHOWN) - 2, 1.1 * high],
            ),
            annotations=[] if is_complete else [note(INCOMPLETE)],
        ),
    )


def _line(use: Use, gains: Gains, xaxis: str, scheduler: str = "") -> go.Scatter:
    """One use along one axis; what the scheduler does meanwhile is told by the markers."""
    at, gain = gains
    who = f"{use.value}, scheduler {scheduler}" if scheduler else use.value
    return go.Scatter(
        x=[STEPS_MS.index(delay_ms) for delay_ms in at] if scheduler else short(at),
        y=short([100 * each for each in gain]),
        name=use.value,
        uid=f"{xaxis} {who}",
        legendgroup=use.value,
        showlegend=not scheduler,
        mode="lines+markers",
        line=USE_STYLE[use],
        marker={"size": 7, "symbol": "circle-open"} if scheduler == "goes on" else {"size": 6},
        xaxis=xaxis,
        customdata=[f"{each:,.12g} ms" if scheduler else f"{each:g}" for each in at],
        hovertemplate=f"{who}: %{{y:+.3~g}} % at %{{customdata}}<extra></extra>",
    )
