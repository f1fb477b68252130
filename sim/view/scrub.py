"""Curves for a knob that is being dragged: figures of several positions on one pair of axes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from sim.view.theme import log_ticks

HEADROOM = 1.05  # above the highest curve, where Plotly would have chosen the end of the axis


def stage(figures: Sequence[go.Figure]) -> go.Figure:
    """A figure on which the curves of all the figures can be drawn without moving an axis.

    Parameters
    ----------
    figures : sequence of Figure
        At least one; of the same kind, for several positions of a knob. Lines are told apart by their `uid`.

    Returns
    -------
    plotly.graph_objects.Figure
        Every line that any figure has, with the numbers of the first that has it; axes that hold them all, and as
        many notes as any figure has.
    """
    first = figures[0]
    layout = first.layout.to_plotly_json()
    for name in [key for key in layout if key.startswith(("xaxis", "yaxis"))]:
        layout[name] = layout[name] | _axis(name, figures)
    layout["annotations"] = max((figure.layout.annotations for figure in figures), key=len)
    return go.Figure(_lines(figures), layout)


def _lines(figures: Iterable[go.Figure]) -> list[Any]:
    """One trace a `uid`, each behind the one it follows in its own figure."""
    merged: list[Any] = []
    for figure in figures:
        place = 0
        for trace in figure.data:
            known = next((at for at, each in enumerate(merged) if each.uid == trace.uid), None)
            if known is None:
                merged.insert(place, trace)
                known = place
            place = known + 1
    return merged


def _axis(name: str, figures: Sequence[go.Figure]) -> dict[str, Any]:
    """Range of an axis over all figures; ticks too, where it is logarithmic."""
    ranges = [figure.layout[name].range for figure in figures]
    if any(each is None for each in ranges):  # from 0 to wherever the curves reach
        return {"range": [0.0, max((float(np.nanmax(each)) for each in _values(name, figures)), default=1.0)
                          * (HEADROOM if name[0] == "y" else 1.0)]}  # fmt: skip
    low, high = min(each[0] for each in ranges), max(each[1] for each in ranges)
    ticks = log_ticks(low, high) if figures[0].layout[name].type == "log" else {}
    return {"range": [low, high]} | ticks


def _values(name: str, figures: Iterable[go.Figure]) -> Iterator[Any]:
    """Numbers of every line along an axis."""
    letter, axis = name[0], name.replace("axis", "")
    for figure in figures:
        for trace in figure.data:
            values = trace[letter]
            if (trace[f"{letter}axis"] or letter) == axis and values is not None and np.isfinite(values).any():
                yield np.asarray(values, np.float64)
