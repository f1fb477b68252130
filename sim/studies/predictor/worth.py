"""What a predictor is worth in GPUs and money: at the same limits, less what it costs itself."""

import math
from typing import NamedTuple

from sim.scenario import Scenario, with_values
from sim.studies.alternatives import light_search
from sim.studies.bill import HEADROOM, Bill, bill, price_of
from sim.studies.capacity import ATTAINMENT, Capacity, combined
from sim.studies.predictor.uses import Use, served
from sim.workload import Trace

HOURS_PER_MONTH = 730.0


class Worth(NamedTuple):
    """One use beside the server without a predictor, serving the same load."""

    without: Bill
    using: Bill
    predictor_gpus: float  # kept for it alone; what it takes of the serving ones is in their capacity
    saved_gpus: float  # whole replicas saved, less the predictor's own
    saved_usd_per_month: float | None  # less retraining; None: the GPU has no price


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
    retraining_usd_per_month: float,
    *,
    headroom: float = HEADROOM,
) -> Worth:
    """Bring two capacities to the same load.

    Parameters
    ----------
    without, using : Capacity
        Of one replica, without a predictor and with it.
    needed_rps : float
        Requests/s of the whole service.
    retraining_usd_per_month : float
        What keeping the predictor up to date costs.
    headroom : float
        Share of a replica's capacity that is kept free.
    """
    before, after = (bill(found, needed_rps, headroom=headroom) for found in (without, using))
    own = using.scenario.predictor.own_gpus
    saved = before.gpus - after.gpus - own
    price = price_of(using.scenario)
    usd = None if price is None else saved * price * HOURS_PER_MONTH - retraining_usd_per_month
    return Worth(before, after, own, saved, usd)


def gpu_ratio(without: Capacity, using: Capacity) -> float:
    """How much more one replica sustains with the predictor, relative; NaN where nothing was found."""
    base = without.sustained.rate_rps
    return using.sustained.rate_rps / base - 1 if base > 0 else math.nan
