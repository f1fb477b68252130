"""First line of a page: the verdict, and what one does with a run."""

from urllib.parse import urlencode

import streamlit as st
from ui.asked import Asked
from ui.export import export
from ui.headline import headline
from ui.meeting import meeting_button
from ui.pin_buttons import pin_buttons

from sim.keys import LINK_VERSION
from sim.scenario import VERSION


def header(sentence: str, asked: Asked, *, can_pin: bool = True) -> None:
    """Draw the sentence, the pin and the link."""
    with st.container(horizontal=True, vertical_alignment="center", key="head"):
        with st.container(key="verdict"):
            headline(sentence)
        if can_pin:
            pin_buttons(asked)
            export(asked)
            meeting_button()
        with st.popover("Share", icon=":material/share:", help="A link that restores everything."):
            st.markdown("This link restores knobs and pinned runs, on any server of the same version:")
            st.code(share_link(), language=None, wrap_lines=True)
            if asked.trace is not None:
                st.caption(f"The trace {asked.trace.name} does not travel in it: send the file along.")


def share_link() -> str:
    """The address as it stands, with the version of its language."""
    query = {LINK_VERSION: str(VERSION)} | st.query_params.to_dict()
    return f"{st.context.url}?{urlencode(query)}"
