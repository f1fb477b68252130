import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim import simulate
from sim.errors import DataError
from sim.studies.validation.server_files import Settings, read_run, read_series, settings_of
from sim.studies.validation.server_runs import scenario_of, server_runs
from sim.studies.validation.targets import targets
from sim.workload.trace import trace_of
from tests.shared import SHARED, needs_shared

NAME = "H100SXM_Llama-3.1-8B-Instruct"
BENCHMARKS = "gpu,model,mode,tp,attn_dp,dtype,engine_version,note\n"


def recorded(folder: Path, slower: float = 1.0, count: int = 40) -> Any:
    """Files of a run as the simulator itself would serve it, each time stretched."""
    rng = np.random.default_rng(1)
    arrival_s = np.sort(rng.uniform(0, 4, count))
    prompt, output = rng.integers(50, 900, count), rng.integers(2, 120, count)
    instant_ns = np.round((arrival_s - arrival_s[0]) * 1e9).astype(np.int64)
    trace = trace_of("x", "0" * 64, "plain", instant_ns=instant_ns, prompt_len=prompt, output_len=output)
    result = simulate(scenario_of("H100-SXM", "Llama-3.1-8B", Settings(max_num_seqs=16)), trace)
    outcome, start = result.run.outcome, 5000.0
    lines = [
        json.dumps(
            {
                "input_toks": int(prompt[i]),
                "output_toks": int(output[i]),
                "queued_ts": start + slower * trace.arrival_s[i],
                "first_token_ts": start + slower * outcome.first_token_s[i],
                "last_token_ts": start + slower * result.finish_s[i],
            }
        )
        for i in range(count)
    ]
    (folder / f"{NAME}_requests.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    series = ["t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct"]
    series += [f"{t},0,0,{10 + t},{t % 3},0.0" for t in range(1, 6)]
    (folder / f"{NAME}_timeseries.csv").write_text("\n".join(series) + "\n", encoding="utf-8")
    return result


def settings_file(folder: Path, note: str = "max_num_seqs 16, max_num_batched_tokens 8192", dp: str = "1.0") -> Path:
    path = folder / "serving_benchmarks.csv"
    row = f'H100-SXM,Llama-3.1-8B-Instruct,open_loop,1.0,{dp},bf16,0.33.0,"{note}"\n'
    path.write_text(BENCHMARKS + row, encoding="utf-8")
    return path


def test_a_run_that_the_simulator_served_has_no_error(tmp_path: Path) -> None:
    recorded(tmp_path)
    [run] = server_runs(tmp_path, settings_file(tmp_path))["runs"]
    figures = run["figures"]
    assert figures["tpot_error_percent"] == pytest.approx(0, abs=0.1)
    assert figures["e2e_error_percent"] == pytest.approx(0, abs=0.1)
    assert figures["ttft_p50_s"]["error_percent"] == pytest.approx(0, abs=0.1)
    assert figures["output_tokens_per_s"]["error_percent"] == pytest.approx(0, abs=0.1)
    assert (run["gpu"], run["model"], run["requests"], run["caution"]) == ("H100-SXM", "Llama-3.1-8B", 40, None)


def test_a_run_of_ten_percent_longer_times_is_judged(tmp_path: Path) -> None:
    """Times and arrivals stretched by 1.1: TPOT is a tenth longer, so ours is 9 % short."""
    recorded(tmp_path, slower=1.1)
    report = server_runs(tmp_path, settings_file(tmp_path))
    verdicts = {target["what"].partition(",")[0]: target["met"] for target in targets({"vllm_runs": report})}
    assert report["runs"][0]["figures"]["tpot_error_percent"] == pytest.approx(9.1, abs=2.0)
    assert verdicts["TPOT of each request"] is False
    assert set(verdicts) == {"TPOT of each request", "throughput", "median TTFT"}


def test_series_are_compared_second_by_second_and_empty_ones_left_out(tmp_path: Path) -> None:
    result = recorded(tmp_path)
    [run] = server_runs(tmp_path, settings_file(tmp_path))["runs"]
    assert set(run["over_time"]) == {"running", "waiting"}
    running = run["over_time"]["running"]
    assert running["measured"] == [11, 12, 13, 14, 15]
    mean = result.over_time["running"]
    at_two = mean[mean.index <= 2.0].iloc[-1]
    assert running["simulated"][1] == pytest.approx(at_two)
    assert run["is_starved_for_kv"] is False


def test_replicas_take_the_requests_in_turn(tmp_path: Path) -> None:
    recorded(tmp_path)
    [run] = server_runs(tmp_path, settings_file(tmp_path, dp="2.0"))["runs"]
    assert run["settings"]["replicas"] == 2
    assert "data parallel" in run["caution"]
    assert run["figures"]["output_tokens_per_s"]["simulated"] > 0
    assert targets({"vllm_runs": {"runs": [run]}}) == []  # reported, not held to


def test_settings_come_from_the_benchmark_of_the_same_server(tmp_path: Path) -> None:
    path = settings_file(tmp_path)
    assert settings_of(path, "H100-SXM", "Llama-3.1-8B-Instruct") == Settings(1, 1, 16, 8192, "bf16", "0.33.0")
    assert settings_of(path, "H200", "Llama-3.1-8B-Instruct") == Settings()
    assert settings_of(None, "H100-SXM", "Llama-3.1-8B-Instruct") == Settings()


def test_a_server_is_simulated_by_the_rules_of_its_release() -> None:
    """Older ones left CUDA graphs out of the memory budget, and the oldest scheduled synchronously."""
    old, middle, new, unknown = (
        scenario_of("RTX4090", "Llama-3.1-8B", Settings(release=each)) for each in ("0.11.0", "0.19.0", "0.33.0", "")
    )
    assert old.deployment.gpu_memory_utilization == pytest.approx(0.9 + 0.4 / 23.5)
    assert [each.scheduler.vllm_release for each in (old, middle, new)] == ["0.11.0", "0.18.1", "0.33.0"]
    assert [each.scheduler.async_scheduling for each in (old, middle, new)] == [False, True, True]
    assert new.deployment.gpu_memory_utilization == 0.9
    assert unknown == new


def test_files_of_unknown_models_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "H100SXM_No-Such-Model_requests.jsonl").write_text("{}\n")
    report = server_runs(tmp_path, None)
    assert report == {"runs": [], "left_out": ["H100SXM_No-Such-Model_requests.jsonl: 'No-Such-Model' is not in the catalogue"]}  # fmt: skip  # noqa: E501


def test_a_release_of_unknown_rules_is_left_out(tmp_path: Path) -> None:
    recorded(tmp_path)
    path = settings_file(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace("0.33.0", "0.5.4"), encoding="utf-8")
    report = server_runs(tmp_path, path)
    assert report["runs"] == []
    assert "is older than the oldest known" in report["left_out"][0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"input_toks": 5}\n', "x_requests.jsonl, line 1: 'queued_ts'"),
        ("nonsense\n", "x_requests.jsonl, line 1: "),
        ("", "x_requests.jsonl holds no request"),
    ],
)
def test_broken_requests_are_refused_with_their_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "x_requests.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as refusal:
        read_run(path)
    assert str(refusal.value).startswith(sentence)


def test_broken_series_are_refused_and_missing_ones_are_none(tmp_path: Path) -> None:
    path = tmp_path / "x_timeseries.csv"
    assert read_series(path) is None
    path.write_text("t,running\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"x_timeseries.csv: 'waiting'"):
        read_series(path)


@needs_shared
def test_the_simulator_meets_its_targets_on_real_runs() -> None:
    data = SHARED / "data"
    report = server_runs(data / "vllm_runs", data / "serving_benchmarks.csv")
    judged = targets({"vllm_runs": report})
    assert [target for target in judged if not target["met"]] == []
    assert len(judged) == 6  # two runs of one GPU and a dense model
    assert [run["caution"] is None for run in report["runs"]] == [True, True, False]
