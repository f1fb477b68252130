"""`longtail run`: what it prints and what it writes."""

import csv
import hashlib
import json
import re
from pathlib import Path

import pytest

from sim.cli import main

SMALL = ["--set", "workload.num_requests=40", "--set", "workload.arrivals.rate_rps=20"]
REPLAY_TRACE = ["--set", 'workload.arrivals={"kind": "trace"}', "--trace"]


def cells(line: str) -> list[str]:
    """A line of an aligned table, in which a time and its unit are one cell."""
    return re.split(r"\s{2,}", line.strip())


def test_json_alone_goes_to_standard_output(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, *SMALL, "--json", "-"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["requests"]["total"] == 40
    assert summary["scenario"]["workload"]["arrivals"]["rate_rps"] == 20


def test_table_shows_title_counts_latencies_and_ledgers(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, *SMALL]) == 0
    text = capsys.readouterr().out
    for wanted in ("A plain chat", "40 requests: 40 finished", "TTFT", "TPOT", "free_no_demand", "decode"):
        assert wanted in text


def test_table_holds_the_figures_of_the_json(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "summary.json"
    assert main(["run", scenario, *SMALL, "--json", str(out)]) == 0
    figures = json.loads(out.read_text())["metrics"]
    ttft = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("TTFT"))
    told = [f"{1e3 * figures[f'ttft_{name}_s']:.3g} ms" for name in ("mean", "p50")]  # below a second
    assert cells(ttft)[1:3] == told


def test_a_full_server_is_told_without_its_filling_up(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One request at a time, a token every half second; the prompt of each is computed with its first token."""
    alone = ["--set", 'workload.arrivals={"kind": "all_at_once"}', "--set", "scheduler.max_num_seqs=1"]
    alone += ["--set", 'cost={"source": "constant", "step_ms": 500}', "--set", "workload.num_requests=40"]
    assert main(["run", scenario, *alone, "--set", "scheduler.async_scheduling=false"]) == 0
    told = re.search(r"([\d.]+) output tokens/s \(([\d.]+) saturated: between 10 and", capsys.readouterr().out)
    assert told is not None
    assert [float(each) for each in told.groups()] == [2.0, 2.0]
    assert main(["run", scenario, *SMALL]) == 0
    assert "saturated" not in capsys.readouterr().out


def test_p99_of_few_requests_is_a_dash(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, *SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    header, ttft = (
        next(cells(line) for line in lines if line.lstrip().startswith(start)) for start in ("mean", "TTFT")
    )
    assert ttft[1 + header.index("p99")] == "-"


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


def test_every_row_of_a_table_says_how_far_off_its_times_may_be(scenario: str, tmp_path: Path) -> None:
    requests, steps = tmp_path / "requests.csv", tmp_path / "steps.csv"
    assert main(["run", scenario, *SMALL, "--requests", str(requests), "--steps", str(steps)]) == 0
    for table in (requests, steps):
        said = {row["step_time"] for row in csv.DictReader(table.open(encoding="utf-8"))}
        assert len(said) == 1
        assert said.pop().startswith("±10 %")


def test_trace_is_replayed_request_by_request(
    scenario: str, trace: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "requests.csv"
    assert main(["run", scenario, *REPLAY_TRACE, trace, "--json", "-", "--requests", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["requests"]["finished"] == 12
    rows = list(csv.DictReader(out.open()))
    assert [int(row["output_tokens"]) for row in rows] == [10 + i for i in range(12)]
    assert [float(row["arrival_s"]) for row in rows] == [0.5 * i for i in range(12)]


def test_summary_says_which_trace_it_was(scenario: str, trace: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scenario, "--trace", trace, "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)["scenario"]["workload"]["trace_file"]
    digest = hashlib.sha256(Path(trace).read_bytes()).hexdigest()
    assert record == {"name": "trace.csv", "sha256": digest, "rows": 12}


def test_scenario_of_another_trace_is_pointed_out(
    scenario: str, trace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {"name": "other.csv", "sha256": "0" * 64, "rows": 3}
    assert main(["run", scenario, "--set", f"workload.trace_file={json.dumps(named)}", "--trace", trace]) == 0
    assert "not the trace that the scenario names (other.csv)" in capsys.readouterr().err


def test_preset_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "bench-light", "--set", "workload.num_requests=20", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"]["total"] == 20


def test_kind_of_arrivals_can_be_set_with_its_fields(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    values = ["--set", "workload.arrivals.kind=closed_loop", "--set", "workload.arrivals.concurrency=3"]
    assert main(["run", scenario, "--set", "workload.num_requests=9", *values, "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"]["finished"] == 9


def test_a_trace_brings_its_arrivals_unless_others_are_asked_for(tmp_path: Path) -> None:
    """Three requests within 100 s; at 50 a second they come within a fraction of one."""
    rows, out = tmp_path / "rows.csv", tmp_path / "summary.json"
    rows.write_text("arrival_s,prompt_tokens,output_tokens\n0,10,5\n50,10,5\n100,10,5\n")

    def duration_s(scenario: str, *values: str) -> float:
        given = [word for each in values for word in ("--set", each)]
        assert main(["run", scenario, "--trace", str(rows), *given, "--json", str(out)]) == 0
        found = json.loads(out.read_text())
        (tmp_path / "again.json").write_text(json.dumps(found["scenario"]))
        return float(found["metrics"]["duration_s"])

    fast = "workload.arrivals.rate_rps=50"
    assert duration_s("chat") > 100
    assert duration_s(str(tmp_path / "again.json")) > 100
    assert duration_s("chat", "workload.arrivals.kind=trace") > 100
    assert duration_s("chat", fast) < 2
    assert duration_s(str(tmp_path / "again.json")) < 2  # it names its trace, and the arrivals it was run with
