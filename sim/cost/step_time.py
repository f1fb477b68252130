"""How long one iteration of a deployment takes. Source: cost.md."""

from functools import lru_cache

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
from sim.stages import Stage, stages_of
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
        In seconds, through all stages of a pipeline. Longer iterations go on with the slope of the table's end.
    """
    stages = stage_times(scenario, max_tokens)
    if len(stages) == 1:
        return stages[0]
    return StepTime(*(sum(parts) for parts in zip(*stages, strict=True)))


def stage_times(scenario: Scenario, max_tokens: int | None = None) -> list[StepTime]:
    """Step time on each stage of a pipeline, parameters as of `step_time`; one where there is no pipeline.

    A stage's time is that of its layers, of the output head in the last, and of sending the hidden states to the next.
    Every stage launches its own kernels and prepares its own inputs, so that each has the host's time.
    """
    if max_tokens is None:
        resolved = resolve(scenario)
        max_tokens = resolved.max_num_batched_tokens + resolved.max_num_seqs
    size = max(2, min(max_tokens, LONGEST_TABLE) + 1)
    cost, deployment = scenario.cost, scenario.deployment
    stages = stages_of(model(deployment.model), deployment.pipeline_parallel_size)
    if cost.source == "constant":
        return [StepTime(np.full(size, cost.step_ms / 1000 * each.share), 0.0, 0.0, 0.0) for each in stages]
    host_ms = host_ms_of(scenario.scheduler.system) if cost.host_ms is None else cost.host_ms
    return [_kept(deployment, size, host_ms, cost.calibrated_step, each) for each in stages]


@lru_cache(maxsize=64)
def _kept(
    deployment: Deployment, size: int, host_ms: float, calibrated: CalibratedStep | None, stage: Stage
) -> StepTime:
    """The same table for every run of a study, which asks for it a hundred times; nobody writes into it."""
    return deployment_step_time(deployment, np.arange(size, dtype=np.float64), host_ms, calibrated, stage)


def deployment_step_time(
    deployment: Deployment,
    tokens: Floats,
    host_ms: float,
    calibrated: CalibratedStep | None = None,
    stage: Stage | None = None,
) -> StepTime:
    """Step time of a deployment, or of one stage of it.

    Parameters
    ----------
    deployment : Deployment
    tokens : (m,) float64
        0, 1, ..., m - 1: tokens of an iteration.
    host_ms : float
        The engine's own time in each step.
    calibrated : CalibratedStep, optional
        What was fitted to measurements of this deployment; it replaces the catalogue's figures and the host time.
    stage : Stage, optional
        Of a pipeline; its layers' share of the time that was fitted as fixed.
    """
    fit, _ = catalogue_fit(deployment)
    if calibrated is not None:
        fit, host_ms = calibrated_fit(fit, calibrated)
        host_ms *= 1.0 if stage is None else stage.share
    return composed(terms_of(deployment, tokens, stage), fit, host_ms)


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
    return fixed_ms + products_ms + fit.allreduce(terms.gpus) * terms.transfer_ms + terms.send_ms


def smooth_max(a: Floats, b: Floats, p: float) -> Floats:
    """(a^p + b^p)^(1/p): the sum at p = 1, the larger of both as p grows."""
    largest = np.maximum(a, b)  # taken out so that a large p cannot overflow
    scale = np.where(largest > 0, largest, 1.0)
    smooth: Floats = largest * ((a / scale) ** p + (b / scale) ** p) ** (1 / p)
    return smooth
