"""A card: border, title, switch, and whatever stands in it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def side_by_side(key: str, widths: Sequence[float]) -> list[DeltaGenerator]:
    """Columns of cards that end at one height: where one is taller, the pictures beside it grow (ui/style.py)."""
    with st.container(key=f"even_{key}"):
        return st.columns(widths, gap="small")


@contextmanager
def card(
    key: str, title: str, choices: Mapping[str, str] | None = None, beside: Callable[[str], None] | None = None
) -> Iterator[str]:
    """A bordered card; yields the choice of its switch, whose choices map to what is written on them.

    `beside` draws what else stands in the line of the title, given that choice.
    """
    with st.container(border=True, key=f"card_{key}", gap=None):
        choice = ""
        with st.container(horizontal=True, vertical_alignment="center", key=f"cardhead_{key}"):
            st.markdown(f"**{title}**")
            if choices:
                choice = st.segmented_control(
                    title,
                    tuple(choices),
                    default=next(iter(choices)),
                    format_func=choices.__getitem__,
                    required=True,
                    key=f"show_{key}",
                    label_visibility="collapsed",
                    persist_state="session",
                )
            if beside:
                beside(choice)
        yield choice
