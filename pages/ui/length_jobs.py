"""The jobs of Length tail: counterfactual runs, and runs of other spreads at equal mean."""

import streamlit as st
from ui.job import Job, release, start, task

from sim.scenario import Scenario
from sim.studies.counterfactuals import Cell, Impossible, Measured, cells, measure
from sim.studies.length_spread import CVS, SpreadPoint, spread_point
from sim.workload import Trace

Spread = float | None  # None: the scenario's own outputs
Outcome = Measured | Impossible


def counterfactual_job(scenario: Scenario, trace: Trace | None) -> Job[Cell, Outcome]:
    """Runs of the counterfactuals of the scenario on screen, started where they are new."""
    return _counterfactuals(_key(scenario), trace.sha256 if trace else "", scenario, trace)


def spread_job(scenario: Scenario, trace: Trace | None) -> Job[Spread, SpreadPoint]:
    """Runs of other spreads, started where they are new."""
    return _spread(_key(scenario), trace.sha256 if trace else "", scenario, trace)


def _key(scenario: Scenario) -> str:
    return scenario.model_dump_json(exclude={"about"})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _counterfactuals(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job[Cell, Outcome]:
    return start({cell: task(measure, _scenario, cell, _trace) for cell in cells(_scenario, _trace)})


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _spread(key: str, sha256: str, _scenario: Scenario, _trace: Trace | None) -> Job[Spread, SpreadPoint]:
    spreads: tuple[Spread, ...] = (None, *CVS)
    return start({cv: task(spread_point, _scenario, cv, _trace) for cv in spreads})
