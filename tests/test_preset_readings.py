"""What each preset tells its reader to expect, measured."""

from functools import lru_cache
from typing import Any

import pytest

from sim import simulate
from sim.presets import preset
from sim.scenario import with_values

Summary = dict[str, Any]


@lru_cache
def summary(name: str, **edits: object) -> Summary:
    """Summary of a preset's run, with fields changed: `scheduler__hold=False`."""
    return simulate(
        with_values(preset(name), {path.replace("__", "."): value for path, value in edits.items()})
    ).summary()


def metrics(name: str, **edits: object) -> dict[str, Any]:
    values: dict[str, Any] = summary(name, **edits)["metrics"]
    return values


def memory_share(name: str, row: str, **edits: object) -> float:
    """Part of all block-seconds in a row of the memory ledger."""
    ledger = summary(name, **edits)["memory_ledger"]
    return float(ledger["rows"][row] / ledger["blocks_x_duration"])


def test_chat_follows_its_arrivals_with_memory_to_spare() -> None:
    assert metrics("chat")["requests_per_s"] == pytest.approx(8, rel=0.05)
    assert metrics("chat")["tpot_p50_s"] < 0.015  # the bare step takes 8.7 ms with a request or two
    assert memory_share("chat", "free_no_demand") > 0.8
    assert memory_share("chat", "free_no_demand", workload__arrivals__rate_rps=30.0) < 0.5


def test_azure_chat_is_light_and_its_stragglers_cost_little() -> None:
    values = metrics("azure-chat")
    assert values["requests_per_s"] == pytest.approx(5.53, rel=0.05)
    assert values["tail_ratio"] < 3
    assert values["straggler_share"] < 0.2
    assert memory_share("azure-chat", "free_no_demand") > 0.9


def test_reasoning_stragglers_hold_more_than_half_of_the_kv_memory() -> None:
    assert metrics("reasoning")["tail_ratio"] == pytest.approx(8, rel=0.1)
    assert metrics("reasoning")["straggler_share"] > 0.5
    assert not summary("reasoning")["flags"]["unstable"]


def test_a_little_more_reasoning_fills_the_memory() -> None:
    more = {"workload__arrivals__rate_rps": 1.5}
    assert summary("reasoning", **more)["flags"]["unstable"]
    assert metrics("reasoning", **more)["kv_util"] > 0.85
    assert metrics("reasoning", **more)["preempted_requests"] > 1000


def test_the_textbook_straggler_costs_19_40625_steps_a_token() -> None:
    values = metrics("textbook-straggler")
    assert values["norm_latency_mean_s"] == pytest.approx(19.40625 * 0.010, rel=1e-9)
    assert values["norm_latency_max_s"] == pytest.approx(20 * 0.010, rel=1e-9)
    assert values["slot_util"] == pytest.approx(0.0796875, rel=1e-12)
    assert values["padding_waste_slot_steps"] == 58_900
    assert values["tail_ratio"] == pytest.approx(1411 / 159.375, rel=1e-12)


def test_continuous_batching_gives_the_stragglers_neighbours_their_slots() -> None:
    continuous, static = metrics("continuous-straggler"), metrics("textbook-straggler")
    assert continuous["slot_util"] > 0.95
    assert continuous["requests_per_s"] > 10 * static["requests_per_s"]
    assert continuous["tpot_p50_s"] == pytest.approx(0.010, rel=1e-9)


def test_memory_pressure_preempts_and_fewer_seats_queue_instead() -> None:
    plain, seats = metrics("memory-pressure"), metrics("memory-pressure", scheduler__max_num_seqs=32)
    assert plain["preempted_requests"] > 1000
    assert plain["recompute_share"] == pytest.approx(0.1, abs=0.03)
    assert seats["preempted_requests"] < 20
    assert seats["ttft_p50_s"] > 100 * plain["ttft_p50_s"]


def test_long_prompts_stretch_everybodys_gaps_by_a_full_budget() -> None:
    small = {"scheduler__max_num_batched_tokens": 512, "scheduler__max_num_seqs": 256}
    plain, cut = metrics("long-prompts"), metrics("long-prompts", **small)
    assert plain["itl_p99_s"] == pytest.approx(20 * plain["itl_p50_s"], rel=0.2)
    assert cut["itl_p99_s"] < plain["itl_p99_s"] / 5
    assert cut["ttft_p99_s"] > 2 * plain["ttft_p99_s"]


def test_shared_prefixes_are_found_and_without_the_cache_the_server_falls_behind() -> None:
    off = {"scheduler__enable_prefix_caching": False}
    tokens, tokens_off = summary("shared-prefix")["tokens"], summary("shared-prefix", **off)["tokens"]
    assert tokens["found_in_cache"] / tokens["prompt"] == pytest.approx(2 / 3, rel=0.02)
    assert memory_share("shared-prefix", "cached_prefix") > 0.5
    assert tokens_off["prefilled"] / tokens["prefilled"] == pytest.approx(3, rel=0.1)
    assert summary("shared-prefix", **off)["flags"]["unstable"]
    assert not summary("shared-prefix")["flags"]["unstable"]


def test_a_heavy_tail_holds_the_memory() -> None:
    values = metrics("heavy-tail")
    assert values["straggler_share"] > 0.7
    assert values["tail_ratio"] > 10
    assert values["e2e_p99_s"] == pytest.approx(40 * values["e2e_p50_s"], rel=0.2)


@pytest.mark.parametrize("card", ["H100-SXM", "L40S"])
def test_a_closed_loop_hides_how_slow_the_server_is(card: str) -> None:
    values = metrics("closed-loop", deployment__gpu=card)
    assert values["ttft_p50_s"] < 0.2
    assert values["requests_per_s"] * values["e2e_mean_s"] == pytest.approx(64, rel=0.05)  # Little's law


def test_the_starved_benchmark_preempts_at_least_a_tenth_of_its_requests() -> None:
    assert metrics("bench-starved", workload__num_requests=20_000)["preempted_requests"] > 2000


def test_the_light_benchmark_takes_at_least_thirty_steps_a_request() -> None:
    assert summary("bench-light", workload__num_requests=2000)["counters"]["steps"] > 30 * 2000
