"""The least-squares problem of a calibration: five parameters, points by the closed form with corrections."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from sim.catalog import model
from sim.cost.closed_form import Load, latencies, load_of
from sim.cost.coefficients import Coefficients
from sim.cost.host import host_ms_of
from sim.cost.measured_point import MeasuredPoint, Simulated, simulated
from sim.cost.step_time import calibrated_fit, catalogue_fit
from sim.cost.terms import terms_of
from sim.deployment import resolve
from sim.gpu_memory import weight_dtype
from sim.scenario import Scenario
from sim.system_spec import CalibratedStep

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PARAMETERS = ("fixed_ms", "inv_eff_mem", "inv_eff_kv", "inv_eff_flop", "inv_eff_attn")
HELD = np.array([0.7, 0.3, 0.3, 0.3, 0.3])  # standard deviation of the logarithm around the catalogue's value
FARTHEST = np.array([2.5, 1.5, 1.5, 1.5, 1.5])  # in logarithms: a twelfth to twelvefold, a quarter to fourfold
NOISE = (0.005, 0.03)  # log error of TPOT to expect, least and most; between them as the fit finds
TTFT_NOISE = 5.0  # times that of TPOT
NOISE_MARGIN = 1.5  # over what is left after fitting five parameters
CLIENT_MS = (0.05, 20.0, 1000.0)  # least, start and most of what TTFT holds besides the server
QUEUED = 3.0  # TTFT of so many times the form is waiting for memory: no measure of a step


class Problem(NamedTuple):
    """Points of one deployment, and where the fit starts."""

    base: Scenario
    points: Sequence[MeasuredPoint]
    load: Load
    start: Coefficients
    catalogue: Floats  # (5,)


class Found(NamedTuple):
    """Parameters that explain some points."""

    values: Floats  # (5,)
    client_ms: float | None  # part of TTFT that no step explains; None: no TTFT
    noise: float  # log error of TPOT to expect
    jacobian: Floats  # (measurements, 5) relative changes; TTFT at its smaller weight


def problem_of(base: Scenario, points: Sequence[MeasuredPoint]) -> Problem:
    """Set the problem up; the deployment must be able to run."""
    start, _ = catalogue_fit(base.deployment)
    terms = terms_of(base.deployment, np.ones(1))
    fixed_ms = start.fixed_ms(terms.layers, terms.allreduces) + host_ms_of(base.scheduler.system)
    catalogue = np.array([fixed_ms, *(getattr(start, name) for name in PARAMETERS[1:])])
    load = load_of(base.deployment, points, resolve(base).max_num_batched_tokens)
    return Problem(base, points, load, start, catalogue)


def step_of(problem: Problem, values: Floats) -> CalibratedStep:
    """Parameters as a scenario holds them."""
    deployment = problem.base.deployment
    return CalibratedStep(
        model=deployment.model,
        gpu=deployment.gpu,
        tensor_parallel_size=deployment.tensor_parallel_size,
        weight_dtype=weight_dtype(model(deployment.model), deployment),
        kv_cache_dtype=deployment.kv_cache_dtype,
        **dict(zip(PARAMETERS, values.tolist(), strict=True)),
        points=len(problem.points),
    )


def simulate_point(problem: Problem, point: MeasuredPoint, values: Floats) -> Simulated:
    """The simulation at a point, with these parameters."""
    cost = problem.base.cost.model_copy(update={"source": "calibrated", "coefficients": step_of(problem, values)})
    return simulated(problem.base.model_copy(update={"cost": cost}), point)


def corrections(problem: Problem, values: Floats, runs: Sequence[Simulated]) -> Floats:
    """(2, points): TPOT and TTFT of the simulation over those of the closed form."""
    return np.array([[run.tpot_ms for run in runs], [run.ttft_ms for run in runs]]) / _form(problem, values)


def fit(problem: Problem, correction: Floats, is_in: Bools, noise: float = NOISE[1]) -> Found:
    """Parameters that explain the chosen points.

    Parameters
    ----------
    problem : Problem
    correction : (2, points) float64
        What to multiply the closed form with.
    is_in : (points,) bool
    noise : float
        Log error of TPOT to expect: the smaller, the less the catalogue holds the parameters.
    """
    tpot_ms = np.array([point.tpot_ms for point in problem.points])
    ttft_ms = np.array([point.ttft_ms or np.nan for point in problem.points])
    has_ttft = is_in & ~np.isnan(ttft_ms) & (correction[1] < QUEUED)
    fits_client = bool(has_ttft.any())

    def residuals(logs: Floats) -> Floats:
        form = _form(problem, problem.catalogue * np.exp(logs[:5])) * correction
        tpot = np.log(form[0] / tpot_ms)[is_in] / noise
        client_ms = np.exp(logs[5]) if fits_client else 0.0
        ttft = np.log((form[1] + client_ms) / ttft_ms)[has_ttft] / (noise * TTFT_NOISE)
        return np.concatenate([tpot, ttft, logs[:5] / HELD])

    least, start, most = (np.log([each]) if fits_client else np.zeros(0) for each in CLIENT_MS)
    bounds = (np.concatenate([-FARTHEST, least]), np.concatenate([FARTHEST, most]))
    found = least_squares(residuals, np.concatenate([np.zeros(5), start]), bounds=bounds)
    client_ms = float(np.exp(found.x[5])) if fits_client else None
    left = NOISE_MARGIN * noise * float(np.sqrt(np.mean(found.fun[: is_in.sum()] ** 2)))
    expected = float(np.clip(left, *NOISE))
    return Found(problem.catalogue * np.exp(found.x[:5]), client_ms, expected, _of_parameters(found.jac * noise))


def _form(problem: Problem, values: Floats) -> Floats:
    """(2, points): TPOT and TTFT by the closed form."""
    coefficients, fixed_ms = calibrated_fit(problem.start, step_of(problem, values))
    return np.array(latencies(problem.load, coefficients, fixed_ms))


def _of_parameters(jacobian: Floats) -> Floats:
    """The measurements' rows, without what the client's time explains as well."""
    rows = jacobian[: len(jacobian) - len(PARAMETERS)]
    ours, client = rows[:, :5], rows[:, 5:]
    if not client.size or not client.any():
        return ours
    return np.asarray(ours - client @ np.linalg.lstsq(client, ours, rcond=None)[0], dtype=np.float64)
