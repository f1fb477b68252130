"""Tables whose numbers look like those in the text around them."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from sim.view.number_words import UNDEFINED

ROW_PX = 27


def narrow_table(columns: Mapping[str, Sequence[Any]], key: str) -> None:
    """Draw a table of figures at the right of their columns, each as wide as it must be for the first ten rows."""
    figures = {name: st.column_config.Column(alignment="right") for name in list(columns)[1:]}
    st.dataframe(grouped(columns), hide_index=True, row_height=ROW_PX, key=key, column_config=figures)


def grouped(columns: Mapping[str, Sequence[Any]]) -> Styler:
    """A table that keeps its numbers, so that columns sort: thousands apart, and one number of decimals a column."""
    frame = pd.DataFrame(columns)
    numbers = frame.select_dtypes("number")
    return frame.style.format({name: f"{{:,.{_decimals(numbers[name])}f}}" for name in numbers}, na_rep=UNDEFINED)


def _decimals(column: pd.Series) -> int:
    """As many as the number that needs most."""
    return max((len(f"{value:.10g}".partition(".")[2]) for value in column.dropna()), default=0)
