"""How long one iteration of a deployment takes. Source: cost.md."""

import numpy as np
from numpy.typing import NDArray

from sim.catalog import gpu, model
from sim.cost.coefficients import Coefficients, coefficients
from sim.cost.host import host_ms_of
from sim.cost.terms import Terms, terms_of
from sim.deployment import resolve
from sim.engine.inputs import StepTime
from sim.gpu_memory import weight_dtype
from sim.scenario import Scenario
from sim.system_spec import CalibratedStep, Deployment

Floats = NDArray[np.float64]

LONGEST_TABLE = 65_536  # tokens; past it the table goes on in a straight line


def step_time(scenario: Scenario, max_tokens: int | None = None) -> StepTime:
    """Step time of the scenario's deployment, everything folded into a table over tokens and two factors.

    Parameters
    ----------
    scenario : Scenario
    max_tokens : int, optional
        Most tokens of one iteration, the table's end; by default what the scheduler's limits allow.

    Returns
    -------
    StepTime
        In seconds. Longer iterations go on with the slope of the table's end.
    """
    if max_tokens is None:
        resolved = resolve(scenario)
        max_tokens = resolved.max_num_batched_tokens + resolved.max_num_seqs
    tokens = np.arange(max(2, min(max_tokens, LONGEST_TABLE) + 1), dtype=np.float64)
    cost = scenario.cost
    if cost.source == "constant":
        return StepTime(np.full(len(tokens), cost.step_ms / 1000), 0.0, 0.0, 0.0)
    host_ms = host_ms_of(scenario.scheduler.system) if cost.host_ms is None else cost.host_ms
    return deployment_step_time(scenario.deployment, tokens, host_ms, cost.calibrated_step)


def deployment_step_time(
    deployment: Deployment, tokens: Floats, host_ms: float, calibrated: CalibratedStep | None = None
) -> StepTime:
    """Step time of a deployment.

    Parameters
    ----------
    deployment : Deployment
    tokens : (m,) float64
        0, 1, ..., m - 1: tokens of an iteration.
    host_ms : float
        The engine's own time in each step.
    calibrated : CalibratedStep, optional
        What was fitted to measurements of this deployment; it replaces the catalogue's figures and the host time.
    """
    fit, _ = catalogue_fit(deployment)
    if calibrated is not None:
        fit, host_ms = calibrated_fit(fit, calibrated)
    return composed(terms_of(deployment, tokens), fit, host_ms)


def catalogue_fit(deployment: Deployment) -> tuple[Coefficients, bool]:
    """The catalogue's coefficients for a deployment, and whether they were fitted on that GPU."""
    shape = model(deployment.model)
    fit, is_fitted = coefficients(gpu(deployment.gpu), shape, weight_dtype(shape, deployment))
    if deployment.kv_cache_dtype == "fp8":
        fit = fit._replace(inv_eff_kv=fit.inv_eff_kv8)
    return fit, is_fitted


def calibrated_fit(fit: Coefficients, calibrated: CalibratedStep) -> tuple[Coefficients, float]:
    """Catalogue coefficients with the calibrated ones in their place, and the time that is left of a step."""
    fit = fit._replace(
        o0_ms=0.0,
        o1_us_layer=0.0,
        ar_us=0.0,
        inv_eff_mem=calibrated.inv_eff_mem,
        inv_eff_kv=calibrated.inv_eff_kv,
        inv_eff_flop=calibrated.inv_eff_flop,
        inv_eff_attn=calibrated.inv_eff_attn,
    )
    return fit, calibrated.fixed_ms


def composed(terms: Terms, fit: Coefficients, host_ms: float) -> StepTime:
    """Terms and coefficients as one table by tokens and two factors, in seconds.

    `terms` must be those of 0, 1, 2, ... tokens.
    """
    linear_s = np.round(linear_ms(terms, fit, host_ms) / 1000, 12)  # ps: powers differ in the last bit by machine
    return StepTime(
        linear_s,
        float(linear_s[-1] - linear_s[-2]),
        fit.inv_eff_kv * terms.kv_ms / 1000,
        fit.inv_eff_attn * terms.attention_ms / 1000,
    )


def linear_ms(terms: Terms, fit: Coefficients, host_ms: float) -> Floats:
    """Everything in a step but attention: (m,) float64, as the terms."""
    fixed_ms = fit.fixed_ms(terms.layers, terms.allreduces) + host_ms
    products_ms = smooth_max(fit.inv_eff_mem * terms.weights_ms, fit.inv_eff_flop * terms.flops_ms, fit.p)
    return fixed_ms + products_ms + fit.allreduce(terms.gpus) * terms.transfer_ms


def smooth_max(a: Floats, b: Floats, p: float) -> Floats:
    """(a^p + b^p)^(1/p): the sum at p = 1, the larger of both as p grows."""
    largest = np.maximum(a, b)  # taken out so that a large p cannot overflow
    scale = np.where(largest > 0, largest, 1.0)
    smooth: Floats = largest * ((a / scale) ** p + (b / scale) ** p) ** (1 / p)
    return smooth
