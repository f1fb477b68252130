"""A predictor in money: arithmetic by hand, and the limits of a search."""

import math

import pytest

from sim import preset, with_values
from sim.errors import ScenarioError
from sim.studies.bill import HOURS_PER_MONTH, Prices
from sim.studies.capacity import Capacity
from sim.studies.predictor.uses import Use, served
from sim.studies.predictor.worth import gpu_ratio, search, worth
from sim.studies.rate_search import SustainedRate

CHAT = with_values(preset("chat"), {"cost.price_per_gpu_hour": 2.0, "predictor.own_gpus": 0.5})
ORDERED = served(CHAT, Use.ORDER)


def capacity_of(rate_rps, scenario=CHAT):
    return Capacity(scenario, SustainedRate(rate_rps, rate_rps, rate_rps, ()), 0.95, 200.0, 0.0)


def test_gpus_saved_less_the_predictors_own_and_retraining():
    # 40 requests/s at 4 each: 10 replicas of one GPU; at 5 each: 8. Saved 2, half a GPU for the predictor.
    found = worth(
        capacity_of(4.0), capacity_of(5.0, ORDERED), 40.0, headroom=0.0, prices=Prices(retraining_usd_per_month=100.0)
    )
    assert (found.without.all_gpus, found.using.gpus, found.using.predictor_gpus) == (10, 8, 0.5)
    assert found.saved_gpus == pytest.approx(1.5)
    assert found.saved_usd_per_month == pytest.approx(1.5 * 2.0 * HOURS_PER_MONTH - 100)


def test_a_predictor_may_lose_money():
    found = worth(capacity_of(4.0), capacity_of(4.0, ORDERED), 40.0, headroom=0.0)
    assert found.saved_usd_per_month == pytest.approx(-0.5 * 2.0 * HOURS_PER_MONTH)


def test_ratio_of_capacities():
    assert gpu_ratio(capacity_of(4.0), capacity_of(5.0)) == pytest.approx(0.25)
    assert math.isnan(gpu_ratio(capacity_of(0.0), capacity_of(5.0)))


def test_without_limits_no_capacity_is_searched():
    free = with_values(CHAT, {"slo.ttft_ms": None, "slo.tpot_ms": None, "slo.e2e_ms": None})
    with pytest.raises(ScenarioError, match=r"^slo is without a limit"):
        search(free, Use.ORDER)
