"""From what one replica sustains to replicas, GPUs and money."""

import math
from typing import NamedTuple

from sim.catalog import gpu
from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.capacity import Capacity

HEADROOM = 0.2  # of what a replica sustains, kept free for failures and for traffic above the mean
MILLION = 1e6


class Bill(NamedTuple):
    """What a load costs on one kind of replica."""

    replicas: int
    fewest_replicas: int  # by the ends of the capacity's interval
    most_replicas: int
    gpus: int
    usd_per_hour: float | None  # None: the GPU has no price
    usd_per_million_tokens: float | None  # output tokens delivered at that load


def bill(
    found: Capacity, needed_rps: float, *, headroom: float = HEADROOM, price_per_gpu_hour: float | None = None
) -> Bill:
    """What it takes to serve a load.

    Each replica serves an equal part, at most `1 - headroom` of what one sustains. A router that balances better
    than chance may do with less.

    Parameters
    ----------
    found : Capacity
    needed_rps : float
        Requests/s of the whole service, above 0.
    headroom : float
        0 to below 1.
    price_per_gpu_hour : float, optional
        USD; the scenario's, or else the catalogue's, if left out.

    Raises
    ------
    ScenarioError
        A load or a headroom out of range.
    """
    if not 0 < needed_rps < math.inf:
        raise ScenarioError(f"needed_rps is {needed_rps:g}; more than 0 is needed")
    if not 0 <= headroom < 1:
        raise ScenarioError(f"headroom is {headroom:g}; at least 0 and less than 1 is needed")
    usable = 1 - headroom
    replicas, fewest, most = (
        _replicas(needed_rps, rate * usable)
        for rate in (found.sustained.rate_rps, found.sustained.high_rps, found.sustained.low_rps)
    )
    gpus = replicas * found.scenario.deployment.gpus
    price = price_of(found.scenario) if price_per_gpu_hour is None else price_per_gpu_hour
    usd = None if price is None else gpus * price
    tokens_per_hour = needed_rps * found.output_tokens * 3600
    return Bill(replicas, fewest, most, gpus, usd, None if usd is None else usd / tokens_per_hour * MILLION)


def price_of(scenario: Scenario) -> float | None:
    """USD for an hour of one GPU: the scenario's own price, or else the catalogue's; None where neither has one."""
    own = scenario.cost.price_per_gpu_hour
    return gpu(scenario.deployment.gpu).price_per_hour if own is None else own


def _replicas(needed_rps: float, each_rps: float) -> int:
    return max(1, math.ceil(needed_rps / each_rps * (1 - 1e-12))) if each_rps > 0 else 0
