"""From requests a second to replicas, GPUs and dollars: worked by hand."""

import pytest

from sim import ScenarioError, with_values
from sim.presets import preset
from sim.studies.bill import HOURS_PER_MONTH, Prices, bill, price_of
from sim.studies.capacity import Capacity, capacity
from sim.studies.rate_search import LargestRate, SustainedRate
from tests.cases import BASE


def sustaining(rate_rps: float, low_rps: float, high_rps: float, gpus: int = 1, **cost: object) -> Capacity:
    values = {"deployment.tensor_parallel_size": gpus, **{f"cost.{name}": value for name, value in cost.items()}}
    search = LargestRate(rate_rps, high_rps, 1)
    found = SustainedRate(rate_rps, low_rps, high_rps, (search,))
    return Capacity(with_values(preset("chat"), values), found, 0.93, 250.0, 0.0)


def test_bill_of_a_worked_example() -> None:
    # 8 of 10 requests/s of each replica are used, so 50 need 6.25, hence 7 replicas of 2 GPUs at 3 $: 42 $/h.
    # 50 requests/s of 250 tokens are 45 million tokens an hour: 42 / 45 = 0.9333 $ a million.
    found = bill(sustaining(10.0, 9.0, 11.0, gpus=2, price_per_gpu_hour=3.0), 50.0, headroom=0.2)
    assert (found.replicas, found.gpus, found.usd_per_hour) == (7, 14, 42.0)
    assert found.usd_per_million_tokens == pytest.approx(42 / 45)
    assert (found.fewest_replicas, found.most_replicas) == (6, 7)  # 50 / 8.8 = 5.7 and 50 / 7.2 = 6.94


def test_a_load_that_fits_exactly_needs_no_replica_more() -> None:
    assert bill(sustaining(10.0, 10.0, 10.0), 40.0, headroom=0.2).replicas == 5
    assert bill(sustaining(10.0, 10.0, 10.0), 40.001, headroom=0.2).replicas == 6
    assert bill(sustaining(0.1, 0.1, 0.1), 0.3, headroom=0.0).replicas == 3
    assert bill(sustaining(10.0, 10.0, 10.0), 0.01, headroom=0.0).replicas == 1


def test_price_is_the_scenarios_or_the_catalogues_or_unknown() -> None:
    assert price_of(preset("chat")) == 2.29
    assert price_of(with_values(preset("chat"), {"cost.price_per_gpu_hour": 0.0})) == 0.0
    unpriced = sustaining(10.0, 10.0, 10.0, price_per_gpu_hour=None)
    unpriced = unpriced._replace(scenario=with_values(unpriced.scenario, {"deployment.gpu": "A800-SXM"}))
    found = bill(unpriced, 50.0)
    assert (found.usd_per_hour, found.usd_per_million_tokens, found.replicas) == (None, None, 7)
    assert bill(unpriced, 50.0, prices=Prices(per_gpu_hour=1.0)).usd_per_hour == 7.0


def test_a_predictor_is_paid_for_in_time_of_the_servers_in_gpus_of_its_own_and_in_retraining() -> None:
    # 32 slots and 8 steps a request: 4 requests a step at the limit. A step takes 0.25 s, and 0.0625 s more for each
    # prediction made in it. Without predictions 16 requests/s; with them 4 / (0.25 + 4 * 0.0625) = 8. Either search
    # ends at most 2.5 % below. 60 requests/s then are 3.75 to 3.85 replicas and 7.5 to 7.7: 4 GPUs and 8, at 2 $.
    values = {
        "workload.arrivals": {"kind": "deterministic", "rate_rps": 1.0},
        "workload.num_requests": 4000,
        "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
        "workload.types.0.output": {"kind": "constant", "tokens": 8},
        "scheduler.max_num_seqs": 32,
        "cost.step_ms": 250.0,
        "cost.price_per_gpu_hour": 2.0,
        "slo.ttft_ms": 1000.0,
        "predictor": {"kind": "oracle", "cost_ms": 62.5, "own_gpus": 0.5},
        "replications": 1,
    }
    prices = Prices(retraining_usd_per_month=365.0)
    blind, told = (
        bill(capacity(with_values(BASE, values | {"scheduler.order": order})), 60.0, headroom=0.0, prices=prices)
        for order in (None, "predicted")
    )
    assert (blind.replicas, blind.all_gpus, blind.usd_per_hour) == (4, 4, 8.0)  # nobody reads the predictor
    assert (told.replicas, told.gpus, told.predictor_gpus, told.all_gpus) == (8, 8, 0.5, 8.5)
    assert told.usd_per_hour == 8.5 * 2.0 + 365.0 / HOURS_PER_MONTH  # 17.5
    assert told.usd_per_million_tokens == pytest.approx(17.5 / (60 * 8 * 3600) * 1e6)


def test_gpus_that_a_bill_names_for_the_predictor_take_the_place_of_the_scenarios() -> None:
    told = sustaining(10.0, 10.0, 10.0, price_per_gpu_hour=2.0)
    values = {"scheduler.system": "ssjf", "predictor.own_gpus": 3.0}
    told = told._replace(scenario=with_values(told.scenario, values))
    assert bill(told, 40.0).usd_per_hour == (5 + 3) * 2.0
    assert bill(told, 40.0, prices=Prices(predictor_gpus=0.0)).usd_per_hour == 5 * 2.0
    assert bill(told, 400.0, prices=Prices(predictor_gpus=0.25)).all_gpus == 50.25  # as many at every load


@pytest.mark.parametrize(
    ("load", "headroom", "prices", "sentence"),
    [
        (0.0, 0.2, Prices(), "needed_rps is 0; more than 0"),
        (50.0, 1.0, Prices(), "headroom is 1; at least 0 and less than 1"),
        (50.0, 0.2, Prices(predictor_gpus=-1.0), "predictor_gpus is -1; at least 0 is needed"),
        (50.0, 0.2, Prices(retraining_usd_per_month=-5.0), "retraining_usd_per_month is -5; at least 0 is needed"),
    ],
)
def test_what_is_out_of_range_is_refused(load: float, headroom: float, prices: Prices, sentence: str) -> None:
    with pytest.raises(ScenarioError, match=sentence):
        bill(sustaining(10.0, 9.0, 11.0), load, headroom=headroom, prices=prices)
