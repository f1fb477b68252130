"""Knobs as widgets: each bound to the address under the key of its field."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from ui import typed

from sim.keys import KEY_OF
from sim.scenario import Scenario
from sim.systems import SYSTEMS
from sim.systems.knobs_read import CHOICES
from sim.view.form import default_text, is_shown, scheduler_at
from sim.view.knob import Knob, Section
from sim.view.knobs import KNOBS, RECOMBINE, SECTIONS
from sim.view.scheduler_knobs import SYSTEM
from sim.view.scheduler_words import choice_meaning, option_names
from sim.view.steps import with_stop

MOVED = "knob_moved"  # in the session: this run of the page is for a knob that somebody moved
NAMED = "_named"  # end of the key of a list with names
LONGEST_ROW = 17  # characters of all options that still stand side by side


def knobs(base: Scenario) -> tuple[dict[str, str], dict[str, DeltaGenerator]]:
    """Draw the knobs that have something to move.

    Parameters
    ----------
    base : Scenario
        What they depart from; its values are left out of the address.

    Returns
    -------
    dict
        Text of each knob shown, by its key.
    dict
        Room for a note: at the end of each section by its title, and below the scheduler's name.
    """
    notes: dict[str, DeltaGenerator] = {}
    texts: dict[str, str] = {}
    for section in SECTIONS:
        if not any(is_shown(knob, base, texts) for knob in section.knobs):
            continue
        with st.expander(section.title, expanded=section.is_open or _is_moved(section, base, texts)):
            for knob in section.knobs:
                if is_shown(knob, base, texts):
                    names = option_names(knob.path, knob.options, scheduler_at(base, texts).system)
                    texts[KEY_OF[knob.path]] = _widget(knob, KEY_OF[knob.path], default_text(knob, base), names)
                    if knob.path == SYSTEM:
                        notes[SYSTEM] = st.empty()
            notes[section.title] = st.empty()
    return texts, notes


def _is_moved(section: Section, base: Scenario, texts: dict[str, str]) -> bool:
    """Whether a choice of the section is worth seeing: one was made, or the system leaves it open."""
    if section.title != RECOMBINE:
        return False
    scheduler = scheduler_at(base, texts)
    keys = [KEY_OF[knob.path] for knob in section.knobs]
    now = [st.session_state.get(key) or st.query_params.get(key, "none") for key in keys]
    is_chosen = any(text not in ("none", "1") for text in now)
    return is_chosen or scheduler.is_recombined or bool(set(CHOICES) & set(SYSTEMS[scheduler.system].knobs))


def standing(base: Scenario) -> dict[str, str]:
    """Text of each knob as it stands, before it is drawn again."""
    texts: dict[str, str] = {}
    for knob in KNOBS:
        if is_shown(knob, base, texts):
            key = KEY_OF[knob.path]
            value = _unusable(knob, key) or st.session_state.get(key, default_text(knob, base))
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


def _widget(knob: Knob, key: str, default: str, names: dict[str, str]) -> str:
    """The knob's widget; returns its text."""
    unusable = _unusable(knob, key)
    common: dict[str, Any] = {"key": key, "help": knob.help, "on_change": _moved} | typed.binding(key, unusable)
    if unusable:
        common["on_change"] = _take
    if knob.widget == "switch":
        is_on = st.toggle(knob.label, default == "true", **common)
        return unusable or ("true" if is_on else "false")
    text: str
    if knob.widget == "steps":
        stops = with_stop(knob.options, default, *_now(key))
        text = st.select_slider(knob.label, stops, value=default, **common)
        return unusable or text
    options = tuple(dict.fromkeys((*knob.options, default, *filter(None, _now(key)))))
    if names:
        return unusable or _named_choice(knob, key, default, names)
    if sum(map(len, options)) <= LONGEST_ROW and len(options) > 1:
        text = st.segmented_control(knob.label, options, default=default, required=True, **common)
        return unusable or text
    text = st.selectbox(knob.label, options, index=options.index(default), **common)
    return unusable or text


def _unusable(knob: Knob, key: str) -> str:
    """The text in the address that the knob's widget cannot show: several, or none of on and off."""
    return typed.unusable(key, lambda text: knob.widget != "switch" or text.lower() in typed.SWITCH)


def _now(key: str) -> tuple[str | None, str | None]:
    """What a knob's key holds in the session and in the address: after a step back the address is right."""
    return st.session_state.get(key), st.query_params.get(key)


def _named_choice(knob: Knob, key: str, default: str, names: dict[str, str]) -> str:
    """A list whose options are called by names, while the address holds their texts.

    A bound list writes what it shows into the address; here that is done by a field nobody sees.
    """
    with st.container(key=f"carried_{key}"):
        held = st.text_input(
            key, default, key=key, label_visibility="collapsed", **typed.binding(key, _unusable(knob, key))
        )
    text = held or default
    shown = f"{key}{NAMED}"
    st.session_state[shown] = text
    options = list(dict.fromkeys((*names, text)))
    st.selectbox(
        knob.label,
        options,
        key=shown,
        format_func=lambda option: names.get(option, option),
        help=knob.help,
        on_change=_name,
        args=(key,),
    )
    if meaning := choice_meaning(knob.path.removeprefix("scheduler."), text):
        st.caption(f"{meaning[:1].upper()}{meaning[1:]}.")
    return text


def _name(key: str) -> None:
    """What was picked by name goes into the address."""
    st.session_state[key] = st.session_state[f"{key}{NAMED}"]
    _moved()


def _take(key: str) -> None:
    """A knob was moved while the address held what its widget cannot show."""
    typed.take(key)
    _moved()


def _moved() -> None:
    st.session_state[MOVED] = True
