"""What a predictor is worth in GPUs and money: at the same limits, less what it costs itself."""

import math
from typing import NamedTuple

from sim.scenario import Scenario, with_values
from sim.studies.alternatives import light_search
from sim.studies.bill import AS_LISTED, HEADROOM, HOURS_PER_MONTH, Bill, Prices, bill
from sim.studies.capacity import ATTAINMENT, Capacity, combined
from sim.studies.predictor.uses import Use, served
from sim.workload import Trace


class Worth(NamedTuple):
    """One use beside the server without a predictor, serving the same load."""

    without: Bill
    using: Bill

    @property
    def saved_gpus(self) -> float:
        """Whole replicas saved, less the predictor's own GPUs."""
        return self.without.all_gpus - self.using.all_gpus

    @property
    def saved_usd_per_month(self) -> float | None:
        """The same in money, less retraining; None: the GPU has no price."""
        before, after = self.without.usd_per_hour, self.using.usd_per_hour
        return None if before is None or after is None else (before - after) * HOURS_PER_MONTH


def search(scenario: Scenario, use: Use, trace: Trace | None = None) -> Capacity:
    """What one replica sustains within the scenario's limits, with its predictor put to a use.

    Raises
    ------
    ScenarioError
        What `light_search` refuses: no limit, no rate, too few requests.
    """
    every_request = {"workload.num_requests": scenario.workload.num_requests}
    asked = with_values(served(scenario, use), every_request)
    return combined(asked, [light_search(asked, trace, ATTAINMENT)])


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
