import json
import math
from pathlib import Path

import numpy as np
import pytest

from sim.errors import DataError
from sim.studies.validation import as_json, shipped, validate
from sim.studies.validation.peers import deployment_of, peers
from sim.studies.validation.targets import targets
from sim.system_spec import Deployment
from tests.shared import SHARED, needs_shared
from tests.studies.validation.test_server_runs import recorded
from tests.studies.validation.test_serving import table as serving_table
from tests.studies.validation.test_step_times import row as step_row
from tests.studies.validation.test_step_times import table as step_table


def workload(folder: Path) -> None:
    folder.mkdir()
    rows = [f"{0.1 * i},{50 + i},{5 + i}" for i in range(8)]
    (folder / "workload_8.csv").write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    header = "peer,model,workload,rps,out_tok_s,ttft_p50_ms,ttft_p99_ms,tpot_p50_ms,tpot_p99_ms\n"
    (folder / "peers_speed_and_outputs.csv").write_text(f"{header}other,Llama-2-7B,workload_8,5.5,,20,30,9,10\n")
    steps = "config,prefill_tokens,decode_seqs,total_decode_kv_tokens,kv_per_seq,step_ms\n"
    (folder / "other_step_times.csv").write_text(f"{steps}llama2-7b_a100_tp1,0,4,512,128,9.5\nmystery,0,1,1,1,1\n")


@pytest.mark.parametrize("names", [("step_times",), ("vllm_runs",), ("serving_benchmarks", "peers")])
def test_any_subset_of_the_files_is_enough(tmp_path: Path, names: tuple[str, ...]) -> None:
    if "step_times" in names:
        step_table(tmp_path, step_row("H200", 6.0))
    if "vllm_runs" in names:
        (tmp_path / "vllm_runs").mkdir()
        recorded(tmp_path / "vllm_runs")
    if "serving_benchmarks" in names:
        serving_table(tmp_path, {})
    if "peers" in names:
        workload(tmp_path / "peers")
    shares: list[float] = []
    report = validate(tmp_path, shares.append)
    assert set(report["parts"]) == set(names)
    assert shares[-1] == pytest.approx(1.0)
    assert shares == sorted(shares)
    assert report["command"] == f"longtail validate --data {tmp_path}"
    assert set(report["versions"]) == {"longtail", "python", "numpy", "numba"}
    assert json.loads(as_json(report))["date"] == report["date"]


def test_a_folder_without_any_of_them_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds nothing to compare with; any of goldens, step_times.csv, vllm_runs"):
        validate(tmp_path)


def test_json_holds_few_digits_and_no_nan() -> None:
    text = as_json({"a": 1.23456789, "b": [math.nan, 2], "c": {"d": "x"}, "e": (0.1,)})
    assert json.loads(text) == {"a": 1.2346, "b": [None, 2], "c": {"d": "x"}, "e": [0.1]}


def test_peers_workloads_stand_beside_ours(tmp_path: Path) -> None:
    workload(tmp_path / "peers")
    report = peers(tmp_path / "peers")
    [found] = report["workloads"]
    assert found["peers"][0]["rps"] == 5.5
    assert found["peers"][0]["out_tok_s"] is None
    assert found["ours"]["rps"] == pytest.approx(8 / 0.86, rel=0.05)  # eight requests in 0.7 s, and the last answer
    [steps] = report["step_times"]
    assert (steps["peer"], steps["config"], steps["steps"]) == ("other", "llama2-7b_a100_tp1", 1)
    assert steps["difference_percent"] == abs(steps["ours_over_theirs_percent"])


@pytest.mark.parametrize(
    ("config", "deployment"),
    [
        ("llama3.1-70b_h100_tp4", Deployment(model="Llama-3.1-70B", gpu="H100-SXM", tensor_parallel_size=4)),
        ("llama2-7b_a100_tp1", Deployment(model="Llama-2-7B", gpu="A100-80G-SXM")),
        ("llama2-7b_a100_tp3", None),
        ("llama2-7b_tpu_tp1", None),
        ("something else", None),
    ],
)
def test_peers_configurations_are_read(config: str, deployment: Deployment | None) -> None:
    assert deployment_of(config) == deployment


def test_targets_are_the_worst_that_was_promised() -> None:
    """A deployment of 5 % and one of 9 % on an H200: 7 % is above 6. One table that differs is one too many."""
    dense = {"derivation": "sum_aic_ops", "gpu": "H200", "family": "dense"}
    deployments = [{**dense, "error_percent": 5.0}, {**dense, "error_percent": 9.0}]
    judged = targets({"step_times": {"deployments": deployments}, "goldens": {"different": ["a"]}})
    assert [(each["measured"], each["limit"], each["met"]) for each in judged] == [(1.0, 0.0, False), (7.0, 6.0, False)]


def test_a_short_ttft_may_miss_by_twenty_milliseconds() -> None:
    ttft = {"measured": 0.05, "simulated": 0.068, "error_percent": 36.0}
    figures = {"tpot_error_percent": 1.0, "output_tokens_per_s": {"error_percent": -4.0}, "ttft_p50_s": ttft}
    run = {"caution": None, "name": "x", "is_starved_for_kv": False, "figures": figures}
    judged = {each["what"]: each for each in targets({"vllm_runs": {"runs": [run]}})}
    assert judged["median TTFT, x"]["limit"] == pytest.approx(40.0)
    assert all(each["met"] for each in judged.values())


def test_the_shipped_report_is_of_everything_and_says_how_it_was_made() -> None:
    report = shipped()
    assert set(report["parts"]) == {"goldens", "step_times", "vllm_runs", "serving_benchmarks", "peers"}
    assert report["command"] == "longtail validate --data ../shared"
    assert report["duration_s"] < 300
    assert [target["what"] for target in report["targets"] if target["met"] is None] == []


@needs_shared
def test_the_shipped_report_agrees_with_the_present_step_times() -> None:
    """Whoever fits anew must validate anew."""
    fresh = validate_steps_only()
    old = {(row["derivation"], row["gpu"], row["family"]): row["error_percent"] for row in groups_of(shipped())}
    assert {key: pytest.approx(value, rel=1e-3) for key, value in old.items()} == fresh


def groups_of(report: dict[str, object]) -> list[dict[str, object]]:
    return report["parts"]["step_times"]["groups"]  # type: ignore[index,no-any-return]


def validate_steps_only() -> dict[tuple[object, ...], float]:
    from sim.studies.validation.step_times import step_times

    groups = step_times(SHARED / "data" / "step_times.csv")["groups"]
    return {(row["derivation"], row["gpu"], row["family"]): float(np.round(row["error_percent"], 9)) for row in groups}
