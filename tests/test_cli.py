"""The command line: what it prints, what it writes, how it refuses."""

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sim import progress
from sim.cli import main
from sim.commands import dashboard

ROOT = Path(__file__).resolve().parents[1]
SMALL = ["--set", "workload.num_requests=40", "--set", "workload.arrivals.rate_rps=20"]


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    """A scenario file that says nothing but its version: everything else is a default."""
    path = tmp_path / "plain.json"
    path.write_text('{"version": 1, "about": {"title": "A plain chat"}}')
    return str(path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "trace.csv"
    rows = [f"{0.5 * i},{100 + i},{10 + i}" for i in range(12)]
    path.write_text("\n".join(["arrival_s,prompt_tokens,output_tokens", *rows]) + "\n")
    return str(path)


REPLAY_TRACE = ["--set", 'workload.arrivals={"kind": "trace"}', "--trace"]


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The sentence with which a command line is refused."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if not line.startswith("compiling")]
    assert len(lines) == 1
    assert lines[0].startswith("longtail: ")
    return lines[0]


# --- run ---


def test_json_alone_goes_to_standard_output(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, *SMALL, "--json", "-"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["requests"]["total"] == 40
    assert summary["scenario"]["workload"]["arrivals"]["rate_rps"] == 20


def test_table_shows_title_counts_latencies_and_ledgers(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, *SMALL]) == 0
    text = capsys.readouterr().out
    for wanted in ("A plain chat", "40 requests: 40 finished", "TTFT, s", "TPOT, ms", "free_no_demand", "decode"):
        assert wanted in text


def test_table_holds_the_figures_of_the_json(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "summary.json"
    assert main(["run", scenario, *SMALL, "--json", str(out)]) == 0
    figures = json.loads(out.read_text())["metrics"]
    ttft = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("TTFT"))
    assert ttft.split()[2:4] == [f"{figures['ttft_mean_s']:,.3f}", f"{figures['ttft_p50_s']:,.3f}"]


def test_p99_of_few_requests_is_a_dash(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, *SMALL]) == 0
    header, ttft = (
        next(line.split() for line in capsys.readouterr().out.splitlines() if line.lstrip().startswith(start))
        for start in ("mean", "TTFT")
    )
    assert ttft[2 + header.index("p99")] == "-"


def test_requests_table_has_a_row_for_each_request(scenario: str, tmp_path: Path) -> None:
    out = tmp_path / "requests.csv"
    assert main(["run", scenario, *SMALL, "--requests", str(out)]) == 0
    rows = list(csv.DictReader(out.open()))
    assert [row["request"] for row in rows] == [str(i) for i in range(40)]
    assert {row["status"] for row in rows} == {"finished"}
    assert all(float(row["e2e_s"]) >= float(row["ttft_s"]) > 0 for row in rows)


def test_steps_table_schedules_all_tokens(scenario: str, tmp_path: Path) -> None:
    steps, summary = tmp_path / "steps.csv", tmp_path / "summary.json"
    assert main(["run", scenario, *SMALL, "--steps", str(steps), "--json", str(summary)]) == 0
    rows = list(csv.DictReader(steps.open()))
    counters = json.loads(summary.read_text())["counters"]
    assert len(rows) == counters["steps"]
    assert sum(int(row["scheduled_tokens"]) for row in rows) == counters["scheduled_tokens"]


def test_trace_is_replayed_request_by_request(
    scenario: str, trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "requests.csv"
    assert main(["run", scenario, *REPLAY_TRACE, trace, "--json", "-", "--requests", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["requests"]["finished"] == 12
    rows = list(csv.DictReader(out.open()))
    assert [int(row["output_tokens"]) for row in rows] == [10 + i for i in range(12)]
    assert [float(row["arrival_s"]) for row in rows] == [0.5 * i for i in range(12)]


def test_preset_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "bench-light", "--set", "workload.num_requests=20", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"]["total"] == 20


def test_kind_of_arrivals_can_be_set_with_its_fields(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    values = ["--set", "workload.arrivals.kind=closed_loop", "--set", "workload.arrivals.concurrency=3"]
    assert main(["run", scenario, "--set", "workload.num_requests=9", *values, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"]["finished"] == 9


# --- refusals ---


def test_missing_scenario_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing.json" in refusal(capsys, "run", str(tmp_path / "nothing.json"))


def test_unknown_preset_is_refused_with_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "azure-chat" in refusal(capsys, "run", "azure-chatt")


def test_folder_as_scenario_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(tmp_path) in refusal(capsys, "run", f"{tmp_path}/")


def test_broken_json_is_refused_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"version": 1,\n "seed": }')
    assert "line 2" in refusal(capsys, "run", str(path))


@pytest.mark.parametrize("field", ["sede", "workload.arrivals.rate", "scheduler.max_seqs"])
def test_unknown_field_is_refused_by_name(field: str, scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert field in refusal(capsys, "run", scenario, "--set", f"{field}=1")


def test_unknown_key_in_a_file_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "scenario.json"
    path.write_text('{"version": 1, "workload": {"rate": 3}}')
    assert "workload.rate" in refusal(capsys, "run", str(path))


def test_value_out_of_range_is_refused_with_its_limit(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refusal(capsys, "run", scenario, "--set", "scheduler.max_num_seqs=0")
    assert "scheduler.max_num_seqs is 0; at least 1" in sentence


def test_model_that_does_not_fit_is_refused_with_the_numbers(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refusal(capsys, "run", scenario, "--set", "deployment.model=Llama-3.1-70B")
    assert "Llama-3.1-70B" in sentence
    assert "GiB" in sentence


def test_set_without_a_value_is_refused(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "'seed' assigns nothing" in refusal(capsys, "run", scenario, "--set", "seed")


def test_trace_scenario_without_its_trace_is_refused(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "trace" in refusal(capsys, "run", scenario, *REPLAY_TRACE[:2])


def test_missing_trace_is_refused(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "gone.csv" in refusal(capsys, "run", scenario, *REPLAY_TRACE, str(tmp_path / "gone.csv"))


@pytest.mark.parametrize("text", ["", "arrival_s,prompt_tokens,output_tokens\n"], ids=["no bytes", "no rows"])
def test_empty_trace_is_refused(text: str, scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.csv"
    path.write_text(text)
    assert "empty.csv" in refusal(capsys, "run", scenario, *REPLAY_TRACE, str(path))


def test_bad_line_of_a_trace_is_refused_with_its_number(
    scenario: str, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = Path(trace).read_text().splitlines()
    lines[6] = "3.0,many,12"
    Path(trace).write_text("\n".join(lines))
    assert "line 7" in refusal(capsys, "run", scenario, *REPLAY_TRACE, trace)


def test_output_in_a_missing_folder_is_refused_before_the_run(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "there is no folder" in refusal(capsys, "run", scenario, "--steps", str(tmp_path / "no" / "steps.csv"))


@pytest.mark.parametrize(
    "arguments",
    [["fly"], ["run"], ["replay"], ["run", "a", "--jason", "-"], ["bench", "--requests", "0"], ["--port", "70000"]],
    ids=" ".join,
)
def test_command_line_that_makes_no_sense_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "--help" in refusal(capsys, *arguments)


def test_refusal_of_the_installed_command_has_no_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sim", "run", str(tmp_path / "nothing.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


# --- replay ---


def step_table(**changes: Any) -> dict[str, Any]:
    """Hand-worked: 16 prompt tokens fill one block and give the first token, the second needs another block."""
    config = {
        "num_gpu_blocks": 11, "block_size": 16, "max_num_seqs": 4, "max_num_batched_tokens": 64, "max_model_len": 128,
        "enable_chunked_prefill": True, "long_prefill_token_threshold": 0, "enable_prefix_caching": False,
        "policy": "fcfs", "watermark": 0.0, "reserve_full_isl": True,
    }  # fmt: skip
    step_columns = ["step", "t_us", "sched", "preempted", "running", "waiting", "free_sched", "finished", "free_end"]
    request_columns = [
        "first_step", "first_token_step", "finish_step", "finish_us", "preemptions", "first_cached", "emitted",
    ]  # fmt: skip
    return {
        "format": "longtail-vllm-golden/1",
        "name": "two tokens",
        "about": "",
        "tags": [],
        "engine": {"vllm": "0.33.0", "scheduler": "Scheduler", "async_scheduling": False},
        "config": config,
        "clock": {"mode": "step"},
        "workload": {
            "columns": ["arrival", "prompt_len", "output_len", "priority", "segments"],
            "rows": [[0, 16, 2, 0, None]],
        },
        "detail": "full",
        "steps": {
            "columns": step_columns,
            "rows": [[0, None, [[0, 16, 0, 1]], [], 1, 0, 9, [], 9], [1, None, [[0, 1, 16, 2]], [], 1, 0, 8, [0], 10]],
        },
        "requests": {"columns": request_columns, "rows": [[0, 0, 1, None, 0, 0, 2]]},
        "status": "complete",
        "max_steps": None,
        "summary": {},
        **changes,
    }


def write_golden(path: Path, **changes: Any) -> str:
    path.write_bytes(gzip.compress(json.dumps(step_table(**changes)).encode()))
    return str(path)


def test_table_like_the_simulators_own_is_identical(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", write_golden(tmp_path / "a.json.gz")]) == 0
    assert capsys.readouterr().out == "two tokens: identical (2 steps)\n"


def test_altered_cell_is_reported_and_the_exit_code_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = step_table()["steps"]
    steps["rows"][1][6] = 7
    assert main(["replay", write_golden(tmp_path / "a.json.gz", steps=steps)]) == 1
    line = capsys.readouterr().out
    assert "free_sched: golden 7, own 8" in line
    assert line.count("\n") == 1


def test_unreadable_files_do_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_golden(tmp_path / "good.json.gz")
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(Path(good).read_bytes()[:-30])
    alien = write_golden(tmp_path / "alien.json.gz", format="other/1")
    assert main(["replay", str(cut), alien, str(tmp_path / "gone.json"), good]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["cut.json.gz", "alien.json.gz", "gone.json", "two tokens"]
    assert lines[-1].endswith("identical (2 steps)")


def test_own_table_is_written_in_the_format_of_the_golden(tmp_path: Path) -> None:
    out = tmp_path / "own.json.gz"
    assert main(["replay", write_golden(tmp_path / "a.json.gz"), "--out", str(out)]) == 0
    own = json.loads(gzip.decompress(out.read_bytes()))
    assert own["steps"] == step_table()["steps"]
    assert main(["replay", str(out)]) == 0


def test_one_table_for_several_goldens_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_golden(tmp_path / "a.json.gz")
    assert "--out takes one table" in refusal(capsys, "replay", path, path, "--out", str(tmp_path / "own.json"))


# --- bench ---


def test_bench_measures_every_preset_of_its_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    assert main(["bench", "--requests", "30", "--json", str(out)]) == 0
    report = json.loads(out.read_text())
    presets = {path.stem for path in (ROOT / "presets").glob("bench-*.json")}
    assert {run["preset"] for run in report["runs"]} == presets
    for run in report["runs"]:
        assert run["requests"] == 30
        assert run["requests_per_s"] == pytest.approx(30 / run["engine_s"])
        assert run["steps_per_s"] == pytest.approx(run["steps"] / run["engine_s"])
        assert 20 < run["peak_memory_mb"] < 2000
    assert report["requests_per_s"] == report["runs"][sorted(presets).index("bench-saturated")]["requests_per_s"]
    assert all(preset in capsys.readouterr().out for preset in sorted(presets)[:1])


def test_bench_of_an_unknown_system_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "scheduler.system is 'fifo'" in refusal(capsys, "bench", "--system", "fifo")


# --- dashboard, notes ---


def served(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    """What Streamlit is told to do."""
    lines: list[list[str]] = []
    monkeypatch.setattr(dashboard.streamlit, "main", lambda line, **_: lines.append(line))
    assert main(arguments) == 0
    return lines[0]


def test_no_command_serves_the_launcher_beside_its_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    line = served(monkeypatch)
    assert line[:2] == ["run", str(ROOT / "app.py")]
    assert (Path(line[1]).parent / ".streamlit" / "config.toml").is_file()


def test_browser_opens_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--server.headless=false" in served(monkeypatch)
    assert "--server.headless=false" not in served(monkeypatch, "--no-browser")


def test_port_and_host_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    line = served(monkeypatch, "--port", "9000", "--host", "0.0.0.0")
    assert {"--server.port=9000", "--server.address=0.0.0.0"} <= set(line)


def test_first_use_says_why_it_takes_long(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "is_compiled", lambda: False)
    progress.compile_kernels()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("compiling the simulator's kernels")


def test_help_needs_no_simulator() -> None:
    code = (
        "import sys; from sim.cli import parser; parser(); sys.exit('numba' in sys.modules or 'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
