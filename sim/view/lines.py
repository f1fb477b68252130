"""Lines that several figures draw: the current run and the pinned ones, limits, ends of an axis."""

from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from sim.metrics import FEWEST_VALUES_FOR_P99
from sim.view import theme
from sim.view.quantity import Quantity

INCOMPLETE = "incomplete: not all runs are there"  # being made, or stopped
CURRENT = "current"  # what the run on screen is called
ABOVE_PX = 3  # of a note over the plot; a share of its height would leave the margin where a plot grows
Style = dict[str, Any]
Run = TypeVar("Run")


class Pinned(NamedTuple, Generic[Run]):
    """Something of a pinned run, and how its line is told from the others."""

    run: Run
    name: str = "pinned"
    dash: str = theme.PIN_DASHES[0]


def runs(current: Run, pins: Sequence[Pinned[Run]], name: str = CURRENT) -> list[tuple[Run, str, Style]]:
    """The runs to draw with name and line, pinned ones first so that they lie below."""
    below = [(pin.run, pin.name, theme.PINNED | {"dash": pin.dash}) for pin in pins]
    return [*below, (current, name, theme.CURRENT)]


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


def note(text: str, x: float = 0.0, y: float = 1.0, **more: Any) -> dict[str, Any]:
    """A text at a place of the plot (0 to 1); by default above its left end, where no curve runs."""
    place: dict[str, Any] = {"xref": "paper", "yref": "paper", "x": x, "y": y, "showarrow": False}
    if y == 1:
        place |= {"yshift": ABOVE_PX}
    if x == 0:
        place |= {"xanchor": "left", "yanchor": "bottom"}
    return place | {"text": text} | more


def too_few(quantity: Quantity) -> dict[str, Any]:
    """What stands in the middle of a chart without a single P99; requests of one token have no TPOT."""
    return note(f"p99 {quantity.short} needs at least {FEWEST_VALUES_FOR_P99} requests that have one", 0.5, 0.8)


def positive_range(values: Iterable[ArrayLike]) -> tuple[float, float]:
    """Smallest and largest value above 0 over several arrays; 1 to 10 where there is none."""
    every = np.concatenate([np.atleast_1d(np.asarray(each, np.float64)) for each in values])
    every = every[every > 0]
    return (float(every.min()), float(every.max())) if len(every) else (1.0, 10.0)
