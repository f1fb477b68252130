"""Checks of metrics.md, sections 6 and 8.5, out of `simulate()`; those on raw events are in test_metrics.py."""

import numpy as np
import pytest

from sim import Result, with_values
from sim.engine.accounts import Bin
from tests.cases import BASE, STATIC, run, trace, with_blocks

EXACT = 1e-12


def test_one_token_request_counts_for_attainment_but_not_for_the_mean_tpot() -> None:
    scenario = with_values(BASE, {"slo.ttft_ms": 1000.0, "slo.tpot_ms": 500.0})
    found = run(scenario, trace([1, 3])).summary()
    assert found["metrics"]["tpot_count"] == 1
    assert found["metrics"]["tpot_mean_s"] == 1.0
    assert found["slo"]["good"] == 1  # tpot 0 of the first meets 0.5 s, 1 s of the second does not
    assert found["slo"]["attainment"] == 0.5
    assert found["slo"]["goodput_rps"] == pytest.approx(1 / 3, rel=EXACT)


def test_preemption_pause_is_a_gap() -> None:
    # Check 5. Two prompts of 6 tokens; 15 blocks. Before call 3 both hold 7, so the first takes the last block and
    # the second evicts itself. It needs 8 to come back, which are free when the first ends with call 9.
    result = run(with_blocks(BASE, 15), trace([9, 4], prompt_len=6))
    paused = result.requests.loc[1]
    assert paused["ttft_s"] == 1
    assert paused["e2e_s"] == 11  # tokens at 1, 2, 10, 11
    assert paused["pause_s"] == 7
    assert paused["max_itl_s"] == 8
    assert paused["preemptions"] == 1
    assert result.gaps.percentile(1.0).value == 8
    assert result.gaps.m == 8 + 3


def test_static_straggler_mix_has_the_waste_of_check_7() -> None:
    found = run(STATIC, trace([100] * 31 + [2000])).summary()["metrics"]
    assert found["norm_latency_mean_s"] == pytest.approx(19.40625, rel=EXACT)
    assert found["slot_util"] == pytest.approx(0.0796875, rel=EXACT)
    assert found["padding_waste_slot_steps"] == 58_900
    assert found["tail_ratio"] == pytest.approx(8.853, abs=5e-4)


def test_request_of_check_8_holds_15050_token_seconds() -> None:
    result = run(BASE, trace([100], prompt_len=101))
    assert result.requests["memory_token_s"].tolist() == [15_050]


def test_held_static_batch_spends_its_memory_as_in_check_8_5_1() -> None:
    scenario = with_blocks(STATIC, 64_032, workload__types__0__cap=2000)
    result = run(scenario, trace([100] * 31 + [2000]))
    rows = result.ledger.memory_block_s()
    expected = {
        "held_typical": 156_550,
        "held_straggler": 2_001_000,
        "finished_held": 117_858_900,
        "reserved_unused": 8_047_550,
    }
    assert {name: rows.pop(name) for name in expected} == pytest.approx(expected, rel=EXACT)
    assert set(rows.values()) == {0.0}
    assert sum(expected.values()) == 64_032 * 2000
    time = result.ledger.time_s()
    assert time["padding"] + time["decode"] + time["prefill"] + time["fixed"] == pytest.approx(2000, rel=EXACT)


class TestSharedBlocks:
    """8.5.2: two requests share 10 full blocks; the second is a straggler and stays longer."""

    @pytest.fixture(scope="class")
    @staticmethod
    def result() -> Result:
        scenario = with_values(
            with_blocks(BASE, 1000),
            {
                "deployment.block_size": 16,
                "scheduler.enable_prefix_caching": True,
                "workload.types.0.shared_prefix_tokens": 160,
            },
        )
        result = run(scenario, trace([5, 13], prompt_len=[161, 162], arrival_s=[0.0, 1.0]))
        assert result.inputs.is_straggler.tolist() == [0, 1]
        assert result.requests["cached_tokens"].tolist() == [0, 160]
        return result

    def blocks_in_second(self, result: Result, row: str, second: int) -> float:
        """Mean blocks of a ledger row over one iteration."""
        over_time = result.ledger.memory_over_time()
        return float(over_time[row][(over_time.index >= second) & (over_time.index < second + 1)].mean())

    def test_shared_blocks_are_typical_while_the_typical_request_runs(self, result: Result) -> None:
        # Iteration starting at 4: the typical request has computed 161 + 4 tokens, the straggler 162 + 3.
        assert self.blocks_in_second(result, "held_typical", 4) == pytest.approx(165 / 16, rel=EXACT)
        assert self.blocks_in_second(result, "held_straggler", 4) == pytest.approx(5 / 16, rel=EXACT)

    def test_shared_blocks_are_the_stragglers_once_it_is_alone(self, result: Result) -> None:
        # The typical request leaves at 5; the straggler has computed 162 + 4 tokens in the iteration that follows.
        assert self.blocks_in_second(result, "held_typical", 5) == 0
        assert self.blocks_in_second(result, "held_straggler", 5) == pytest.approx(166 / 16, rel=EXACT)


class TestWithheldMemory:
    """8.5.3: five blocks free, somebody waits; which reason applies."""

    def rows(self, head_blocks: int, head_output: int = 4, **values: object) -> dict[str, float]:
        """Ledger of a pool of 20 blocks in which the first request holds 15 for 8 steps and another one waits."""
        scenario = with_blocks(with_values(BASE, {"deployment.block_size": 16}), 20, **values)
        requests = trace([8, head_output], prompt_len=[230, 16 * head_blocks - 6], arrival_s=[0.0, 1.0])
        result = run(scenario, requests)
        assert result.queue_delay_s[1] == 7
        rows = result.ledger.memory_block_s()
        return {name: amount for name, amount in rows.items() if name.startswith("withheld") and amount}

    def test_margin_when_the_need_fits_and_need_plus_watermark_does_not(self) -> None:
        assert self.rows(3, scheduler__watermark=0.2) == {"withheld_margin": pytest.approx(5 * 7)}

    def test_memory_when_the_need_does_not_fit(self) -> None:
        # The running request is the straggler: without it the head would fit.
        assert self.rows(6, scheduler__watermark=0.2) == {"withheld_memory_straggler": pytest.approx(5 * 7)}

    def test_memory_of_typical_requests_when_no_straggler_is_in_the_way(self) -> None:
        assert self.rows(6, head_output=9) == {"withheld_memory_other": pytest.approx(5 * 7)}

    def test_cap_when_there_is_memory_but_no_slot(self) -> None:
        assert self.rows(3, scheduler__max_num_seqs=1) == {"withheld_cap": pytest.approx(5 * 7)}


def test_resumed_request_recomputes_all_but_its_last_token() -> None:
    # 8.5.4: prompts of 100. Before call 21 both hold 119 blocks of 239: the first takes the last block and the second,
    # which has produced 20 tokens, evicts itself until the first is done.
    result = run(with_blocks(BASE, 239), trace([30, 40], prompt_len=100))
    assert result.scheduled is not None
    returned = result.scheduled[(result.scheduled["request"] == 1) & (result.scheduled["tokens"] > 1)].iloc[1]
    assert (returned["tokens"], returned["computed_before"]) == (120, 0)
    assert result.requests.loc[1, "recomputed_tokens"] == 119
    assert result.run.bins[:, Bin.RECOMPUTED_TOKENS].sum() == pytest.approx(119, rel=EXACT)
    assert np.array_equal(result.requests["recomputed_tokens"], [0, 119])
