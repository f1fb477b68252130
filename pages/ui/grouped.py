"""Tables whose numbers look like those in the text around them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from sim.view.number_words import UNDEFINED

ROW_PX, FIGURE_PX, WIDER_PX = 27, 56, 76
LONG_NAME = 6  # characters of a heading that needs more room


def narrow_table(columns: Mapping[str, Sequence[Any]], key: str, first_px: int) -> None:
    """Draw a table of figures with a wide first column and narrow others, so that none is cut off."""
    st.dataframe(
        grouped(columns), hide_index=True, row_height=ROW_PX, key=key, column_config=_widths(columns, first_px)
    )


def grouped(columns: Mapping[str, Sequence[Any]]) -> Styler:
    """A table that keeps its numbers, so that columns sort: thousands apart, and one number of decimals a column."""
    frame = pd.DataFrame(columns)
    numbers = frame.select_dtypes("number")
    return frame.style.format({name: f"{{:,.{_decimals(numbers[name])}f}}" for name in numbers}, na_rep=UNDEFINED)


def _decimals(column: pd.Series) -> int:
    """As many as the number that needs most."""
    return max((len(f"{value:.10g}".partition(".")[2]) for value in column.dropna()), default=0)


def _widths(names: Iterable[str], first_px: int) -> dict[str, Any]:
    first, *others = names
    narrow = {name: st.column_config.Column(width=_width(name), alignment="right") for name in others}
    return {first: st.column_config.Column(width=first_px)} | narrow


def _width(name: str) -> int:
    return WIDER_PX if len(name) > LONG_NAME else FIGURE_PX
