"""In which order a component was given what it shows: the browser may hear of it in another.

Streamlit imports a component's script before each call of it, and a browser answers imports that wait for the same
script in no particular order: without a stamp the first, empty picture could come after the last one and stay.
"""

import time

import streamlit as st


def stamp(key: str, shown: str) -> int:
    """When what a component shows last changed, in microseconds; the same call after call while it does not.

    Parameters
    ----------
    key : str
        Of the component.
    shown : str
        All that it is given.
    """
    place = f"given_{key}"
    known: tuple[str, int] = st.session_state.get(place, ("", 0))
    before, at = known
    if before != shown:
        at = max(time.time_ns() // 1_000, at + 1)
        st.session_state[place] = (shown, at)
    return at
