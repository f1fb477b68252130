"""What a predictor is worth in GPUs and money: at the same limits, less what it costs itself."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.alternatives import Alternative, beside, tried
from sim.studies.bill import AS_LISTED, HEADROOM, HOURS_PER_MONTH, Bill, Prices, bill
from sim.studies.capacity import Capacity
from sim.studies.capacity_search import ATTAINMENT, Searched
from sim.studies.predictor.uses import Use, told, use_of, without_predictor
from sim.workload import Trace


class Worth(NamedTuple):
    """One use beside the server without a predictor, serving the same load."""

    without: Bill
    using: Bill

    @property
    def saved_usd_per_month(self) -> float | None:
        """What the replicas saved cost, less the predictor's own GPUs and retraining; None: the GPU has no price."""
        before, after = self.without.usd_per_hour, self.using.usd_per_hour
        return None if before is None or after is None else (before - after) * HOURS_PER_MONTH


def other_uses(scenario: Scenario) -> tuple[Use, ...]:
    """Uses that the scenario's own scheduler makes no use of."""
    return tuple(use for use in Use if use is not use_of(scenario))


def tried_use(scenario: Scenario, use: Use, trace: Trace | None = None) -> Alternative:
    """What one replica sustains within the scenario's limits, with its predictor put to another use."""
    try:
        asked = told(scenario, use)
    except ScenarioError as error:
        return Alternative(scenario, None, str(error))
    return tried(asked, trace, ATTAINMENT, without_predictor(scenario) if use_of(scenario) is Use.NONE else None)


def by_use(own: Capacity, light: Searched, found: Mapping[Use, Alternative]) -> dict[Use, Capacity]:
    """Capacities beside the scenario's own, as the page Capacity has them; without what was refused."""
    others = {use: beside(own, light, each) for use, each in found.items()}
    return {use_of(own.scenario): own} | {use: each for use, each in others.items() if each is not None}


def worth(
    without: Capacity,
    using: Capacity,
    needed_rps: float,
    *,
    headroom: float = HEADROOM,
    prices: Prices = AS_LISTED,
) -> Worth:
    """Bring two capacities to the same load.

    Parameters
    ----------
    without, using : Capacity
        Of one replica, without a predictor and with it.
    needed_rps, headroom, prices
        As in `bill`.
    """
    before, after = (bill(found, needed_rps, headroom=headroom, prices=prices) for found in (without, using))
    return Worth(before, after)


def gpu_ratio(without: Capacity, using: Capacity) -> float:
    """How much more one replica sustains with the predictor, relative; NaN where nothing was found."""
    base = without.sustained.rate_rps
    return using.sustained.rate_rps / base - 1 if base > 0 else math.nan
