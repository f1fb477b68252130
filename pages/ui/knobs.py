"""Knobs as widgets: each bound to the address under the key of its field."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sim.keys import KEY_OF
from sim.scenario import Scenario
from sim.view.form import default_text, is_shown
from sim.view.knobs import KNOBS, SECTIONS, Knob
from sim.view.steps import with_stop

MOVED = "knob_moved"  # in the session: this run of the page is for a knob that somebody moved
LONGEST_ROW = 17  # characters of all options that still stand side by side


def knobs(base: Scenario) -> tuple[dict[str, str], DeltaGenerator]:
    """Draw the knobs that have something to move.

    Parameters
    ----------
    base : Scenario
        What they depart from; its values are left out of the address.

    Returns
    -------
    dict
        Text of each knob shown, by its key.
    DeltaGenerator
        Below the server's knobs: room to say what they come to.
    """
    note = st.empty()
    texts: dict[str, str] = {}
    for section in SECTIONS:
        if not any(is_shown(knob, base, texts) for knob in section.knobs):
            continue
        with st.expander(section.title, expanded=section.is_open):
            for knob in section.knobs:
                if is_shown(knob, base, texts):
                    texts[KEY_OF[knob.path]] = _widget(knob, KEY_OF[knob.path], default_text(knob, base))
            if section.title == "Server":
                note = st.empty()
    return texts, note


def standing(base: Scenario) -> dict[str, str]:
    """Text of each knob as it stands, before it is drawn again."""
    texts: dict[str, str] = {}
    for knob in KNOBS:
        if is_shown(knob, base, texts):
            key = KEY_OF[knob.path]
            value = st.session_state.get(key, default_text(knob, base))
            texts[key] = value if isinstance(value, str) else str(value).lower()  # a switch
    return texts


def reset(base: Scenario) -> None:
    """Move every knob to the base's value; from a callback, before the widgets run."""
    texts: dict[str, str] = {}
    for knob in KNOBS:
        key = KEY_OF[knob.path]
        if is_shown(knob, base, texts):
            texts[key] = default_text(knob, base)
            st.session_state[key] = texts[key] == "true" if knob.widget == "switch" else texts[key]
        else:
            st.session_state.pop(key, None)


def _widget(knob: Knob, key: str, default: str) -> str:
    """The knob's widget; returns its text."""
    common: dict[str, Any] = {"key": key, "help": knob.help, "bind": "query-params", "on_change": _moved}
    if knob.widget == "switch":
        return "true" if st.toggle(knob.label, default == "true", **common) else "false"
    text: str
    if knob.widget == "steps":
        now = st.session_state.get(key) or st.query_params.get(key)  # a link's own value becomes a stop too
        stops = with_stop(knob.options, default, now)
        text = st.select_slider(knob.label, stops, value=default, **common)
        return text
    options = knob.options if default in knob.options else (*knob.options, default)
    if sum(map(len, options)) <= LONGEST_ROW and len(options) > 1:
        text = st.segmented_control(knob.label, options, default=default, required=True, **common)
        return text
    text = st.selectbox(knob.label, options, index=options.index(default), **common)
    return text


def _moved() -> None:
    st.session_state[MOVED] = True
