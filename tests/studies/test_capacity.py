"""Capacity of servers whose limit is known from arithmetic or from queueing theory, and refusals."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from sim import Scenario, ScenarioError, simulate, with_values
from sim.presets import preset
from sim.studies.capacity import capacity
from sim.studies.capacity_search import Known, Server, TooShortError, search, search_long_enough, within_gaps
from sim.studies.load_curve import without_load
from sim.studies.saturated import intake_rps, replayed, saturated
from tests.cases import BASE
from tests.cases import trace as trace_of

SLOTS, STEPS, STEP_S = 32, 8, 0.25
LIMIT_RPS = SLOTS / (STEPS * STEP_S)  # 16 requests/s


@pytest.fixture
def regular() -> Scenario:
    """32 slots, 8 steps of 0.25 s a request, arrivals like a clock: up to 16 requests/s nobody waits for a slot."""
    return with_values(
        BASE,
        {
            "workload.arrivals": {"kind": "deterministic", "rate_rps": 1.0},
            "workload.num_requests": 4000,
            "workload.types.0.prompt": {"kind": "constant", "tokens": 1},
            "workload.types.0.output": {"kind": "constant", "tokens": STEPS},
            "cost.step_ms": 1000 * STEP_S,
            "slo.ttft_ms": 1000.0,
        },
    )


@pytest.mark.parametrize("start_rps", [0.3, 16.0, 500.0])
@pytest.mark.parametrize("slots", [7, 32, 100])
def test_a_deterministic_server_sustains_its_slots_over_its_service_time(
    regular: Scenario, slots: int, start_rps: float
) -> None:
    limit_rps = slots / (STEPS * STEP_S)
    values = {"scheduler.max_num_seqs": slots, "workload.arrivals.rate_rps": start_rps}
    found = capacity(with_values(regular, values)).sustained
    assert 0.975 * limit_rps <= found.rate_rps <= limit_rps
    assert found.low_rps == found.rate_rps <= limit_rps <= found.high_rps  # nothing is random
    assert len(found.searches) == 5


def test_a_limit_on_latency_binds_before_the_slots_do(regular: Scenario) -> None:
    # One slot, one request at a time: 2 s of service. Arrivals 0.5 s apart would queue, so up to 0.5 requests/s the
    # end-to-end time is 2 s, and above it grows without end.
    alone = with_values(regular, {"scheduler.max_num_seqs": 1, "slo.ttft_ms": None, "slo.e2e_ms": 2000.0})
    found = capacity(alone).sustained
    assert 0.975 * 0.5 <= found.rate_rps <= 0.5
    with pytest.raises(ScenarioError, match=r"slo is out of reach \(e2e_ms 1999\).* 0\.0 % of requests"):
        capacity(with_values(alone, {"slo.e2e_ms": 1999.0}))


def test_tokens_of_further_tries_belong_to_the_request_that_came_by_itself(regular: Scenario) -> None:
    """Eight tokens are wanted, and three at a time allowed: a client who asks for the rest gets them in three tries."""
    capped = with_values(regular, {"workload.types.0.cap": 3, "slo.e2e_ms": 60_000.0, "slo.ttft_ms": None})
    for retry, tokens in (("never", 3), ("rest", 8)):
        asked = with_values(capped, {"workload.client_retry": retry})
        assert search(Server(asked)).output_tokens == tokens


def test_who_is_cut_short_by_the_end_of_the_run_gets_a_whole_answer_all_the_same(regular: Scenario) -> None:
    """At 16 requests/s 4,000 come within 250 s; in 60 s a quarter of them has, and the mean answer is as long."""
    stopped = with_values(regular, {"max_sim_time_s": 60.0})
    assert search(Server(stopped)).output_tokens == search(Server(regular)).output_tokens == STEPS


def test_a_limit_out_of_reach_by_clients_that_give_up_says_so(regular: Scenario) -> None:
    """Answers take 2 s, and clients wait 1 s."""
    with pytest.raises(ScenarioError, match="90 % are needed, and 100 % give up after 1 s, and count as misses"):
        search(Server(with_values(regular, {"workload.client_timeout_s": 1.0})))


def test_runs_that_stop_before_an_answer_say_so(regular: Scenario) -> None:
    stopped = with_values(regular, {"slo.e2e_ms": 2000.0, "max_sim_time_s": 0.01})
    with pytest.raises(ScenarioError, match=r"slo is out of reach .* no answer is complete when the run stops"):
        capacity(stopped)


def test_the_limits_of_the_gaps_count_where_they_are_asked_for(regular: Scenario) -> None:
    found = capacity(regular, criterion=within_gaps(0.3)).sustained
    assert 0.975 * LIMIT_RPS <= found.rate_rps <= LIMIT_RPS
    assert not within_gaps(0.2)(simulate(regular))  # steps take 0.25 s at any rate
    with pytest.raises(ScenarioError, match=r"^slo is out of reach: at 1\.6 requests/s, a tenth .* a run meets it no"):
        capacity(regular, criterion=within_gaps(0.2))


def test_a_saturated_server_takes_in_its_slots_over_its_service_time(regular: Scenario) -> None:
    full = saturated(regular)
    assert intake_rps(simulate(full)) == pytest.approx(LIMIT_RPS, rel=1e-9)
    uneven = with_values(full, {"workload.num_requests": 4001})
    assert 0.995 * LIMIT_RPS <= intake_rps(simulate(uneven)) <= LIMIT_RPS * (1 + 1e-9)


def test_in_a_replication_requests_are_the_same_at_every_rate() -> None:
    server = Server(preset("chat"))
    lengths = [server.run(rate, 3).inputs.output_len.tolist() for rate in (1.0, 20.0)]
    assert lengths[0] == lengths[1] != server.run(1.0, 2).inputs.output_len.tolist()


def test_a_limit_out_of_reach_by_prompts_that_never_fit_says_so() -> None:
    """Prompts of 1 to 1,000 tokens, and room for 800 with the answer: one in five leaves none."""
    narrow = with_values(
        preset("chat"),
        {
            "workload.types.0.prompt": {"kind": "uniform", "low": 1, "high": 1000},
            "workload.num_requests": 2000,
            "deployment.max_model_len": 801,
        },
    )
    never = float(np.mean(simulate(narrow).inputs.prompt_len >= 801))
    assert never == pytest.approx(0.2, abs=0.03)
    told = f"90 % are needed, and {100 * never:.3g} % could never fit (max_model_len is 801 tokens)"
    with pytest.raises(ScenarioError) as refusal:
        search(Server(narrow))
    assert told in str(refusal.value)


def test_a_higher_share_within_the_limits_is_sustained_at_a_lower_rate() -> None:
    chat = with_values(preset("long-prompts"), {"workload.num_requests": 3000})
    rates = [search(Server(chat, share=share)).search.rate_rps for share in (0.8, 0.9, 0.99)]
    assert rates[0] > rates[1] > rates[2]


MEAN_TOKENS, TOKEN_S, E2E_LIMIT_S = 40, 0.001, 0.4


def one_slot(seed: int, num_requests: int) -> Scenario:
    """One request at a time, Poisson arrivals, geometric answers of 40 tokens of 1 ms: the queue M/Geo/1."""
    return Scenario(
        deployment={"num_gpu_blocks_override": 20_001},
        workload={
            "arrivals": {"kind": "poisson", "rate_rps": 1.0},
            "num_requests": num_requests,
            "types": [
                {
                    "prompt": {"kind": "constant", "tokens": 1},
                    "output": {"kind": "geometric", "mean": MEAN_TOKENS},
                }
            ],
        },
        scheduler={
            "max_num_seqs": 1,
            "max_num_batched_tokens": 8192,
            "enable_prefix_caching": False,
            "async_scheduling": False,
        },
        cost={"source": "constant", "step_ms": 1000 * TOKEN_S},
        slo={"e2e_ms": 1000 * E2E_LIMIT_S},
        seed=seed,
    )


@pytest.fixture(scope="module")
def true_limit_rps() -> float:
    """Rate at which 90 % of the customers of M/Geo/1 leave within the limit, from Lindley's recursion.

    Four million customers with random numbers of their own; waits are the walk of service minus gap over its lowest
    point so far. Off by about 0.2 %.
    """
    numbers = np.random.default_rng(12345)
    service_s = numbers.geometric(1 / MEAN_TOKENS, 4_000_000) * TOKEN_S
    unit_gaps = numbers.exponential(1.0, service_s.size)

    def late(rate_rps: float) -> float:
        walk = np.concatenate([[0.0], np.cumsum(service_s - unit_gaps / rate_rps)[:-1]])
        stay_s = walk - np.minimum.accumulate(walk) + service_s
        return float((stay_s > E2E_LIMIT_S).mean()) - 0.1

    found = brentq(late, 15.0, 24.0, xtol=1e-3)
    # M/M/1, first come first served: the stay is exponential with rate mu - lambda, so lambda = mu - ln 10 / limit.
    assert found == pytest.approx(1 / (MEAN_TOKENS * TOKEN_S) - math.log(10) / E2E_LIMIT_S, rel=0.02)
    return float(found)


def test_capacity_of_a_queue_with_a_known_law(true_limit_rps: float) -> None:
    found = capacity(one_slot(seed=1, num_requests=8_000)).sustained
    assert found.rate_rps == pytest.approx(true_limit_rps, rel=0.06)
    assert found.low_rps <= true_limit_rps <= found.high_rps


@pytest.mark.slow
def test_the_interval_covers_the_truth_of_a_known_queue_in_90_of_100_repetitions(true_limit_rps: float) -> None:
    found = [capacity(one_slot(seed, num_requests=5_000)).sustained for seed in range(100)]
    assert sum(each.low_rps <= true_limit_rps <= each.high_rps for each in found) >= 90
    widths = [(each.high_rps - each.low_rps) / true_limit_rps for each in found]
    assert np.mean(widths) < 0.15  # and not by being vague


def test_a_trace_is_searched_by_its_speed() -> None:
    # One slot, 2 s a request, one request every 4 s: twice as fast is the most.
    rows = trace_of([STEPS] * 1200, arrival_s=[4.0 * i for i in range(1200)])
    values = {"workload.arrivals": {"kind": "trace"}, "cost.step_ms": 250.0, "slo.e2e_ms": 2000.0}
    scenario = with_values(BASE, values | {"scheduler.max_num_seqs": 1})
    found = capacity(scenario, rows).sustained
    mean_rate_rps = 1200 / (4.0 * 1199)
    assert 0.975 * 2 * mean_rate_rps <= found.rate_rps <= 2 * mean_rate_rps
    assert len(found.searches) == 1  # nothing is random
    assert replayed(scenario, rows) is rows


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"workload.arrivals": {"kind": "all_at_once"}}, "workload.arrivals.kind is 'all_at_once'; one with a rate"),
        (
            {"workload.arrivals": {"kind": "closed_loop", "concurrency": 4}},
            "workload.arrivals.kind is 'closed_loop'; one with a rate",
        ),
        ({"workload.num_requests": 999}, "workload.num_requests is 999; at least 1000"),
        ({"slo.ttft_ms": None}, "slo is without a limit; ttft_ms, tpot_ms or e2e_ms"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_sentence(regular: Scenario, values: dict, sentence: str) -> None:
    with pytest.raises(ScenarioError, match=sentence):
        capacity(with_values(regular, values))


def test_a_run_that_is_too_short_is_refused_with_the_number_that_is_needed(regular: Scenario) -> None:
    # 4,000 slots of 2 s: at 2,000 requests/s 1,000 requests are there within half a second.
    short = with_values(regular, {"scheduler.max_num_seqs": 4000, "workload.num_requests": 1000})
    with pytest.raises(
        TooShortError, match=r"workload.num_requests is 1000; at .* so at least (\d+) are needed"
    ) as told:
        search(Server(short))
    assert told.value.needed == int(str(told.value).split("at least ")[1].split(" ")[0]) > 1000
    assert capacity(short).sustained.rate_rps == pytest.approx(2000, rel=0.05)  # it takes as many as are needed


def test_a_search_outlasts_the_longest_answers() -> None:
    """Of few requests most are served before the memory has filled with those that stay."""
    tail = with_values(without_load(preset("heavy-tail")), {"workload.num_requests": 3000})
    long = with_values(tail, {"workload.num_requests": 40_000})
    few, found, truth = (
        each.search.rate_rps for each in (search(Server(tail)), search_long_enough(Server(tail)), search(Server(long)))
    )
    assert few > 1.2 * truth
    assert found == pytest.approx(truth, rel=0.1)


def test_what_full_seats_serve_is_no_bound_where_equal_answers_end_together() -> None:
    """SGLang sets memory aside by what it has seen: with all at once it begins anew with each wave of answers."""
    server = with_values(
        preset("memory-pressure"),
        {
            "scheduler.system": "sglang",
            "deployment.gpu": "H100-SXM",
            "deployment.gpu_memory_utilization": 0.3,
            "workload.types.0.output": {"kind": "constant", "tokens": 506},
            "workload.num_requests": 3000,
        },
    )
    full = simulate(saturated(server))
    assert 3000 / full.run.duration_s < 6
    found = search(Server(server)).search

    def kept(rate_rps: float) -> float:
        run = simulate(with_values(server, {"workload.arrivals.rate_rps": rate_rps}))
        return float(np.mean((run.ttft_s <= 2.0) & (run.tpot_s <= 0.06)))

    assert found.rate_rps > 8
    assert kept(found.rate_rps) >= 0.9 > kept(1.3 * found.rate_rps)


def test_a_server_that_all_at_once_brings_to_a_crawl_is_searched_above_that() -> None:
    """FastServe swaps without end where a thousand wait at once; at three times that rate it keeps up."""
    server = with_values(
        preset("memory-pressure"),
        {"scheduler.system": "fastserve", "workload.num_requests": 1000, "slo.ttft_ms": 60_000.0, "slo.tpot_ms": 2e6},
    )
    crawl_rps = 1000 / simulate(saturated(server)).run.duration_s
    found = search(Server(server)).search
    assert found.rate_rps > 2.5 * crawl_rps
    kept = simulate(with_values(server, {"workload.arrivals.rate_rps": found.rate_rps}))
    assert np.mean(kept.ttft_s <= 60) >= 0.9
    assert 1000 / kept.run.duration_s > 2 * crawl_rps


@pytest.mark.parametrize("near", [0.1, 4.0, 9.7, 9.76, 9.9, 10.0, 10.1, 15.0, 300.0])
def test_where_a_search_begins_makes_no_difference(regular: Scenario, near: float) -> None:
    """Twenty slots of 2 s serve 10 requests/s, whatever rate fewer requests were seen to pass at."""
    scenario = with_values(regular, {"scheduler.max_num_seqs": 20})
    found = search(Server(scenario), known=Known(near_rps=near)).search
    assert 0.975 * 10 <= found.rate_rps <= 10 <= found.failed_rps
    assert found.evaluations <= 3 or not 9.7 < near < 10.3


def test_a_rate_that_swings_is_searched_over_a_whole_period(regular: Scenario) -> None:
    """Twenty slots of 2 s serve 10 requests/s; the trough of the period would let more through, its peak less."""
    swinging = {"kind": "diurnal", "rate_rps": 1.0, "swing": 0.5, "period_s": 1000.0}
    values = {"scheduler.max_num_seqs": 20, "workload.arrivals": swinging, "workload.num_requests": 1000}
    scenario = with_values(regular, values)
    with pytest.raises(TooShortError, match=r"less than a period of arrivals \(1000 s\), so at least"):
        search(Server(scenario))
    rate_rps = capacity(with_values(scenario, {"replications": 1})).sustained.rate_rps
    whole = with_values(scenario, {"workload.arrivals.rate_rps": rate_rps, "workload.num_requests": 100_000})
    assert simulate(whole).attainment.share >= 0.88
    assert rate_rps < 10 / 1.2  # the peak is half as much again, and not all of it may be lost
