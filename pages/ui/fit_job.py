"""A calibration as a job: beside the page, stopped by the next file or deployment and by closing the tab."""

import threading
from concurrent.futures import Executor

import streamlit as st
from ui.pool import shared_pool

from sim.benchmarks import Benchmark
from sim.cost.calibration import Calibration, calibrate
from sim.errors import DataError, ScenarioError
from sim.scenario import Scenario
from sim.view.your_data import fit_key, measured_points

POLL_S = 0.3


class StoppedError(Exception):
    """Somebody wants another fit."""


class FitJob:
    """One fit: how far it is, and what it found."""

    def __init__(self, scenario: Scenario, benchmark: Benchmark, pool: Executor) -> None:
        self.done = 0.0  # share of the work
        self.found: Calibration | None = None
        self.problem = ""
        self.stop = threading.Event()
        pool.submit(self._work, scenario, benchmark)

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""
        return self.found is not None or bool(self.problem)

    def _work(self, scenario: Scenario, benchmark: Benchmark) -> None:
        try:
            points, _ = measured_points(benchmark)
            self.found = calibrate(scenario, points, f"{benchmark.name} ({benchmark.tool})", self._progress)
        except (DataError, ScenarioError) as error:
            self.problem = str(error)
        except StoppedError:
            self.problem = "The fit was stopped."
        except Exception as error:  # a dead worker would look like a slow one
            self.problem = f"{type(error).__name__}: {error}"

    def _progress(self, done: float) -> None:
        if self.stop.is_set():
            raise StoppedError
        self.done = done


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


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("fit", max_workers=2)


def _release(job: FitJob) -> None:
    job.stop.set()


@st.cache_resource(scope="session", max_entries=1, on_release=_release, show_spinner=False)
def _job(key: str, sha256: str, _scenario: Scenario, _benchmark: Benchmark) -> FitJob:
    return FitJob(_scenario, _benchmark, _pool())
