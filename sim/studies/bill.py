"""From what one replica sustains to replicas, GPUs and money, what a length predictor costs included."""

import math
from typing import NamedTuple

from sim.catalog import gpu
from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.capacity import Capacity
from sim.systems import reads_predictor

HEADROOM = 0.2  # of what a replica sustains, kept free for failures and for traffic above the mean
MILLION = 1e6
HOURS_PER_MONTH = 730.0


class Prices(NamedTuple):
    """What a bill is reckoned with."""

    per_gpu_hour: float | None = None  # USD; None: the scenario's, or else the catalogue's
    predictor_gpus: float | None = None  # of the service, for the predictor alone; None: the scenario's
    retraining_usd_per_month: float = 0.0  # of the predictor, to keep it up to date


AS_LISTED = Prices()


class Bill(NamedTuple):
    """What a load costs on one kind of replica."""

    replicas: int
    fewest_replicas: int  # by the ends of the capacity's interval
    most_replicas: int
    gpus: int  # of the replicas
    predictor_gpus: float  # for the predictor alone; what it takes of the replicas' is in their capacity
    retraining_usd_per_hour: float  # of the predictor
    usd_per_hour: float | None  # of all GPUs, and retraining; None: the GPU has no price
    usd_per_million_tokens: float | None  # output tokens delivered at that load

    @property
    def all_gpus(self) -> float:
        """GPUs of the replicas and of the predictor."""
        return self.gpus + self.predictor_gpus


def bill(found: Capacity, needed_rps: float, *, headroom: float = HEADROOM, prices: Prices = AS_LISTED) -> Bill:
    """What it takes to serve a load.

    Each replica serves an equal part, at most `1 - headroom` of what one sustains. A router that balances better
    than chance may do with less. Where the scheduler reads a predictor, the predictor is paid for: its own GPUs, of
    the replicas' kind and as many at every load, and its retraining.

    Parameters
    ----------
    found : Capacity
    needed_rps : float
        Requests/s of the whole service, above 0.
    headroom : float
        0 to below 1.
    prices : Prices

    Raises
    ------
    ScenarioError
        A load, a headroom, a predictor's GPUs or its retraining out of range.
    """
    _check(needed_rps, headroom, prices)
    usable = 1 - headroom
    replicas, fewest, most = (
        _replicas(needed_rps, rate * usable)
        for rate in (found.sustained.rate_rps, found.sustained.high_rps, found.sustained.low_rps)
    )
    gpus = replicas * found.scenario.deployment.gpus
    predictor_gpus, retraining = _predictor(found.scenario, prices)
    price = price_of(found.scenario) if prices.per_gpu_hour is None else prices.per_gpu_hour
    usd = None if price is None else (gpus + predictor_gpus) * price + retraining
    tokens_per_hour = needed_rps * found.output_tokens * 3600
    per_million = None if usd is None else usd / tokens_per_hour * MILLION
    return Bill(replicas, fewest, most, gpus, predictor_gpus, retraining, usd, per_million)


def price_of(scenario: Scenario) -> float | None:
    """USD for an hour of one GPU: the scenario's own price, or else the catalogue's; None where neither has one."""
    own = scenario.cost.price_per_gpu_hour
    return gpu(scenario.deployment.gpu).price_per_hour if own is None else own


def _check(needed_rps: float, headroom: float, prices: Prices) -> None:
    if not 0 < needed_rps < math.inf:
        raise ScenarioError(f"needed_rps is {needed_rps:g}; more than 0 is needed")
    if not 0 <= headroom < 1:
        raise ScenarioError(f"headroom is {headroom:g}; at least 0 and less than 1 is needed")
    for name in ("predictor_gpus", "retraining_usd_per_month"):
        value = getattr(prices, name)
        if value is not None and not 0 <= value < math.inf:
            raise ScenarioError(f"{name} is {value:g}; at least 0 is needed")


def _predictor(scenario: Scenario, prices: Prices) -> tuple[float, float]:
    """GPUs of the predictor alone and USD an hour for its retraining; nothing where no prediction is read."""
    if not reads_predictor(scenario.scheduler.choices):
        return 0.0, 0.0
    gpus = scenario.predictor.own_gpus if prices.predictor_gpus is None else prices.predictor_gpus
    return gpus, prices.retraining_usd_per_month / HOURS_PER_MONTH


def _replicas(needed_rps: float, each_rps: float) -> int:
    return max(1, math.ceil(needed_rps / each_rps * (1 - 1e-12))) if each_rps > 0 else 0
