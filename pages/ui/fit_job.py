"""A calibration as a job: beside the page, stopped by the next file or deployment and by closing the tab."""

from concurrent.futures import Executor
from functools import partial

import streamlit as st
from ui.job import release
from ui.long_job import LongJob, Progress
from ui.pool import shared_pool

from sim.benchmarks import Benchmark
from sim.cost.calibration import Calibration, calibrate
from sim.scenario import Scenario
from sim.view.your_data import fit_key, measured_points

POLL_S = 0.3
FIT = "fit"  # the one task

FitJob = LongJob[str, Calibration]


def fit_job(scenario: Scenario, benchmark: Benchmark) -> FitJob:
    """The fit of a benchmark on the scenario's deployment, started where it is new."""
    return _job(fit_key(scenario), benchmark.sha256, scenario, benchmark)


def wait_for(job: FitJob) -> None:
    """Show how far a fit is; run the page once more when it is done."""

    @st.fragment(run_every=POLL_S)
    def look() -> None:
        st.progress(job.done, text="Fitting: every point is simulated with trial coefficients …")
        if job.is_done:
            st.rerun()

    look()


def _fit(scenario: Scenario, benchmark: Benchmark, progress: Progress) -> Calibration:
    points, _ = measured_points(benchmark)
    return calibrate(scenario, points, f"{benchmark.name} ({benchmark.tool})", progress)


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("fit", max_workers=2)


@st.cache_resource(scope="session", max_entries=1, on_release=release, show_spinner=False)
def _job(key: str, sha256: str, _scenario: Scenario, _benchmark: Benchmark) -> FitJob:
    return LongJob({FIT: partial(_fit, _scenario, _benchmark)}, _pool())
