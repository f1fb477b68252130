"""Rules of a scheduler out of a scenario."""

import pytest

from sim import Scenario, resolve, with_values
from sim.engine.inputs import Batching, Order, Reserve, Rules
from sim.engine.rules import rules_of

POOL = with_values(Scenario(), {"deployment.num_gpu_blocks_override": 101})


def rules(**values: object) -> Rules:
    """Rules with some fields of the scheduler changed."""
    scenario = with_values(POOL, {f"scheduler.{name}": value for name, value in values.items()})
    return rules_of(scenario, resolve(scenario))


def test_vllm_takes_a_chunk_at_a_time_and_joins_at_every_step() -> None:
    assert rules()[:3] == (Batching.ITERATION, Order.FCFS, Reserve.CHUNK)
    assert rules().usable_blocks == 100


def test_watermark_counts_the_null_block_as_vllm_does() -> None:
    assert rules(watermark=0.1).keep_blocks == 10
    assert rules(watermark=0.5).keep_blocks == 50  # floor(0.5 * 101)
    assert rules(watermark=0.5, system="static").keep_blocks == 0


def test_static_batch_reserves_and_holds() -> None:
    assert rules(system="static").reserve == Reserve.CAP
    assert rules(system="static", reserve="max_model_len").reserve == Reserve.MAX_MODEL_LEN
    assert rules(system="static").batching == Batching.REQUEST
    assert rules(system="static").prefix_caching == 0


@pytest.mark.parametrize(("hold", "delivery", "expected"), [
    (True, "batch", (1, 1)), (True, "stream", (1, 0)), (False, "batch", (0, 0)), (False, "stream", (0, 0)),
])  # fmt: skip
def test_only_a_held_batch_can_be_delivered_as_one(hold: bool, delivery: str, expected: tuple[int, int]) -> None:
    found = rules(system="static", hold=hold, delivery=delivery)
    assert (found.hold, found.batch_delivery) == expected


def test_order_follows_the_policy() -> None:
    assert rules(scheduling_policy="priority").order == Order.PRIORITY


def test_switches_of_the_scenario_reach_the_engine() -> None:
    assert (rules().chunked_prefill, rules(enable_chunked_prefill=False).chunked_prefill) == (1, 0)
    assert (rules().prefix_caching, rules(enable_prefix_caching=False).prefix_caching) == (1, 0)
    assert (rules().reserve_full_isl, rules(scheduler_reserve_full_isl=False).reserve_full_isl) == (1, 0)
    assert rules(long_prefill_token_threshold=77).long_prefill_token_threshold == 77
