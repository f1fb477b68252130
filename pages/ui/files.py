"""Files in and out: traces to replay, presets to keep."""

from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile
from ui.knobs import reset

from sim.errors import DataError, ScenarioError
from sim.keys import EDITS, KEYS, MIX, PRESET, pack, to_query, unpack, value_of
from sim.scenario import Scenario, scenario_of_json
from sim.view.form import base_scenario
from sim.view.number_words import counted
from sim.view.your_data import TRAFFIC
from sim.workload import Trace, read_trace

LARGEST_UPLOAD_MB = 50
TRACE_FILE = "workload.trace_file"


def trace_upload() -> None:
    """Take a trace file and offer to replay it."""
    with st.expander("Replay a trace"):
        upload = st.file_uploader(
            f"Trace file (at most {LARGEST_UPLOAD_MB} MB)",
            key="trace_upload",
            help=f"{TRAFFIC.formats} gzip too. It replaces arrivals and lengths: every curve shows these requests.",
        )
        if upload is not None:
            trace = _read(upload)
            if trace is not None:
                st.caption(
                    f"{trace.name}: {counted(len(trace), 'request')}, {trace.layout} layout. " + " ".join(trace.notes)
                )
                st.button("Replay it", key="replay", on_click=replay, args=(trace,))
        if TRACE_FILE in _edits():
            st.button("Back to the preset's requests", key="no_replay", on_click=_stop_replay)


def preset_files(preset_name: str, scenario: Scenario | None) -> None:
    """Download what the knobs show; upload what somebody else downloaded."""
    with st.expander("Preset file"):
        if scenario is not None:
            st.download_button(
                "Download",
                scenario.model_dump_json(indent=2).encode() + b"\n",
                f"{preset_name}.json",
                "application/json",
                key="preset_download",
                on_click="ignore",
                icon=":material/download:",
                help="Everything that determines the run, for `longtail run FILE` or for uploading here.",
            )
        upload = st.file_uploader("Preset (JSON)", type="json", key="preset_upload", help="A downloaded preset.")
        if upload is not None:
            _offer(upload, preset_name)


def trace_of(scenario: Scenario | None) -> tuple[Trace | None, str]:
    """The trace that a scenario replays, and what to do where it is missing."""
    if scenario is None or (file := scenario.workload.trace_file) is None:
        return None, ""
    trace = _traces().get(file.sha256)
    if trace is None:
        return None, (
            f"This link replays the trace {file.name} ({counted(file.rows, 'request')}, SHA-256 {file.sha256[:12]}…), "
            "which does not travel in a link: upload it in the sidebar under “Replay a trace”."
        )
    return trace, ""


def replay(trace: Trace) -> None:
    """Let the scenario replay a trace; from a callback, before the widgets run."""
    _traces()[trace.sha256] = trace
    file = {"name": trace.name, "sha256": trace.sha256, "rows": len(trace)}
    st.session_state[EDITS] = pack(_edits() | {TRACE_FILE: file})
    if trace.arrival_s is not None:  # lengths only: they arrive as before
        st.session_state.arr = "trace"


def use(scenario: Scenario, preset_name: str) -> None:
    """Move the knobs to a scenario; from a callback, before the widgets run.

    Everything that departs from the preset goes into the packed edits; the knobs start from there.
    """
    query = to_query(scenario, preset_name)
    edits: dict[str, Any] = {KEYS[key]: value_of(text, KEYS[key]) for key, text in query.items() if key in KEYS}
    if EDITS in query:
        edits |= unpack(query[EDITS], EDITS)
    st.session_state[MIX] = query.get(MIX, "")
    st.session_state[EDITS] = pack(edits) if edits else ""
    reset(scenario)


def _read(upload: UploadedFile) -> Trace | None:
    """The trace in an upload; says so where it is refused. Read once a file."""
    if is_too_large(upload):
        return None
    known: dict[str, Trace] = st.session_state.setdefault("trace_by_upload", {})
    if upload.file_id not in known:
        try:
            trace = read_trace(upload.getvalue(), upload.name)
        except DataError as error:
            st.error(str(error))
            return None
        known[upload.file_id] = _traces()[trace.sha256] = trace
    return known[upload.file_id]


def is_too_large(upload: UploadedFile) -> bool:
    """Whether a file is refused before a byte of it is read; says so."""
    if upload.size <= LARGEST_UPLOAD_MB * 2**20:
        return False
    st.error(f"{upload.name} has {upload.size / 2**20:,.0f} MB; at most {LARGEST_UPLOAD_MB} MB are taken.")
    return True


def _traces() -> dict[str, Trace]:
    """Traces of this session, by SHA-256."""
    traces: dict[str, Trace] = st.session_state.setdefault("traces", {})
    return traces


def _edits() -> dict[str, Any]:
    """The link's packed edits; none where they are refused, which the frame reports."""
    try:
        return unpack(st.session_state[EDITS], EDITS) if st.session_state[EDITS] else {}
    except ScenarioError:
        return {}


def _stop_replay() -> None:
    left = {path: value for path, value in _edits().items() if path != TRACE_FILE}
    st.session_state[EDITS] = pack(left) if left else ""
    st.session_state.arr = base_scenario(st.session_state[PRESET]).workload.arrivals.kind


def _offer(upload: UploadedFile, preset_name: str) -> None:
    """Show what a preset file holds, and a button that moves the knobs there."""
    try:
        scenario = scenario_of_json(upload.getvalue(), upload.name)
    except ScenarioError as error:
        st.error(str(error))
        return
    st.caption(f"**{scenario.about.title or upload.name}** {scenario.about.question}")
    st.button("Use it", key="preset_use", on_click=use, args=(scenario, preset_name))
