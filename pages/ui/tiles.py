"""The row of numbers."""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from sim.view.run_view import RunView
from sim.view.tiles import Tile
from sim.view.tiles import tiles as tiles_of

LONG = 20  # characters of a label that needs a wider tile
Color = Literal["normal", "inverse", "off"]


def tiles(current: RunView, pinned: RunView | None) -> None:
    """The tiles of a run."""
    draw(tiles_of(current.summary, pinned and pinned.summary))


def draw(shown: Sequence[Tile]) -> None:
    """Draw one tile a number; always the same height."""
    widths = [1.6 if len(tile.label) > LONG else 1.0 for tile in shown]
    for column, tile in zip(st.columns(widths, gap="xxsmall"), shown, strict=True):
        column.metric(
            tile.label,
            f"{tile.value} :small[{tile.unit}]" if tile.unit else tile.value,
            tile.note or None,
            delta_color=_color(tile),
            delta_arrow="auto" if tile.verdict in {"better", "worse"} else "off",
            help=tile.help,
            border=True,
            height="stretch",
        )


def _color(tile: Tile) -> Color:
    """Green where better, red where worse: Streamlit goes by the sign, so the sign decides which way round."""
    if tile.verdict not in {"better", "worse"}:
        return "off"
    return "normal" if (tile.verdict == "better") == (not tile.note.startswith("-")) else "inverse"
