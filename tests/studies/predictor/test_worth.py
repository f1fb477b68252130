"""A predictor in money: arithmetic by hand, and the limits of a search."""

import math

import pytest

from sim import preset, with_values
from sim.studies.alternatives import Alternative, beside, light_search, tried, what_ifs, with_predictor
from sim.studies.bill import HOURS_PER_MONTH, Prices
from sim.studies.capacity import Capacity
from sim.studies.capacity_search import Searched
from sim.studies.predictor.uses import Use, served, told
from sim.studies.predictor.worth import by_use, gpu_ratio, other_uses, tried_use, worth
from sim.studies.rate_search import LargestRate, SustainedRate

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
    assert found.saved_usd_per_month == pytest.approx(1.5 * 2.0 * HOURS_PER_MONTH - 100)


def test_a_predictor_may_lose_money():
    found = worth(capacity_of(4.0), capacity_of(4.0, ORDERED), 40.0, headroom=0.0)
    assert found.saved_usd_per_month == pytest.approx(-0.5 * 2.0 * HOURS_PER_MONTH)


def test_ratio_of_capacities():
    assert gpu_ratio(capacity_of(4.0), capacity_of(5.0)) == pytest.approx(0.25)
    assert math.isnan(gpu_ratio(capacity_of(0.0), capacity_of(5.0)))


def test_without_limits_no_capacity_is_searched():
    free = with_values(CHAT, {"slo.ttft_ms": None, "slo.tpot_ms": None, "slo.e2e_ms": None})
    found = tried_use(free, Use.ORDER)
    assert found.searched is None
    assert found.refusal.startswith("slo is without a limit")


def test_the_predictor_is_the_one_that_capacity_asks():
    """So that both pages say the same of a use; a scheduler's own keeps the predictor it was published with."""
    told_by_capacity = with_predictor(CHAT)
    assert told(CHAT, Use.ORDER) == told_by_capacity["predictor: shortest first"]
    assert told(CHAT, Use.RESERVE) == told_by_capacity["predictor: reserve its quantile"]
    own = with_values(CHAT, {"scheduler": {"system": "s3"}})
    assert told(own, Use.RESERVE) == own
    assert other_uses(own) == (Use.NONE, Use.ORDER)


def test_capacities_are_the_own_one_and_its_multiples():
    """4 requests/s over all replications; light searches of 5 without, and of 6 with the predictor: 4 * 6 / 5."""
    tries = {Use.ORDER: Alternative(ORDERED, light(6.0)), Use.RESERVE: Alternative(CHAT, None, "no")}
    found = by_use(capacity_of(4.0), light(5.0), tries)
    assert {use: each.sustained.rate_rps for use, each in found.items()} == pytest.approx(
        {Use.NONE: 4.0, Use.ORDER: 4.8}
    )


def test_what_only_the_scheduler_without_lengths_has_is_not_the_predictors_doing():
    """All answers alike: an order by length is the order of arrival, and sustains what that sustains."""
    own = with_values(
        preset("shared-prefix"),
        {
            "workload.num_requests": 2_000,
            "workload.types.0.output": {"kind": "constant", "tokens": 64},
            "predictor.kind": "oracle",
        },
    )
    base = light_search(own, None, 0.9)
    tries = {Use.ORDER: tried_use(own, Use.ORDER)}
    own_rate = base.search.rate_rps
    found = by_use(capacity_of(own_rate, own), base, tries)
    assert tries[Use.ORDER].searched.search.rate_rps < 0.9 * own_rate
    assert gpu_ratio(found[Use.NONE], found[Use.ORDER]) == 0
    told_by_capacity = {each.name: each for each in what_ifs(own, None, cap=512, factor=2.0)}
    each = told_by_capacity["predictor: shortest first"]
    beside_it = beside(capacity_of(own_rate, own), base, tried(each.scenario, each.trace, 0.9, each.without))
    assert beside_it.sustained.rate_rps == pytest.approx(own_rate)


def light(rate_rps):
    return Searched(LargestRate(rate_rps, rate_rps, 5), 0.95, 200.0, 0.0, 1_000)
