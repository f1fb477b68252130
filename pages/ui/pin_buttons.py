"""Pinning runs: up to four, one of them the one that numbers are compared with."""

import streamlit as st
from ui.asked import Asked

from sim.keys import BASE, PINS, pack, to_query


def pin_buttons(asked: Asked) -> None:
    """Draw what one does with pins: another one, which one to compare with, away with it."""
    free = next((key for key in PINS if not st.session_state[key]), None)
    st.button(
        "Pin" if asked.pins else "Pin as baseline",
        key="pin",
        icon=":material/push_pin:",
        on_click=_pin,
        args=(asked, free),
        disabled=free is None,
        help=f"Keep this run as a grey dashed line and compare what you change with it: same random numbers. Up to "
        f"{len(PINS)} runs; the link holds them.",
    )
    if len(asked.pins) == 1:
        (only,) = asked.pins
        st.button(
            "Unpin", key="unpin", icon=":material/keep_off:", on_click=_unpin, args=(only.key,), help="Forget it."
        )
    elif asked.pins:
        with st.popover(f"Pinned: {len(asked.pins)}", icon=":material/keep:", help="Which runs are pinned."):
            _list(asked)


def _list(asked: Asked) -> None:
    """A line for each pinned run."""
    for pin in asked.pins:
        with st.container(horizontal=True, vertical_alignment="center", key=f"pin_{pin.key}"):
            st.markdown(f"**{pin.name}** {pin.label}")
            is_base = pin.key == asked.base
            st.button(
                "Compared" if is_base else "Compare with it",
                key=f"base_{pin.key}",
                on_click=_compare,
                args=(pin.key,),
                disabled=is_base,
                help="The changes on the tiles, the memory curve and the load curve are against this run.",
            )
            st.button("Unpin", key=f"unpin_{pin.key}", icon=":material/keep_off:", on_click=_unpin, args=(pin.key,))


def _pin(asked: Asked, slot: str) -> None:
    assert asked.scenario is not None
    packed = pack(to_query(asked.scenario, asked.preset_name))
    if packed not in [st.session_state[key] for key in PINS]:  # a double click pins once
        st.session_state[slot] = packed


def _unpin(slot: str) -> None:
    st.session_state[slot] = ""
    if st.session_state[BASE] == slot:
        st.session_state[BASE] = ""


def _compare(slot: str) -> None:
    st.session_state[BASE] = slot
