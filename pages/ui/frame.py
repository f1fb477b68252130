"""The sidebar: preset, operating point, knobs, files; and what they come to."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from ui import files, typed
from ui.asked import Asked, Pin
from ui.history import remember
from ui.knobs import MOVED, knobs, reset, standing
from ui.live_plot import preload
from ui.numbers import set_numbers

from sim.errors import ScenarioError
from sim.keys import (
    BASE,
    EDITS,
    LINK_VERSION,
    MEETING,
    MIX,
    OPERATING_POINT,
    PAGE_KEYS,
    PINS,
    PRESET,
    from_query,
    to_query,
    unpack,
)
from sim.presets import DEFAULT_PRESET, preset, preset_names
from sim.scenario import Scenario
from sim.view import address, theme
from sim.view.form import base_scenario, resolved_text, scenario_of, scheduler_at
from sim.view.knobs import RECOMBINE, section_of
from sim.view.pins import labels, names
from sim.view.scheduler_knobs import SYSTEM
from sim.view.scheduler_words import description, predictor_note

AS_ASKED, SATURATED = "as asked", "saturated"
HELD = "keys_with_a_knob"  # in the session: of the last run
LEFT = "keys_without_a_knob"
CARRIED = (EDITS, *PINS, BASE, MEETING)  # no widgets for the eye: they hold what a link carries besides the knobs


def frame() -> Asked:
    """Draw the sidebar and read it."""
    shown, carried = st.container(), st.container(key="carried")
    with carried:
        preload()
        set_numbers()
        for key in CARRIED:
            st.text_input(key, key=key, bind="query-params", label_visibility="collapsed")
    with shown:
        said = st.container()
        name = _preset_chooser()
        is_saturated = _load_switch() == SATURATED
        base = _known(name)
        has_mix = len(base.workload.types) > 1
    with shown if has_mix else carried:
        _mix(base)
    with shown:
        asked = _read(name, is_saturated, said)
    with carried:
        remember(st.query_params.to_dict())
    return asked


def foreseen() -> Asked | None:
    """What the frame will say, where that is clear before it is drawn: somebody moved a knob that is on the page."""
    is_moved = st.session_state.pop(MOVED, False)
    if not is_moved or any(key not in st.session_state for key in (PRESET, OPERATING_POINT, MIX, *CARRIED)):
        return None
    name = st.session_state[PRESET]
    base, refusal = _base(name)
    scenario, refusal = _scenario(name, base, standing(base), refusal)
    return _asked(name, scenario, refusal, is_saturated=st.session_state[OPERATING_POINT] == SATURATED)


def _read(name: str, is_saturated: bool, said: DeltaGenerator) -> Asked:
    """Draw the knobs and files below, and read them."""
    base, refusal = _base(name)
    texts, notes = knobs(base)
    scenario, refusal = _scenario(name, base, texts, refusal)
    for sentence in address.notes(st.query_params.to_dict(), _knobs_of(texts), base, texts):
        said.warning(sentence)
    _remember_keys(texts)
    _note(notes, base, texts, scenario, refusal)
    files.trace_upload()
    files.preset_files(name, scenario)
    return _asked(name, scenario, refusal, is_saturated=is_saturated)


def _note(
    notes: dict[str, DeltaGenerator], base: Scenario, texts: dict[str, str], scenario: Scenario | None, refusal: str
) -> None:
    """Say beside the knobs what they come to; or, among the choices, why they do not go together."""
    scheduler = scenario.scheduler if scenario else scheduler_at(base, texts)
    has_timeout = bool(scenario and scenario.workload.client_timeout_s)
    stages = scenario.deployment.pipeline_parallel_size if scenario else 1
    notes[SYSTEM].caption(description(scheduler, has_timeout=has_timeout, stages=stages))
    if scenario is None:
        if section_of(refusal) == RECOMBINE and RECOMBINE in notes:
            notes[RECOMBINE].error(refusal)
        return
    notes["Server"].caption(resolved_text(scenario))
    if own := predictor_note(scheduler, scenario.predictor):
        notes["Predictor"].caption(own)


def _scenario(name: str, base: Scenario, texts: dict[str, str], refusal: str) -> tuple[Scenario | None, str]:
    """What the knobs and the rest of the address come to, or why it is refused."""
    if refusal:
        return None, refusal
    more = address.without_knob(st.query_params.to_dict(), _knobs_of(texts), base, texts)
    try:
        return scenario_of(name, st.session_state[MIX], st.session_state[EDITS], texts | more), ""
    except ScenarioError as error:
        return None, str(error)


def _knobs_of(texts: dict[str, str]) -> set[str]:
    """Keys that have a knob, or had one in the last run: Streamlit is about to take those out of the address."""
    return {*texts, *st.session_state.get(HELD, ())}


def _remember_keys(texts: dict[str, str]) -> None:
    has_knob = _knobs_of(texts)
    st.session_state[HELD] = set(texts)
    st.session_state[LEFT] = [key for key in st.query_params if key not in (*has_knob, *address.FRAME, *PAGE_KEYS)]


def _asked(name: str, scenario: Scenario | None, refusal: str, *, is_saturated: bool) -> Asked:
    pins = _pins(to_query(scenario, name) if scenario else {})
    trace, missing = files.trace_of(scenario)
    return Asked(
        name, scenario if not missing else None, refusal or missing, trace, is_saturated, pins, _compared_with(pins)
    )


def _preset_chooser() -> str:
    now = (st.session_state.get(PRESET), st.query_params.get(PRESET))  # a link may name any, and wrong ones
    names = tuple(dict.fromkeys((*preset_names("explore"), *filter(None, now))))
    name: str = st.selectbox(
        "Preset",
        names,
        index=names.index(DEFAULT_PRESET),
        key=PRESET,
        bind="query-params",
        on_change=_apply_preset,
        help="A scenario to start from: every knob moves to its value, and the address holds what you change. "
        f"What to expect of this one: {_known(next(filter(None, now), DEFAULT_PRESET)).about.reading}",
    )
    st.caption(_known(name).about.question)
    return name


def _known(name: str) -> Scenario:
    """The preset of that name; the default one where there is none, which `_base` refuses."""
    return preset(name if name in preset_names() else DEFAULT_PRESET)


def _apply_preset() -> None:
    st.session_state[MIX] = st.session_state[EDITS] = ""
    typed.leave_out([LINK_VERSION, *st.session_state.get(LEFT, ())])
    reset(_known(st.session_state[PRESET]))


def _load_switch() -> str:
    load: str = typed.one_of(
        st,
        "segmented_control",
        "Operating point",
        (AS_ASKED, SATURATED),
        default=AS_ASKED,
        required=True,
        key=OPERATING_POINT,
        help="as asked: requests arrive as set below; early completion only shows here, at low load. saturated: the "
        "same requests all wait from the start; throughput shows what the server can do, and memory is the limit.",
    )
    return load


def _mix(scenario: Scenario) -> None:
    """Shares of the task types."""
    st.text_input(
        "Mix (type:share, …)",
        key=MIX,
        placeholder=",".join(f"{task.name}:{task.share:g}" for task in scenario.workload.types),
        bind="query-params",
        help="Shares of the preset's task types; leave one out to drop it. More of the long type: heavier tail, "
        "more KV memory held. Their lengths are edited in the preset's file.",
    )


def _base(name: str) -> tuple[Scenario, str]:
    """What the knobs depart from, and why the link's part of it was refused."""
    version = st.query_params.get("v", "")
    try:
        return base_scenario(name, st.session_state[MIX], st.session_state[EDITS], version), ""
    except ScenarioError as error:
        return _known(name), str(error)


def _pins(current: dict[str, str]) -> tuple[Pin, ...]:
    """The pinned runs of the link, in order of their keys."""
    taken = [key for key in PINS if st.session_state[key]]
    found = {key: _unpacked(key) for key in taken}
    readable = {key: query for key, (query, scenario, _) in found.items() if scenario is not None}
    label_of = dict(zip(readable, labels(list(readable.values()), current), strict=True))
    return tuple(
        Pin(key, name, dash, label_of.get(key, "cannot be shown"), scenario, refusal)
        for (key, (_, scenario, refusal)), name, dash in zip(
            found.items(), names(len(taken)), theme.PIN_DASHES, strict=False
        )
    )


def _unpacked(key: str) -> tuple[dict[str, str], Scenario | None, str]:
    """Query and scenario of a pin; or why it was refused."""
    query: dict[str, str] = {}
    try:
        query = {each: str(value) for each, value in unpack(st.session_state[key], key).items()}
        return query, from_query(query), ""
    except ScenarioError as error:
        return query, None, str(error)


def _compared_with(pins: tuple[Pin, ...]) -> str:
    """The chosen pin, or the first that can be shown."""
    chosen: str = st.session_state[BASE]
    if chosen in (pin.key for pin in pins):
        return chosen
    return next((pin.key for pin in pins if pin.scenario is not None), "")
