from pathlib import Path

import numpy as np
import pytest

from sim.cost.step_time import deployment_step_time
from sim.studies.validation.step_times import step_times
from sim.studies.validation.targets import targets
from sim.system_spec import Deployment
from tests.shared import SHARED, needs_shared

HEADER = "gpu,model,tp,dtype,derivation,prefill_tokens,prefill_context,prefill_seqs,decode_seqs,mean_kv_len,step_ms"


def table(folder: Path, *rows: str) -> Path:
    path = folder / "step_times.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return path


def decode_ms(sequences: int, kv_len: int, **fields: object) -> float:
    """A decode step by the step time that the simulator uses."""
    time = deployment_step_time(Deployment(**fields), np.arange(300.0), 0.0)  # type: ignore[arg-type]
    return 1000 * float(time.linear_s[sequences] + time.kv_s * sequences * kv_len)


def row(card: str, ms: float, sequences: int = 8, kv_len: int = 1000, derivation: str = "sum_aic_ops") -> str:
    return f"{card},Llama-3.1-8B,1,bf16,{derivation},0,0,0,{sequences},{kv_len},{ms:.9f}"


def test_steps_as_the_simulator_takes_them_have_no_error(tmp_path: Path) -> None:
    exact = [row("H200", decode_ms(n, 1000, gpu="H200"), n) for n in (1, 8, 64)]
    [found] = step_times(table(tmp_path, *exact))["deployments"]
    assert found["error_percent"] == pytest.approx(0, abs=1e-4)
    assert (found["rows"], found["family"], found["is_fitted"]) == (3, "dense", True)


def test_a_step_measured_a_quarter_longer_is_predicted_a_fifth_too_fast(tmp_path: Path) -> None:
    ms = decode_ms(8, 1000, gpu="H200")
    report = step_times(table(tmp_path, row("H200", 1.25 * ms), row("H200", ms, 8)))
    [found] = report["deployments"]
    assert found["error_percent"] == pytest.approx(10, rel=1e-6)
    assert found["bias_percent"] == pytest.approx(-10, rel=1e-6)
    assert found["worst_percent"] == pytest.approx(20, rel=1e-6)
    assert report["parity"][0]["measured_ms"] == pytest.approx(1.25 * ms)


def test_a_group_is_the_mean_over_deployments_whatever_their_rows(tmp_path: Path) -> None:
    """An error of 0 on three rows and of 20 % on one: 10 %."""
    one, two = (decode_ms(8, 1000, gpu="H200", tensor_parallel_size=gpus) for gpus in (1, 2))
    two_gpus = row("H200", 1.25 * two).replace(",1,bf16", ",2,bf16")
    report = step_times(table(tmp_path, *[row("H200", one)] * 3, two_gpus))
    [group] = report["groups"]
    assert group["error_percent"] == pytest.approx(10, rel=1e-4)
    assert (group["deployments"], group["rows"], report["rows"]) == (2, 4, 4)


def test_whole_steps_of_the_old_engine_have_coefficients_of_their_own(tmp_path: Path) -> None:
    steps = [row(card, 50, derivation="engine_step") for card in ("H100-SXM", "H100-SXM-powercap", "H200")]
    report = step_times(table(tmp_path, *steps))
    assert [found["gpu"] for found in report["deployments"]] == ["H100-SXM", "H100-SXM-powercap"]
    assert list(report["left_out"].values()) == [1]  # no such rows of an H200 were ever fitted


def test_unknown_gpus_are_left_out_and_counted(tmp_path: Path) -> None:
    report = step_times(table(tmp_path, row("H900", 5), row("H900", 6), row("H200", 5)))
    assert sum(report["left_out"].values()) == 2
    assert "H900" in next(iter(report["left_out"]))


def test_a_gpu_without_a_fit_says_so(tmp_path: Path) -> None:
    [found] = step_times(table(tmp_path, row("A40", 50)))["deployments"]
    assert found["is_fitted"] is False


@needs_shared
def test_the_catalogue_meets_its_targets_on_measured_steps() -> None:
    report = step_times(SHARED / "data" / "step_times.csv")
    judged = targets({"step_times": report})
    assert [target for target in judged if not target["met"]] == []
    assert len(judged) >= 20
    assert report["left_out"] == {}
