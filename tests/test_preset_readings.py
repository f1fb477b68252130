"""What each preset tells its reader to expect, measured."""

from functools import lru_cache
from typing import Any

import pytest

from sim import simulate
from sim.deployment import resolve
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


def ttft_p99_s(name: str, task: str) -> float:
    """99th percentile of the time to the first token of one task type."""
    requests = simulate(preset(name)).requests
    return float(requests.loc[requests["type"] == task, "ttft_s"].quantile(0.99))


def test_code_has_a_tail_of_nine_times_the_mean_that_costs_latency_and_no_tokens() -> None:
    tail, even = metrics("code"), metrics("code", workload__types__0__output__cv=0.3)
    assert tail["tail_ratio"] == pytest.approx(9, rel=0.1)
    assert tail["straggler_share"] == pytest.approx(0.4, abs=0.05)
    assert tail["e2e_p99_s"] == pytest.approx(20 * tail["e2e_p50_s"], rel=0.1)
    assert tail["output_tokens_per_s"] == pytest.approx(even["output_tokens_per_s"], rel=0.05)
    assert even["e2e_p99_s"] == pytest.approx(tail["e2e_p99_s"] / 4, rel=0.1)


def test_summaries_wait_for_prefill_and_a_smaller_budget_cuts_the_gaps() -> None:
    time = summary("summarisation")["time_ledger"]["rows"]
    plain = metrics("summarisation")
    small = metrics("summarisation", scheduler__max_num_batched_tokens=1024)
    assert time["prefill"] > time["decode"]
    assert plain["itl_p99_s"] == pytest.approx(10 * plain["itl_p50_s"], rel=0.1)
    assert small["itl_p99_s"] == pytest.approx(plain["itl_p99_s"] / 4, rel=0.1)
    assert small["ttft_p50_s"] == pytest.approx(1.5 * plain["ttft_p50_s"], rel=0.1)


def test_a_cache_holds_twenty_documents_and_not_two_hundred() -> None:
    few, many = (summary("rag", workload__types__0__num_prefixes=documents) for documents in (20, 200))
    assert few["tokens"]["found_in_cache"] / few["tokens"]["prompt"] == pytest.approx(0.9, abs=0.02)
    assert many["tokens"]["found_in_cache"] / many["tokens"]["prompt"] == pytest.approx(0.4, abs=0.02)
    assert not few["flags"]["unstable"]
    assert many["flags"]["unstable"]
    assert summary("rag", scheduler__enable_prefix_caching=False)["flags"]["unstable"]


def test_agents_find_their_instructions_and_wait_more_than_twice_as_long_without() -> None:
    off = {"scheduler__enable_prefix_caching": False}
    tokens = summary("agents")["tokens"]
    assert tokens["found_in_cache"] / tokens["prompt"] == pytest.approx(2 / 3, rel=0.02)
    assert metrics("agents", **off)["ttft_p50_s"] > 2 * metrics("agents")["ttft_p50_s"]
    assert metrics("agents", **off)["requests_per_s"] == pytest.approx(
        2 / 3 * metrics("agents")["requests_per_s"], rel=0.1
    )


def test_in_one_pool_every_type_pays_for_the_reasoning() -> None:
    assert metrics("mixed-pool")["straggler_share"] == pytest.approx(0.8, abs=0.03)
    assert summary("mixed-pool")["flags"]["unstable"]
    waits = [ttft_p99_s("mixed-pool", task) for task in ("chat", "code", "reasoning")]
    assert min(waits) > 60
    assert max(waits) < 1.1 * min(waits)


def test_priority_serves_chat_at_the_price_of_reasoning() -> None:
    assert preset("mixed-priority").workload.arrivals == preset("mixed-pool").workload.arrivals
    assert ttft_p99_s("mixed-priority", "chat") < 8
    assert ttft_p99_s("mixed-priority", "reasoning") > 1.2 * ttft_p99_s("mixed-pool", "reasoning")


def test_bursts_cost_the_tail_and_nothing_on_average() -> None:
    bursts, poisson = metrics("burst"), metrics("burst", workload__arrivals__burstiness=1.0)
    assert bursts["output_tokens_per_s"] == pytest.approx(poisson["output_tokens_per_s"], rel=0.03)
    assert bursts["ttft_p99_s"] > 5 * poisson["ttft_p99_s"]
    assert summary("burst")["slo"]["attainment"] == pytest.approx(0.95, abs=0.01)
    assert memory_share("burst", "free_no_demand") > 0.6


def test_a_peak_above_the_server_ruins_a_mean_rate_that_it_carries() -> None:
    assert summary("diurnal-peak", workload__arrivals__swing=0)["slo"]["attainment"] > 0.99
    assert summary("diurnal-peak")["slo"]["attainment"] < 0.25


def test_half_the_seats_generate_more_where_memory_is_overfilled() -> None:
    plain = metrics("batch-generation")
    half, few = (metrics("batch-generation", scheduler__max_num_seqs=seats) for seats in (512, 64))
    assert plain["preempted_requests"] > 10_000 / 3
    assert plain["recompute_share"] == pytest.approx(1 / 6, rel=0.1)
    assert half["output_tokens_per_s"] > 1.02 * plain["output_tokens_per_s"]
    assert few["output_tokens_per_s"] < 0.5 * plain["output_tokens_per_s"]


def test_few_long_prompts_fit_and_a_smaller_cache_dtype_halves_the_tail() -> None:
    plain, fp8 = metrics("long-context"), metrics("long-context", deployment__kv_cache_dtype="fp8")
    assert plain["effective_batch"] < 5
    assert plain["kv_util"] == pytest.approx(0.47, abs=0.05)
    assert plain["ttft_p50_s"] > 5
    assert plain["ttft_p99_s"] == pytest.approx(8 * plain["ttft_p50_s"], rel=0.2)
    assert fp8["ttft_p99_s"] == pytest.approx(plain["ttft_p99_s"] / 2, rel=0.15)


def test_a_batch_of_experts_reads_nearly_all_of_them() -> None:
    alone = metrics("moe", workload__arrivals__rate_rps=0.02, workload__num_requests=1000)
    batch = metrics("moe")
    assert batch["effective_batch"] == pytest.approx(100, rel=0.1)
    assert batch["tpot_p50_s"] > 3 * alone["tpot_p50_s"]
    assert batch["output_tokens_per_s"] * alone["tpot_p50_s"] == pytest.approx(30, rel=0.1)  # of one lone request
    assert batch["kv_util"] < 0.3


def test_small_chunks_keep_sarathis_strict_limit_and_neither_large_ones_nor_vllm_v0_do() -> None:
    chunks, whole = metrics("paper-sarathi"), metrics("paper-sarathi", scheduler__max_num_batched_tokens=8192)
    v0 = metrics(
        "paper-sarathi",
        scheduler__system="vllm_v0",
        scheduler__max_num_batched_tokens=None,
        scheduler__max_num_seqs=128,
    )
    assert chunks["itl_p99_s"] < 0.1
    assert min(whole["itl_p99_s"], v0["itl_p99_s"]) > 0.25
    assert chunks["ttft_p50_s"] > 1.3 * max(whole["ttft_p50_s"], v0["ttft_p50_s"])


def test_paging_holds_more_of_opt_13b_than_reservations_do() -> None:
    orca = {"scheduler__system": "orca", "scheduler__reserve": "max_model_len", "workload__arrivals__rate_rps": 1.0}
    assert resolve(preset("paper-vllm")).kv_tokens == pytest.approx(15_700, rel=0.1)
    assert metrics("paper-vllm")["effective_batch"] == pytest.approx(18, abs=1)
    assert not summary("paper-vllm", workload__arrivals__rate_rps=2.5)["flags"]["unstable"]
    assert metrics("paper-vllm", **orca)["effective_batch"] == pytest.approx(7, abs=0.1)
    assert summary("paper-vllm", **orca)["flags"]["unstable"]


def test_iteration_level_scheduling_carries_several_times_the_rate_of_static_batches() -> None:
    static = {"scheduler__system": "static", "scheduler__max_num_seqs": 8}
    twice = 2 * metrics("paper-orca", workload__arrivals__rate_rps=0.05)["norm_latency_p50_s"]
    assert metrics("paper-orca")["norm_latency_p50_s"] < twice
    assert metrics("paper-orca", **static, workload__arrivals__rate_rps=1.0)["norm_latency_p50_s"] < twice
    assert metrics("paper-orca", **static, workload__arrivals__rate_rps=1.2)["norm_latency_p50_s"] > twice


def test_in_a_burst_the_wait_weighs_most_on_short_answers() -> None:
    values = metrics("paper-ranking")
    assert values["norm_latency_mean_s"] == pytest.approx(9 * values["tpot_p50_s"], rel=0.1)
    requests = simulate(preset("paper-ranking")).requests
    is_short = requests["output_tokens"] <= requests["output_tokens"].median()
    assert requests["norm_latency_s"][is_short].mean() > 4 * requests["norm_latency_s"][~is_short].mean()


def test_a_learned_rank_serves_short_answers_first_and_no_more_tokens() -> None:
    def first_thousand_s(**edits: object) -> float:
        rows = simulate(with_values(preset("paper-ranking"), edits)).requests
        return float((rows["arrival_s"] + rows["e2e_s"]).sort_values().iloc[999])

    fcfs, rank = metrics("paper-ranking"), metrics("paper-ranking", scheduler__system="rank")
    assert rank["norm_latency_mean_s"] == pytest.approx(fcfs["norm_latency_mean_s"] / 3, rel=0.15)
    assert first_thousand_s(**{"scheduler.system": "rank"}) == pytest.approx(first_thousand_s() / 2, rel=0.15)
    assert rank["output_tokens_per_s"] <= fcfs["output_tokens_per_s"]


def test_smaller_chunks_even_out_the_stages_of_a_pipeline() -> None:
    def bubble(**edits: object) -> float:
        time = summary("two-nodes", **edits)["time_ledger"]
        return float(time["rows"]["bubble"] / time["stages_x_duration"])

    small = {"scheduler__max_num_batched_tokens": 1024}
    whole, chunks = metrics("two-nodes"), metrics("two-nodes", **small)
    assert bubble() == pytest.approx(0.30, abs=0.02)
    assert bubble(**small) < 0.55 * bubble()
    assert chunks["tpot_p50_s"] < 0.65 * whole["tpot_p50_s"]
    assert chunks["output_tokens_per_s"] == pytest.approx(whole["output_tokens_per_s"], rel=0.05)
    assert summary("two-nodes", **small)["slo"]["attainment"] == 1.0
    assert not summary("two-nodes")["flags"]["unstable"]
