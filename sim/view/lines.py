"""Lines that several figures draw: the current run and the pinned one, limits, ends of an axis."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from sim.view import theme

Style = dict[str, Any]
Run = TypeVar("Run")


def runs(current: Run, pinned: Run | None) -> list[tuple[Run, str, Style]]:
    """The runs to draw with name and line, pinned first so that it lies below."""
    drawn = [(current, "current", theme.CURRENT)]
    if pinned is not None:
        drawn.insert(0, (pinned, "pinned", theme.PINNED))
    return drawn


def line(x: ArrayLike, y: ArrayLike, name: str, style: Style, yaxis: str = "y") -> go.Scatter:
    """A line without markers. Its `uid` keeps it hidden, once hidden, while other lines come and go."""
    return go.Scatter(
        x=short(x),
        y=short(y),
        name=name,
        uid=f"{yaxis} {name.partition(',')[0]}",
        mode="lines",
        line=style,
        yaxis=yaxis,
        hovertemplate="%{y:,.4~g}",
    )


def short(values: ArrayLike) -> NDArray[np.float32]:
    """Half the bytes; a screen shows fewer digits."""
    return np.asarray(values, np.float32)


def across(x: float, style: Style, **more: Any) -> dict[str, Any]:
    """A line from top to bottom at `x`, in the axis' own unit even where it is logarithmic."""
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": style} | more


def note(text: str, x: float = 0.0, y: float = 1.015, **more: Any) -> dict[str, Any]:
    """A text at a place of the plot (0 to 1); by default above its left end, where no curve runs."""
    place: dict[str, Any] = {"xref": "paper", "yref": "paper", "x": x, "y": y, "showarrow": False}
    if x == 0:
        place |= {"xanchor": "left", "yanchor": "bottom"}
    return place | {"text": text} | more


def positive_range(values: Iterable[ArrayLike]) -> tuple[float, float]:
    """Smallest and largest value above 0 over several arrays; 1 to 10 where there is none."""
    every = np.concatenate([np.atleast_1d(np.asarray(each, np.float64)) for each in values])
    every = every[every > 0]
    return (float(every.min()), float(every.max())) if len(every) else (1.0, 10.0)
