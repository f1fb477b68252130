"""One run under the names that people give to its time per token."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from sim.view import theme
from sim.view.glossary import TIMES_A_TOKEN, number_of
from sim.view.number_words import short_time
from sim.view.theme import axis, layout


def times_a_token(summary: Mapping[str, Any]) -> go.Figure:
    """A bar for each meaning of time per token, mean of the run; undefined ones have none."""
    values = [number_of(key, summary) for key, _ in TIMES_A_TOKEN.values()]
    shown = [None if value is None else value * 1e3 for value in values]
    return go.Figure(
        go.Bar(
            y=[f"{name}<br>{who}" for name, (_, who) in TIMES_A_TOKEN.items()],
            x=shown,
            orientation="h",
            marker={"color": theme.BLUE},
            text=["undefined" if value is None else short_time(value / 1e3) for value in shown],
            textposition="auto",
            hovertemplate="%{x:,.4~g} ms<extra></extra>",
        ),
        layout(
            "times a token",
            xaxis=axis("mean of the run (ms)", rangemode="tozero"),
            yaxis=axis("", autorange="reversed", ticks="", showgrid=False),
            margin={"l": 178, "r": 20, "t": 10, "b": 42},
            showlegend=False,
            hovermode="closest",
        ),
    )


def words(summary: Mapping[str, Any]) -> str:
    """The bars, for people who do not see them."""
    told = [
        f"{name} {'undefined' if (value := number_of(key, summary)) is None else short_time(value)}"
        for name, (key, _) in TIMES_A_TOKEN.items()
    ]
    return f"Mean time per token by meaning of the word: {', '.join(told)}."
