"""How far to trust a scenario's step time."""

from typing import NamedTuple

from sim.catalog import Gpu, Model, gpu, model
from sim.cost.step_time import catalogue_fit
from sim.gpu_memory import weight_dtype
from sim.scenario import Scenario
from sim.system_spec import CalibratedStep, Deployment

CALIBRATED_PERCENT = 5.0  # at best
CATALOGUE_PERCENT = 10.0
ROUGH_PERCENT = 25.0


class Band(NamedTuple):
    """Error to expect of absolute times and rates."""

    percent: float | None  # None: not known, or none
    text: str
    is_calibrated: bool  # False: show a warning with every absolute number


def band(scenario: Scenario) -> Band:
    """Error band of a scenario's step time. Source: cost.md, "What it reaches"."""
    if scenario.cost.source == "constant":
        return Band(None, "constant step time: exact by definition, no real server", True)
    deployment = scenario.deployment
    calibrated = scenario.cost.calibrated_step
    if calibrated is not None:
        return _calibrated(deployment, calibrated)
    shape, card = model(deployment.model), gpu(deployment.gpu)
    trust = _of_catalogue(deployment, shape, card)
    if shape.sliding_window:
        trust = trust._replace(text=f"{trust.text}; sliding windows taken at a typical context")
    return trust


def is_same_deployment(deployment: Deployment, calibrated: CalibratedStep) -> bool:
    """Whether coefficients were measured on such a deployment; its memory and KV blocks may differ."""
    measured = (calibrated.model, calibrated.gpu, calibrated.tensor_parallel_size, calibrated.kv_cache_dtype)
    asked = (deployment.model, deployment.gpu, deployment.tensor_parallel_size, deployment.kv_cache_dtype)
    is_alike = measured == asked and deployment.pipeline_parallel_size == 1
    return is_alike and calibrated.weight_dtype == weight_dtype(model(deployment.model), deployment)


def _calibrated(deployment: Deployment, calibrated: CalibratedStep) -> Band:
    where = f"{calibrated.tensor_parallel_size} x {calibrated.gpu}"
    if not is_same_deployment(deployment, calibrated):
        return Band(None, f"calibrated on {calibrated.model} on {where}, which is another deployment", False)
    if calibrated.error_percent is None:
        return Band(CATALOGUE_PERCENT, f"±{CATALOGUE_PERCENT:g} %: calibrated, error on unseen points unknown", True)
    percent = max(CALIBRATED_PERCENT, calibrated.error_percent)
    text = f"±{percent:.2g} %: calibrated on {calibrated.points} measured points"
    return Band(percent, text, percent <= CATALOGUE_PERCENT)


def _of_catalogue(deployment: Deployment, shape: Model, card: Gpu) -> Band:
    _, is_fitted = catalogue_fit(deployment)
    if not is_fitted:
        whose = "the vendor's other GPUs" if card.vendor == "NVIDIA" else "NVIDIA GPUs"  # no other vendor's are fitted
        return Band(None, f"datasheet estimate: {card.name} with the median efficiency of {whose}", False)
    if deployment.gpus > 1 and not card.has_fast_link:
        return Band(ROUGH_PERCENT, f"±{ROUGH_PERCENT:g} %: several GPUs without NVLink", False)
    if deployment.tensor_parallel_size > card.linked:
        text = f"too fast: {deployment.tensor_parallel_size} GPUs taken as linked like the {card.linked} of one server"
        return Band(None, text, False)
    if deployment.pipeline_parallel_size > 1:
        return Band(ROUGH_PERCENT, f"±{ROUGH_PERCENT:g} %: no pipeline was measured, each stage by its layers", False)
    if shape.is_moe:
        text = f"±{ROUGH_PERCENT:g} %: mixture of experts by the catalogue's coefficients"
        return Band(ROUGH_PERCENT, text, False)
    if weight_dtype(shape, deployment) == "fp4":
        return Band(ROUGH_PERCENT, f"±{ROUGH_PERCENT:g} %: 4-bit weights by coefficients of 16-bit ones", False)
    return Band(CATALOGUE_PERCENT, f"±{CATALOGUE_PERCENT:g} %: dense model by the catalogue's coefficients", True)
