"""From requests a second to replicas, GPUs and dollars: worked by hand."""

import pytest

from sim import ScenarioError, with_values
from sim.presets import preset
from sim.studies.bill import bill, price_of
from sim.studies.capacity import Capacity
from sim.studies.rate_search import LargestRate, SustainedRate


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
    assert bill(unpriced, 50.0, price_per_gpu_hour=1.0).usd_per_hour == 7.0


@pytest.mark.parametrize(
    ("load", "headroom", "sentence"),
    [(0.0, 0.2, "needed_rps is 0; more than 0"), (50.0, 1.0, "headroom is 1; at least 0 and less than 1")],
)
def test_loads_and_headrooms_out_of_range_are_refused(load: float, headroom: float, sentence: str) -> None:
    with pytest.raises(ScenarioError, match=sentence):
        bill(sustaining(10.0, 9.0, 11.0), load, headroom=headroom)
