"""Task types together or apart."""

import numpy as np
import pytest

from sim import ScenarioError, simulate, with_values
from sim.presets import preset
from sim.studies.routing import Pool, Split, apart, check, splits, together

MIXED = with_values(preset("long-prompts"), {"workload.num_requests": 1500})  # 90 % chat, 10 % document


def test_the_whole_load_is_dealt_to_the_replicas_of_each_type() -> None:
    pools = apart(MIXED, (1, 3)).pools
    assert [(pool.name, pool.replicas) for pool in pools] == [("chat", 1), ("document", 3)]
    assert [pool.rate_rps for pool in pools] == pytest.approx([4 * 6 * 0.9 / 1, 4 * 6 * 0.1 / 3])
    one = together(MIXED, 4).pools[0]
    assert (one.replicas, one.rate_rps) == (4, 6.0)


def test_a_pool_is_a_run_of_its_type_alone() -> None:
    chat = with_values(MIXED, {"workload.types": [MIXED.workload.types[0].model_dump(mode="json")],
                               "workload.arrivals.rate_rps": 4 * 6 * 0.9 / 3})  # fmt: skip
    found = simulate(chat)
    pool = apart(MIXED, (3, 1)).pools[0]
    assert pool.attainment == found.attainment.share
    assert pool.output_cv == pytest.approx(np.std(found.inputs.output_len) / np.mean(found.inputs.output_len))


def test_lengths_spread_less_within_a_type_than_over_all() -> None:
    mixed = with_values(preset("mixed-pool"), {"workload.num_requests": 2000})
    one, parted = together(mixed, 4).pools[0], apart(mixed, (2, 1, 1)).pools
    assert all(pool.output_cv < one.output_cv for pool in parted)


def test_every_type_has_a_replica_and_every_replica_a_type() -> None:
    every = splits(MIXED, 5)
    assert sorted(every) == [(1, 4), (2, 3), (3, 2), (4, 1)]
    three = splits(with_values(preset("mixed-pool"), {"workload.num_requests": 500}), 9)
    assert all(sum(dealt) == 9 and min(dealt) >= 1 for dealt in three)
    assert len(three) == 12


def test_attainment_of_a_split_is_by_requests() -> None:
    def pool(replicas: int, rate_rps: float, attainment: float) -> Pool:
        return Pool("x", replicas, rate_rps, 1.0, 0.01, 0.1, attainment, 0.0, False, 1000)

    # 3 x 10 requests/s at 90 % and 1 x 10 at 50 %: 80 % of all.
    assert Split((pool(3, 10.0, 0.9), pool(1, 10.0, 0.5))).attainment == pytest.approx(0.8)


def test_what_cannot_be_parted_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"workload.types is one type \('chat'\); at least two are needed"):
        check(preset("chat"))
    with pytest.raises(ScenarioError, match=r"workload.arrivals.kind is 'all_at_once'; one with a rate is needed"):
        check(with_values(MIXED, {"workload.arrivals": {"kind": "all_at_once"}}))
