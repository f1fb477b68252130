"""The same service on other GPUs: which GPUs and tensor-parallel sizes a model fits on."""

from collections.abc import Iterable

from sim.catalog import gpu, gpu_names
from sim.catalog.gpus import GPUS_OF_A_SERVER
from sim.cost import band
from sim.deployment import resolve
from sim.errors import ScenarioError
from sim.scenario import Scenario, with_values

SIZES = (1, 2, 4, 8, 16)


def fitting(scenario: Scenario, gpus: Iterable[str] | None = None) -> list[Scenario]:
    """The scenario on every deployment that can hold it: the scenario's own first, then by trust and price.

    Parameters
    ----------
    scenario : Scenario
        Its step time becomes the catalogue's on other deployments, as what was calibrated holds for its own alone;
        the same goes for an override of the KV blocks and for a price.
    gpus : iterable of str, optional
        Names in the catalogue; those with a price if left out.

    Returns
    -------
    list of Scenario
        Tensor-parallel sizes up to a server's eight GPUs, or sixteen where eight do not hold the model; without a
        pipeline, unless the scenario has one. Only the own one where every step takes the same time, which says
        nothing of another GPU.

    Raises
    ------
    ScenarioError
        No such GPU.
    """
    if scenario.cost.source == "constant":
        return [scenario]
    chosen = scenario.deployment.gpu
    names = (
        [name for name in gpu_names() if gpu(name).price_per_hour is not None]
        if gpus is None
        else [gpu(name).name for name in gpus]
    )
    found = [each for name in dict.fromkeys([chosen, *names]) for each in _sizes(scenario, name)]
    others = [each for each in found if not is_same(each, scenario)]
    return [scenario, *sorted(others, key=lambda each: _rank(each, chosen))]


def is_same(one: Scenario, other: Scenario) -> bool:
    """Whether two scenarios run on as many GPUs of the same kind."""
    return named(one) == named(other)


def named(scenario: Scenario) -> str:
    """`2 x H100-SXM`, and of a pipeline `4 x H100-SXM in 2 stages`."""
    return scenario.deployment.named_gpus


def _sizes(scenario: Scenario, name: str) -> list[Scenario]:
    """One GPU at every tensor-parallel size that works."""
    found: list[Scenario] = []
    for size in SIZES:
        if size > GPUS_OF_A_SERVER and found:
            break
        try:
            other = _on(scenario, name, size)
            resolve(other)
        except ScenarioError:
            continue
        found.append(other)
    return found


def _on(scenario: Scenario, name: str, size: int) -> Scenario:
    own = scenario.deployment
    values = {
        "deployment.gpu": name,
        "deployment.tensor_parallel_size": size,
        "deployment.pipeline_parallel_size": 1,
    }
    if (name, size, 1) != (own.gpu, own.tensor_parallel_size, own.pipeline_parallel_size):
        values |= {"deployment.num_gpu_blocks_override": None, "cost.source": "catalog", "cost.coefficients": None}
    if name != scenario.deployment.gpu:
        values["cost.price_per_gpu_hour"] = None
    return with_values(scenario, values)


def _rank(scenario: Scenario, chosen: str) -> tuple[bool, float, float, int]:
    """The chosen GPU first, then what is best known, then what is cheap."""
    deployment = scenario.deployment
    percent = band(scenario).percent
    price = gpu(deployment.gpu).price_per_hour or 0.0
    size = deployment.gpus
    return deployment.gpu != chosen, 100.0 if percent is None else percent, price * size, size
