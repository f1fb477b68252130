"""MFU and MBU of runs small enough to count by hand."""

import pytest

from sim import with_values
from sim.catalog import gpu, model
from tests.cases import BASE, run, trace

H100, LLAMA = gpu("H100-SXM"), model("Llama-3.1-8B")
CATALOG = with_values(BASE, {"cost.source": "catalog"})
KV_BYTES = LLAMA.kv_elements_per_token * 2


def test_mfu_counts_each_useful_token_once() -> None:
    result = run(CATALOG, trace([3], prompt_len=10))  # positions 0 to 11 are processed
    linear = 2 * LLAMA.active_matmul_params * 12
    attention = 4 * LLAMA.layers * LLAMA.heads * LLAMA.head_dim * sum(range(1, 13))
    peak = H100.bf16_tflops * 1e12 * result.run.duration_s
    assert result.summary()["metrics"]["mfu"] == pytest.approx((linear + attention) / peak, rel=1e-9)


def test_mbu_counts_weights_once_a_step_and_the_kv_that_is_read() -> None:
    result = run(CATALOG, trace([3], prompt_len=10))  # one prefill, then two decodes with 11 and 12 tokens of KV
    read = 3 * 2 * LLAMA.matmul_params + (11 + 12) * KV_BYTES
    can_read = H100.hbm_bw_gbs * 1e9 * result.run.duration_s
    assert result.summary()["metrics"]["mbu"] == pytest.approx(read / can_read, rel=1e-9)


def test_chunk_reads_the_context_before_it() -> None:
    result = run(with_values(CATALOG, {"scheduler.max_num_batched_tokens": 32}), trace([1], prompt_len=80))
    read = 3 * 2 * LLAMA.matmul_params + (32 + 64) * KV_BYTES
    can_read = H100.hbm_bw_gbs * 1e9 * result.run.duration_s
    assert result.summary()["metrics"]["mbu"] == pytest.approx(read / can_read, rel=1e-9)


def test_split_model_shares_work_and_bytes_among_its_gpus() -> None:
    result = run(with_values(CATALOG, {"deployment.tensor_parallel_size": 2}), trace([3], prompt_len=10))
    found = result.summary()["metrics"]
    linear = 2 * LLAMA.active_matmul_params * 12
    attention = 4 * LLAMA.layers * LLAMA.heads * LLAMA.head_dim * sum(range(1, 13))
    read = 3 * 2 * LLAMA.matmul_params + (11 + 12) * KV_BYTES
    assert found["mfu"] == pytest.approx((linear + attention) / (2 * H100.bf16_tflops * 1e12 * result.run.duration_s))
    assert found["mbu"] == pytest.approx(read / (2 * H100.hbm_bw_gbs * 1e9 * result.run.duration_s))


def test_recomputed_tokens_are_not_useful() -> None:
    pressed = with_values(CATALOG, {"deployment.num_gpu_blocks_override": 240})
    free = run(CATALOG, trace([30, 40], prompt_len=100))
    redone = run(pressed, trace([30, 40], prompt_len=100))
    assert redone.run.counters["preemptions"] == 1
    work = [each.summary()["metrics"]["mfu"] * each.run.duration_s for each in (free, redone)]
    assert work[0] == pytest.approx(work[1], rel=1e-12)


def test_constant_step_time_has_no_utilization() -> None:
    found = run(BASE, trace([3])).summary()["metrics"]
    assert (found["mfu"], found["mbu"]) == (None, None)


def test_mixture_of_experts_has_no_mbu() -> None:
    scenario = with_values(CATALOG, {"deployment.model": "gpt-oss-20b"})
    found = run(scenario, trace([3])).summary()["metrics"]
    assert found["mbu"] is None
    assert found["mfu"] > 0
