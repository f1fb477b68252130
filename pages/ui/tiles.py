"""The row of numbers."""

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from sim.view.run_view import RunView
from sim.view.tiles import Tile
from sim.view.tiles import tiles as tiles_of

LONG = 20  # characters of a label that needs a wider tile, and two lines
LONG_UNIT = 8  # characters of a unit that does
Color = Literal["normal", "inverse", "off"]


def tiles(current: RunView, pinned: RunView | None) -> None:
    """The tiles of a run."""
    draw(tiles_of(current.summary, pinned and pinned.summary))


def draw(shown: Sequence[Tile]) -> None:
    """Draw one tile a number; always the same height."""
    is_tall = any(len(tile.label) > LONG for tile in shown)  # the curves below give way (ui/style.py)
    with st.container(key="tiles_tall" if is_tall else "tiles"):
        columns = st.columns([_width(tile) for tile in shown], gap="xxsmall")
    for column, tile in zip(columns, shown, strict=True):
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


def _width(tile: Tile) -> float:
    return 1.6 if len(tile.label) > LONG else 1.22 if len(tile.unit) > LONG_UNIT else 1.0


def _color(tile: Tile) -> Color:
    """Green where better, red where worse: Streamlit goes by the sign, so the sign decides which way round."""
    if tile.verdict not in {"better", "worse"}:
        return "off"
    return "normal" if (tile.verdict == "better") == (not tile.note.startswith("-")) else "inverse"
