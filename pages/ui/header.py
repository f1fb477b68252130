"""First line of a page: the verdict, and what one does with a run."""

from urllib.parse import urlencode

import streamlit as st
from ui.asked import Asked

from sim.keys import LINK_VERSION, PINS, pack, to_query
from sim.scenario import VERSION

PIN = PINS[0]


def header(sentence: str, asked: Asked, *, can_pin: bool = True) -> None:
    """Draw the sentence, the pin and the link."""
    with st.container(horizontal=True, vertical_alignment="center", key="head"):
        with st.container(key="verdict"):
            st.title(sentence, anchor=False)
        if can_pin:
            _pin_button(asked)
        with st.popover("Share", icon=":material/share:", help="A link that restores everything."):
            st.markdown("This link restores knobs and pinned run, on any server of the same version:")
            st.code(share_link(), language=None, wrap_lines=True)
            if asked.trace is not None:
                st.caption(f"The trace {asked.trace.name} does not travel in it: send the file along.")


def share_link() -> str:
    """The address as it stands, with the version of its language."""
    query = {LINK_VERSION: str(VERSION)} | st.query_params.to_dict()
    return f"{st.context.url}?{urlencode(query)}"


def _pin_button(asked: Asked) -> None:
    if asked.pinned is None:
        st.button(
            "Pin as baseline",
            key="pin",
            icon=":material/push_pin:",
            on_click=_pin,
            args=(asked,),
            help="Keep this run as a grey dashed line and compare what you change with it: same random numbers.",
        )
    else:
        st.button("Unpin", key="unpin", icon=":material/keep_off:", on_click=_unpin, help="Forget the pinned run.")


def _pin(asked: Asked) -> None:
    assert asked.scenario is not None
    st.session_state[PIN] = pack(to_query(asked.scenario, asked.preset_name))


def _unpin() -> None:
    st.session_state[PIN] = ""
