from pathlib import Path

import numpy as np
import pytest

from sim.cost.coefficients import Coefficients
from sim.cost.fit import (
    PLAIN,
    Problem,
    error_percent,
    fit_all,
    fit_coefficients,
    fit_group,
    main,
    padded_ms,
    row_weights,
    step_ms,
)
from sim.cost.measured_steps import MeasuredSteps, read_measured_steps
from sim.cost.terms import terms_of
from sim.system_spec import Deployment
from tests.shared import SHARED, needs_shared

TRUE = Coefficients(0.4, 55, 1.3, 1.05, 1.05, 1.5, 1.9, 8, 3.0, 2.2, 2, 1.6)
HEADER = "gpu,model,tp,dtype,derivation,prefill_tokens,prefill_context,prefill_seqs,decode_seqs,mean_kv_len,step_ms\n"


def steps(deployment: Deployment, rows: list[tuple[float, float, float]], step_ms: list[float]) -> MeasuredSteps:
    """Measured steps from (prefill tokens, decoding sequences, KV tokens of each)."""
    prefill, decodes, kv_len = np.array(rows, dtype=float).T
    return MeasuredSteps(
        "sum_aic_ops",
        deployment.gpu,
        deployment,
        prefill + decodes,
        decodes * kv_len,
        prefill**2 / 2,
        prefill,
        decodes,
        np.array(step_ms, dtype=float),
    )


def exact(deployment: Deployment) -> Problem:
    """Many kinds of step, as long as the true coefficients say."""
    rows = [(0.0, seqs, kv) for seqs in (1, 4, 16, 64, 256) for kv in (128, 2048, 8192)]
    rows += [(tokens, 0.0, 0.0) for tokens in (32, 128, 512, 2048, 8192)]
    measured = steps(deployment, rows, [1.0] * len(rows))
    terms = terms_of(deployment, measured.tokens)
    true_ms = step_ms(Problem(measured, terms, measured.step_ms), TRUE)
    return Problem(measured._replace(step_ms=true_ms), terms, true_ms)


MODELS = ("Llama-3.1-8B", "Qwen3-32B", "Llama-3.1-70B")
EXACT = [exact(Deployment(model=name, gpu="H200", tensor_parallel_size=gpus)) for name in MODELS for gpus in (2, 4)]


def test_exact_steps_are_fitted_as_closely_as_the_hold_at_the_start_lets_them() -> None:
    found = fit_coefficients(EXACT, PLAIN)
    assert max(error_percent(problem, found) for problem in EXACT) < 1.5
    assert found.inv_eff_kv == pytest.approx(TRUE.inv_eff_kv, rel=0.03)


def test_a_model_left_out_of_exact_steps_is_predicted() -> None:
    fit = fit_group(EXACT, PLAIN)
    assert fit.unseen_model_percent is not None
    assert fit.error_percent < 1.0
    assert fit.unseen_model_percent < 2.0
    assert fit_group(EXACT[:2], PLAIN).unseen_model_percent is None


def test_a_decode_step_is_never_slower_than_one_of_more_sequences() -> None:
    """Four sequences at 7 ms, so one of the same length takes 7; another length and prefill are left alone."""
    rows = [(0, 1, 100), (0, 4, 100), (0, 8, 100), (0, 1, 900), (64, 0, 0)]
    measured = steps(Deployment(), rows, [12.0, 7.0, 8.0, 13.0, 20.0])
    np.testing.assert_array_equal(padded_ms(measured), [7.0, 7.0, 8.0, 13.0, 20.0])


def test_half_of_a_deployments_weight_is_on_decode_steps() -> None:
    mixed = steps(Deployment(), [(0, 1, 9), (0, 2, 9), (0, 3, 9), (64, 2, 9), (64, 0, 0)], [1.0] * 5)
    np.testing.assert_allclose(row_weights(mixed), np.array([1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4]) * 5)
    pure = steps(Deployment(), [(0, 1, 9), (64, 0, 0)], [1.0] * 2)
    np.testing.assert_allclose(row_weights(pure), np.array([2 / 3, 1 / 3]) * 2)


def test_a_table_of_steps_becomes_a_table_of_coefficients(tmp_path: Path) -> None:
    rows = []
    for problem in EXACT[:2]:
        each = problem.measured
        for i in range(len(each.tokens)):
            prefill, decodes = each.prefill_tokens[i], each.decode_seqs[i]
            kv_len = each.kv_tokens[i] / decodes if decodes else 0
            names = f"{each.gpu},{each.deployment.model},{each.deployment.tensor_parallel_size},bf16,sum_aic_ops"
            rows.append(f"{names},{prefill},0,{int(prefill > 0)},{decodes},{kv_len},{each.step_ms[i]}\n")
    path, out = tmp_path / "step_times.csv", tmp_path / "out.csv"
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    main([str(path), "--out", str(out)])
    header, line = out.read_text(encoding="utf-8").splitlines()
    found = dict(zip(header.split(","), line.split(","), strict=True))
    assert (found["source"], found["gpu"], found["family"]) == ("kernels", "H200", "dense")
    assert float(found["inv_eff_kv"]) == pytest.approx(TRUE.inv_eff_kv, rel=0.01)
    assert found["unseen_model_percent"] == ""


def test_each_family_borrows_the_coefficient_of_the_other_kv_width() -> None:
    """16-bit rows carry a 16-bit cache, 8-bit rows of operator tables an 8-bit one."""
    wide, narrow = (exact(Deployment(gpu="H200", weight_dtype=dtype)).measured for dtype in ("bf16", "fp8"))
    eight_bit = narrow.deployment.model_copy(update={"kv_cache_dtype": "fp8"})
    fits = fit_all([wide, narrow._replace(deployment=eight_bit)])
    dense, fp8 = fits["kernels", "H200", "dense"].best, fits["kernels", "H200", "dense fp8"].best
    assert dense.inv_eff_kv == fp8.inv_eff_kv
    assert dense.inv_eff_kv8 == fp8.inv_eff_kv8
    assert dense.inv_eff_kv8 == pytest.approx(2 * dense.inv_eff_kv, rel=0.05)  # the same time, half the bytes


@needs_shared
def test_the_shipped_table_is_what_the_fit_writes(tmp_path: Path) -> None:
    """Numbers to a thousandth: the optimiser's last steps differ between machines."""
    main([str(SHARED / "data" / "step_times.csv"), "--out", str(tmp_path / "out.csv")])
    shipped = (Path(__file__).parents[2] / "sim" / "catalog" / "cost_coefficients.csv").read_text(encoding="utf-8")
    written = (tmp_path / "out.csv").read_text(encoding="utf-8")
    for ours, found in zip(shipped.splitlines(), written.splitlines(), strict=True):
        assert ours.split(",")[:3] == found.split(",")[:3]
        numbers = [[float(cell or 0) for cell in line.split(",")[3:]] for line in (ours, found) if line[:6] != "source"]
        if numbers:
            np.testing.assert_allclose(*numbers, rtol=2e-3, atol=0.11)


def test_rows_of_unknown_models_are_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "step_times.csv"
    rows = ["H200,Llama-3.1-8B,1,fp16,sum_aic_ops,0,0,0,4,100,5.0\n", "H200,No-Such,1,bf16,sum_aic_ops,0,0,0,4,100,5\n"]
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    measured, left_out = read_measured_steps(path)
    assert [each.name for each in measured] == ["Llama-3.1-8B bf16 on 1 x H200"]
    assert list(left_out.values()) == [1]
    assert "No-Such" in next(iter(left_out))
