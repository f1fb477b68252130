"""The exact numbers of schedulers.md, section 6, out of `simulate()`.

Every iteration takes one second, a block holds one token. The checks count KV as P + k after k tokens; the engine
leaves the newest token out, so P there is a prompt of P + 1 tokens here.
"""

import numpy as np
import pytest

from sim import Result, Scenario, simulate, with_values
from tests.cases import BASE, STATIC, run, trace, with_blocks

EXACT = 1e-12
SHORT, LONG = 100, 2000
STRAGGLER_MIX = [SHORT] * 31 + [LONG]


def preempted(result: Result) -> list[int]:
    """Requests in order of preemption."""
    assert result.run.steps is not None
    return result.run.steps.preempted[:, 0].tolist()


class TestStaticBatch:
    """6.1: 31 requests of 100 tokens and 1 of 2000, static, held, delivered as a batch."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result() -> Result:
        return run(STATIC, trace(STRAGGLER_MIX))

    def test_batch_lasts_as_long_as_its_longest_member(self, result: Result) -> None:
        assert result.run.duration_s == LONG
        assert result.run.counters["steps"] == LONG

    def test_short_requests_pay_twenty_times_the_time_per_token(self, result: Result) -> None:
        assert result.norm_latency_s[:31] == pytest.approx(20.0, rel=EXACT)
        assert result.norm_latency_s[31] == 1.0
        assert result.summary()["metrics"]["norm_latency_mean_s"] == pytest.approx(19.40625, rel=EXACT)

    def test_uniform_batch_pays_one_step_per_token(self) -> None:
        assert (run(STATIC, trace([SHORT] * 32)).norm_latency_s == 1.0).all()

    def test_most_slot_steps_are_wasted(self, result: Result) -> None:
        found = result.summary()["metrics"]
        assert found["slot_util"] == pytest.approx(0.0796875, rel=EXACT)
        assert found["padding_waste_slot_steps"] == 58_900
        assert result.run.outcome.emitted.sum() == 5100
        assert found["output_tokens_per_s"] == pytest.approx(2.55, rel=EXACT)

    def test_lengths_have_a_heavy_tail(self, result: Result) -> None:
        found = result.summary()["metrics"]
        assert found["output_len_mean_tokens"] == 159.375
        assert found["output_len_cv"] == pytest.approx(2.07427, abs=5e-6)
        assert found["tail_ratio"] == pytest.approx(1411.0 / 159.375, rel=EXACT)

    def test_time_per_token_is_that_of_the_whole_batch_and_says_so(self, result: Result) -> None:
        found = result.summary()["metrics"]
        assert found["tpot_label"] == "E2E per token (batch delivery)"
        assert found["tpot_mean_s"] == found["norm_latency_mean_s"]


class TestStragglerInAnIterationLevelServer:
    """6.2: the same long request, and an unlimited backlog of short ones."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result() -> Result:
        backlog = [SHORT] * 31 + [LONG] + [SHORT] * 1000
        return run(with_values(BASE, {"max_sim_time_s": float(LONG)}), trace(backlog))

    def test_slots_are_refilled_as_they_come_free(self, result: Result) -> None:
        finished = result.is_finished
        assert finished.sum() == 621
        assert finished[31]
        assert finished.sum() / 32 == 19.40625  # a static batch finishes 32 in that time

    def test_no_slot_is_ever_idle(self, result: Result) -> None:
        assert result.summary()["metrics"]["slot_util"] == 1.0
        assert result.run.outcome.emitted.sum() == 64_000

    def test_31_leave_and_31_join_every_100_steps(self, result: Result) -> None:
        assert result.steps is not None
        finished = result.steps["finished_requests"].to_numpy()
        assert np.flatnonzero(finished).tolist() == list(range(99, 2000, 100))
        assert finished[99:1999:100].tolist() == [31] * 19
        assert finished[1999] == 32


class TestMemoryHeldOverTime:
    """6.3: sum over k of P + k token-seconds."""

    @pytest.mark.parametrize(("prompt", "short", "long", "ratio"), [
        (1, 5_050, 2_001_000, 396.24),
        (101, 15_050, 2_201_000, 146.25),
    ])  # fmt: skip
    def test_straggler_holds_hundreds_of_times_the_memory(
        self, prompt: int, short: int, long: int, ratio: float
    ) -> None:
        held = run(BASE, trace(STRAGGLER_MIX, prompt)).run.outcome.memory_token_s
        assert held[:31].tolist() == [short] * 31
        assert held[31] == long
        assert held[31] / held[0] == pytest.approx(ratio, abs=5e-3)


class TestCap:
    """6.6: 6.1 with a cap of 500."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result() -> Result:
        return run(with_values(STATIC, {"workload.types.0.cap": 500}), trace(STRAGGLER_MIX))

    def test_cap_bounds_the_batch(self, result: Result) -> None:
        assert result.run.duration_s == 500
        assert (result.norm_latency_s[:31] == 5.0).all()
        assert result.summary()["metrics"]["norm_latency_mean_s"] == pytest.approx(4.875, rel=EXACT)

    def test_cap_cuts_one_answer(self, result: Result) -> None:
        found = result.summary()
        assert found["requests"] | {"total": 32, "finished": 31, "truncated": 1} == found["requests"]
        assert found["tokens"]["cut_off"] == 1500


class TestRouting:
    """6.7: short and long apart."""

    def test_batches_of_equal_lengths_pay_one_step_per_token(self) -> None:
        for lengths in ([SHORT] * 31, [LONG]):
            assert (run(STATIC, trace(lengths)).norm_latency_s == 1.0).all()

    def test_one_machine_serves_the_short_batch_first(self) -> None:
        result = run(with_values(STATIC, {"scheduler.max_num_seqs": 31}), trace(STRAGGLER_MIX))
        assert result.finish_s.tolist() == [SHORT] * 31 + [SHORT + LONG]
        assert result.norm_latency_s[31] == pytest.approx(1.05, rel=EXACT)


class TestOrder:
    """6.8, first come first served: one slot, lengths 10, 2, 1."""

    def test_short_requests_wait_for_the_long_one_before_them(self) -> None:
        result = run(with_values(BASE, {"scheduler.max_num_seqs": 1}), trace([10, 2, 1]))
        assert result.norm_latency_s.tolist() == [1, 6, 13]
        assert result.summary()["metrics"]["norm_latency_mean_s"] == pytest.approx(20 / 3, rel=EXACT)


class TestVictims:
    """6.18 for vLLM V1: A, B, C, D run in order of arrival, no block is free, B needs one."""

    def test_first_come_first_served_evicts_the_last_running_in_the_end_itself(self) -> None:
        # Blocks: 4 * 3 held before call 3, 1 free. A takes it, B evicts D (3). Then 1 is free again and B evicts
        # C (4), and 3 are free; two calls on A takes the last and B, now last, evicts itself.
        result = run(with_blocks(BASE, 13), trace([6, 6, 6, 6], prompt_len=2))
        assert preempted(result)[:3] == [3, 2, 1]

    @pytest.mark.parametrize(("policy", "victim"), [("priority", "C"), ("fcfs", "D")])
    def test_priority_evicts_the_least_urgent(self, policy: str, victim: str) -> None:
        # After call 4 they hold 5 + 4 + 3 + 2 = 14 of 15 blocks; in call 5 A takes the last and B needs one.
        names = ["A", "B", "C", "D"]
        types = [{"name": name, "priority": rank} for name, rank in zip(names, [0, 1, 5, 2], strict=True)]
        scenario = with_blocks(BASE, 15, workload__types=types, scheduler__scheduling_policy=policy)
        result = run(scenario, trace([9] * 4, prompt_len=2, arrival_s=[0, 1, 2, 3], types=names))
        assert result.run.steps is not None
        assert np.flatnonzero(np.diff(result.run.steps.preempted_start))[0] == 4
        assert names[preempted(result)[0]] == victim


def mixed(**values: object) -> Scenario:
    """300 requests under pressure: 1,000 tokens of memory, 20 slots, requests of up to 500 tokens."""
    workload = {
        "workload.arrivals": {"kind": "poisson", "rate_rps": 3.0},
        "workload.num_requests": 300,
        "workload.types.0.prompt": {"kind": "uniform", "low": 1, "high": 250},
        "workload.types.0.output": {"kind": "lognormal", "mean": 60.0, "cv": 1.5},
        "workload.types.0.cap": 200,
        "deployment.block_size": 4,
        "scheduler.max_num_seqs": 20,
        "scheduler.max_num_batched_tokens": 64,
        "cost.step_ms": 20.0,
    }
    return with_blocks(with_values(BASE, workload), 250, **{path.replace(".", "__"): v for path, v in values.items()})


CONSERVED = {
    "vllm_v1": mixed(),
    "vllm_v1 with prefix caching": mixed(
        **{"scheduler.enable_prefix_caching": True, "workload.types.0.shared_prefix_tokens": 40}
    ),
    "vllm_v1 with priorities": mixed(**{"scheduler.scheduling_policy": "priority", "scheduler.watermark": 0.02}),
    "static": mixed(**{"scheduler.system": "static", "scheduler.max_num_batched_tokens": 4096}),
    "static without hold": mixed(
        **{"scheduler.system": "static", "scheduler.max_num_batched_tokens": 4096, "scheduler.hold": False}
    ),
}


@pytest.mark.parametrize("scenario", CONSERVED.values(), ids=CONSERVED)
class TestConservation:
    """6.20, for every scheduler and every run."""

    def test_tokens_delivered_are_those_asked_for(self, scenario: Scenario) -> None:
        result = simulate(scenario)
        wanted = np.minimum(result.info.true_len, 200)
        assert result.is_finished.all()
        assert result.run.outcome.emitted.tolist() == wanted.tolist()
        assert result.run.counters["output_tokens"] == wanted.sum()

    def test_memory_is_never_exceeded_and_all_of_it_comes_back(self, scenario: Scenario) -> None:
        steps = simulate(scenario, record_steps=True).run.steps
        assert steps is not None
        assert steps.free_scheduled.min() >= 0
        assert max(steps.free_scheduled.max(), steps.free_end.max()) <= 250
        assert steps.free_end[-1] == 250

    def test_request_is_in_one_place_at_a_time(self, scenario: Scenario) -> None:
        steps = simulate(scenario, record_steps=True).run.steps
        assert steps is not None
        for step in range(len(steps.start_s)):
            scheduled = steps.scheduled[steps.scheduled_start[step] : steps.scheduled_start[step + 1], 0]
            evicted = steps.preempted[steps.preempted_start[step] : steps.preempted_start[step + 1], 0]
            assert len(set(scheduled)) == len(scheduled)
            assert not set(scheduled) & set(evicted)
            assert len(scheduled) <= steps.running[step] <= 20

    def test_arrived_requests_run_wait_or_are_done(self, scenario: Scenario) -> None:
        result = simulate(scenario, record_steps=True)
        steps = result.run.steps
        assert steps is not None
        arrived = np.searchsorted(result.run.outcome.arrival_s, steps.start_s, side="right")
        done = np.searchsorted(np.sort(result.finish_s), steps.start_s, side="right")
        assert (steps.running + steps.waiting + done).tolist() == arrived.tolist()

    def test_recomputed_tokens_are_counted_apart_from_useful_ones(self, scenario: Scenario) -> None:
        result = simulate(scenario)
        found, outcome = result.summary()["tokens"], result.run.outcome
        useful = (result.inputs.prompt_len + outcome.emitted - 1).sum()
        computed = found["prefilled"] + found["decoded"] - found["recomputed"]
        assert outcome.recomputed_tokens.sum() == found["recomputed"]
        if scenario.scheduler.enable_prefix_caching:  # a resumed request may find what it computed before
            assert useful - outcome.cached_tokens.sum() >= computed - 1e-9
        else:
            assert computed == useful

    def test_same_seed_gives_the_same_run_and_another_seed_another(self, scenario: Scenario) -> None:
        first, second = simulate(scenario), simulate(scenario)
        assert first.requests.equals(second.requests)
        assert np.array_equal(first.run.bins, second.run.bins)
        other = simulate(with_values(scenario, {"seed": 1}))
        assert not other.requests.equals(first.requests)


def test_memory_pressure_of_the_conservation_runs_is_real() -> None:
    assert simulate(CONSERVED["vllm_v1"]).run.counters["preemptions"] > 10
    assert simulate(CONSERVED["vllm_v1 with prefix caching"]).run.counters["blocks_hit"] > 100
