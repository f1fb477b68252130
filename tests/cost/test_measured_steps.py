from pathlib import Path

import numpy as np
import pytest

from sim.cost.measured_steps import read_measured_steps
from sim.errors import DataError

HEADER = "gpu,model,tp,dtype,derivation,prefill_tokens,prefill_context,prefill_seqs,decode_seqs,mean_kv_len,step_ms\n"


def read(folder: Path, *rows: str) -> tuple[list, dict[str, int]]:
    path = folder / "step_times.csv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return read_measured_steps(path)


def test_a_row_becomes_tokens_kv_and_attention_work(tmp_path: Path) -> None:
    """Two chunks of 300 tokens behind 1,000 each, beside 4 sequences of 50: worked by hand."""
    [steps], _ = read(tmp_path, "H200,Llama-3.1-8B,2,bf16,sum_vllm_kernels,600,1000,2,4,50,9.5")
    assert steps.tokens[0] == 604
    assert steps.kv_tokens[0] == 4 * 50 + 2 * 1000
    assert steps.work[0] == 2 * (300 * 1000 + 300**2 / 2)
    assert steps.step_ms[0] == 9.5
    assert steps.deployment.tensor_parallel_size == 2


def test_rows_of_one_deployment_come_together(tmp_path: Path) -> None:
    h200 = "H200,Llama-3.1-8B,1,bf16,sum_aic_ops,0,0,0"
    found, _ = read(tmp_path, f"{h200},1,10,5", "H200,Qwen3-8B,1,bf16,sum_aic_ops,0,0,0,1,10,5", f"{h200},2,10,6")
    assert [len(each.step_ms) for each in found] == [2, 1]
    np.testing.assert_array_equal(found[0].decode_seqs, [1, 2])


def test_a_power_capped_gpu_has_the_shape_of_the_full_one(tmp_path: Path) -> None:
    [steps], _ = read(tmp_path, "H100-SXM-powercap,Llama-2-70B,8,fp16,engine_step,0,0,0,1,10,5")
    assert (steps.gpu, steps.deployment.gpu, steps.deployment.weight_dtype) == ("H100-SXM-powercap", "H100-SXM", "bf16")


@pytest.mark.parametrize(
    ("dtype", "derivation", "kv"),
    [("fp8", "sum_aic_ops", "fp8"), ("fp8_block", "sum_aic_ops", "fp8"), ("bf16", "sum_aic_ops", "auto"),
     ("fp8", "sum_vllm_kernels", "auto")],
)  # fmt: skip
def test_operator_tables_with_eight_bit_weights_hold_an_eight_bit_cache(
    tmp_path: Path, dtype: str, derivation: str, kv: str
) -> None:
    [steps], _ = read(tmp_path, f"H200,Qwen3-32B,1,{dtype},{derivation},0,0,0,1,10,5")
    assert steps.deployment.kv_cache_dtype == kv


def test_a_cell_that_is_no_number_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"step_times.csv, line 3: could not convert string to float: 'fast'"):
        read(tmp_path, "H200,Qwen3-8B,1,bf16,x,0,0,0,1,10,5", "H200,Qwen3-8B,1,bf16,x,0,0,0,1,10,fast")


def test_a_missing_column_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "step_times.csv"
    path.write_text("gpu,model\nH200,Qwen3-8B\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"step_times.csv has no column tp; step times need gpu, model, tp"):
        read_measured_steps(path)
