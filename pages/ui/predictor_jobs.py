"""The jobs of Predictor: the map of errors, the limits, published predictors, and capacities in money."""

import streamlit as st
from ui.job import Job, release, start, task

from sim.scenario import Scenario
from sim.studies.alternatives import Alternative
from sim.studies.predictor.break_even import Trial, run_trial, trials
from sim.studies.predictor.error_map import ErrorCell, cells, run_cell
from sim.studies.predictor.published import PublishedHere, names, run_published
from sim.studies.predictor.uses import Measured, Use, own_error
from sim.studies.predictor.worth import other_uses, tried_use
from sim.workload import Trace


def error_job(scenario: Scenario, trace: Trace | None) -> Job[ErrorCell, Measured]:
    """Runs of every error of a reservation, started where they are new."""
    return _errors(_key(scenario), _sha256(trace), scenario, trace)


def trial_job(scenario: Scenario, trace: Trace | None) -> Job[Trial, Measured]:
    """Runs without a predictor, of other spreads of an ordering, and of other delays."""
    return _trials(_key(scenario), _sha256(trace), scenario, trace)


def published_job(scenario: Scenario, trace: Trace | None) -> Job[str, PublishedHere]:
    """Published predictors on these requests."""
    return _published(_key(scenario), _sha256(trace), scenario, trace)


def use_job(scenario: Scenario, trace: Trace | None) -> Job[Use, Alternative]:
    """What one replica sustains, by use that is not its scheduler's own; its own is `capacity_jobs.base_job`."""
    return _uses(_key(scenario), _sha256(trace), scenario, trace)


def _key(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude={"about"})


def _sha256(trace: Trace | None) -> str:
    return trace.sha256 if trace else ""


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _errors(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job[ErrorCell, Measured]:
    every = cells(own_error(_scenario)[1])
    return start({cell: task(run_cell, _scenario, Use.RESERVE, cell, _trace) for cell in every})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _trials(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job[Trial, Measured]:
    bias, spread = own_error(_scenario)
    return start({trial: task(run_trial, _scenario, trial, bias, _trace) for trial in trials(spread)})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _published(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job[str, PublishedHere]:
    return start({name: task(run_published, _scenario, name, _trace) for name in names()})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _uses(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job[Use, Alternative]:
    return start({use: task(tried_use, _scenario, use, _trace) for use in other_uses(_scenario)})
