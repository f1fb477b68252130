"""Runs, each made once: thin caches around the library."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st
from ui.asked import Asked, Pin

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.length_profile import Outputs
from sim.studies.length_profile import outputs as outputs_of
from sim.systems.warm_up import FIRST, load, loop_of
from sim.view.run_view import RunView, run_view
from sim.workload import Trace

MOST_RUNS = 128
PREPARING = "Preparing the simulation: on the very first start its kernels are compiled, which takes up to a minute …"


def ready(scenario: Scenario | None = None) -> None:
    """Wait until the kernels are compiled that a scenario runs on; says what it waits for."""
    with st.spinner(PREPARING):
        _kernels(FIRST if scenario is None else loop_of(scenario))


def view(scenario: Scenario, trace: Trace | None, *, is_saturated: bool) -> RunView:
    """The run of a scenario, from the cache where it was made before.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    return make(Run.of(scenario, trace, is_saturated))


def make(run: "Run", on_progress: Callable[[float], None] | None = None) -> RunView:
    """A run from the cache, or made and kept; also in a thread of a job.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    with _lock:
        found = _views.pop(run, None)
    if found is None:
        found = run_view(run.scenario, run.trace, is_saturated=run.is_saturated, on_progress=on_progress)
    with _lock:
        _views[run] = found  # the last to go
        while len(_views) > MOST_RUNS:
            del _views[next(iter(_views))]
    return found


def is_there(run: "Run") -> bool:
    """Whether a run has been made and is still kept."""
    return run in _views


@st.cache_resource(show_spinner=False)
def _kernels(loop: str) -> None:
    load(loop)


@dataclass(frozen=True)
class Run:
    """What a run depends on, and what it takes to make it."""

    key: str
    sha256: str
    is_saturated: bool
    scenario: Scenario = field(compare=False)
    trace: Trace | None = field(compare=False)

    @classmethod
    def of(cls, scenario: Scenario, trace: Trace | None, is_saturated: bool) -> "Run":
        """The run of a scenario."""
        return cls(scenario.model_dump_json(), trace.sha256 if trace else "", is_saturated, scenario, trace)

    @property
    def num_requests(self) -> int:
        """Requests it simulates."""
        return self.scenario.workload.num_requests if self.trace is None else len(self.trace)


_views: dict[Run, RunView] = {}  # not Streamlit's cache: jobs make runs in threads of their own
_lock = threading.Lock()


@st.cache_resource(max_entries=16, show_spinner=False)
def _outputs(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Outputs:
    return outputs_of(_scenario, _trace)


def outputs(scenario: Scenario, trace: Trace | None) -> Outputs:
    """Output lengths of a scenario's requests."""
    return _outputs(scenario.model_dump_json(), trace.sha256 if trace else "", scenario, trace)


def current_view(asked: Asked) -> tuple[RunView | None, str]:
    """The run that is asked for; or why there is none."""
    if asked.scenario is None:
        return None, asked.refusal
    ready(asked.scenario)
    try:
        return view(asked.scenario, asked.trace, is_saturated=asked.is_saturated), ""
    except ScenarioError as error:
        return None, str(error)


def pinned_views(asked: Asked) -> tuple[list[tuple[Pin, RunView]], list[str]]:
    """The pinned runs with the same random numbers and at the same operating point; a sentence on each other one."""
    found: list[tuple[Pin, RunView]] = []
    problems: list[str] = []
    for pin in asked.pins:
        try:
            found.append((pin, _of_pin(pin, asked)))
        except ScenarioError as error:
            who = "The pinned run" if len(asked.pins) == 1 else pin.name.capitalize()
            problems.append(f"{who} cannot be shown: {error}.")
    return found, problems


def _of_pin(pin: Pin, asked: Asked) -> RunView:
    if pin.scenario is None:
        raise ScenarioError(pin.refusal)
    file = pin.scenario.workload.trace_file
    if file is not None and (asked.trace is None or asked.trace.sha256 != file.sha256):
        raise ScenarioError(f"it replays the trace {file.name}, which is not the one on screen")
    return view(pin.scenario, asked.trace if file else None, is_saturated=asked.is_saturated)
