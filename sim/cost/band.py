"""How far to trust the catalogue's step time."""

from typing import NamedTuple

from sim.catalog import gpu, model
from sim.cost.coefficients import coefficients
from sim.gpu_memory import weight_dtype
from sim.scenario import Scenario


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
    shape, card = model(deployment.model), gpu(deployment.gpu)
    _, is_fitted = coefficients(card, shape, weight_dtype(shape, deployment))
    if not is_fitted:
        whose = "the vendor's other GPUs" if card.vendor == "NVIDIA" else "NVIDIA GPUs"  # no other vendor's are fitted
        return Band(None, f"datasheet estimate: {card.name} with the median efficiency of {whose}", False)
    if deployment.tensor_parallel_size > 1 and not card.has_fast_link:
        return Band(25.0, "±25 %: several GPUs without NVLink", False)
    if shape.is_moe:
        return Band(25.0, "±25 %: mixture of experts by the catalogue's coefficients", False)
    return Band(10.0, "±10 %: dense model by the catalogue's coefficients", True)
