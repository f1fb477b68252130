"""The two ledgers as pictures: stacked over time, and step by step from everything to what was of use."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from sim.view import theme
from sim.view.curves import Floats, OverTime
from sim.view.lines import short
from sim.view.memory import RowStyle
from sim.view.paths import Step
from sim.view.theme import axis, layout
from sim.view.time_use import TIME_STYLE

VISIBLE = 2e-3  # a ledger row below this share at every moment is not drawn


def stacked(time_s: Floats, shares: Mapping[str, Floats], styles: Mapping[str, RowStyle]) -> list[go.Scatter]:
    """Rows of one ledger as stacked areas in percent, from the bottom up in the order of their styles."""
    return [
        go.Scatter(
            x=short(time_s),
            y=short(shares[row] * 100),
            name=style.label,
            uid=row,
            stackgroup="rows",
            mode="lines",
            line={"width": 0},
            fillcolor=style.color,
            fillpattern={"shape": style.hatch, "fgcolor": style.color, "bgcolor": "rgba(0,0,0,0)", "size": 5},
            hovertemplate="%{y:.1f} %",
        )
        for row, style in styles.items()
        if shares[row].max(initial=0) > VISIBLE
    ]


def time_use(current: OverTime) -> go.Figure:
    """Where the time of the iterations goes, as stacked shares of each stretch of the run."""
    return go.Figure(
        stacked(current.time_s, current.time, TIME_STYLE),
        layout(
            "time ledger",
            xaxis=axis("time since first arrival (s)", rangemode="tozero", unifiedhovertitle={"text": "%{x:,.4~g} s"}),
            yaxis=axis("time (%)", range=[0, 100.5], tickvals=[0, 50, 100]),
            legend=theme.RIGHT_LEGEND,
            margin={"l": theme.LEFT_MARGIN_PX, "r": 142, "t": 8, "b": 38},
        ),
    )


def waterfall(memory: Sequence[Step], time: Sequence[Step]) -> go.Figure:
    """From everything there was to what was of use, memory on the left and time on the right; two percentages.

    Parameters
    ----------
    memory, time : sequence of Step
        Of the memory and of the time ledger; each adds up to the whole.
    """
    left, right = [0, 0.55], [0.63, 1]
    return go.Figure(
        [_bars(memory, "x"), _bars(time, "x2")],
        layout(
            "waterfall",
            hovermode="closest",
            showlegend=False,
            xaxis=axis("share of KV blocks x time", domain=left, showgrid=False, **_ticks(memory)),
            xaxis2=axis("share of the time", domain=right, showgrid=False, **_ticks(time)),
            yaxis=axis("share (%)", range=[0, 112], tickvals=[0, 25, 50, 75, 100]),
            margin={"l": theme.LEFT_MARGIN_PX, "r": 14, "t": 8, "b": 56},
        ),
    )


def _ticks(steps: Sequence[Step]) -> dict[str, Any]:
    """Labels in two lines, so that they stand side by side."""
    return {
        "tickvals": list(range(len(steps) + 1)),
        "ticktext": ["all", *(step.label.replace(" ", "<br>", 1) for step in steps)],
        "range": [-0.6, len(steps) + 0.6],
    }


def _bars(steps: Sequence[Step], xaxis: str) -> go.Bar:
    """Hanging bars for what was lost, standing ones for the whole and for what was of use."""
    bases, sizes, left = [0.0], [100.0], 1.0
    for step in steps:
        left -= step.share
        bases.append(0.0 if step.is_useful else left * 100)
        sizes.append(step.share * 100)
    return go.Bar(
        x=list(range(len(steps) + 1)),
        y=sizes,
        base=bases,
        xaxis=xaxis,
        width=0.72,
        text=[f"{size:.1f}" for size in sizes],
        textposition="outside",
        cliponaxis=False,
        marker={
            "color": [theme.GREY, *(step.color for step in steps)],
            "pattern": {"shape": ["", *(step.hatch for step in steps)], "size": 5, "fillmode": "replace"},
        },
        customdata=["everything", *(step.definition for step in steps)],
        hovertemplate="%{y:.2f} %: %{customdata}<extra></extra>",
        name=f"waterfall {xaxis}",
        uid=xaxis,
    )
