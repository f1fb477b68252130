"""How the command line refuses: one sentence on standard error, exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sim import home, preset, preset_names
from sim.cli import main

ROOT = Path(__file__).resolve().parents[1]
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


def test_scenario_that_names_a_trace_is_refused_without_it(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    named = f'workload.trace_file={{"name": "week.csv", "sha256": "{"0" * 64}", "rows": 3}}'
    assert "workload.trace_file is 'week.csv'" in refusal(capsys, "run", scenario, "--set", named)


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


@pytest.mark.parametrize(
    "command",
    [["systems", "--json"], ["bench", "--json"], ["validate", "--json"], ["capacity", "chat", "--json"],
     ["replay", "golden.json", "--out"]],
)  # fmt: skip
def test_every_output_in_a_missing_folder_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    sentence = refusal(capsys, *command, "no/such/out")
    assert sentence == "longtail: no/such/out cannot be written: there is no folder no/such"


def test_output_in_a_missing_folder_is_refused_before_the_run(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "there is no folder" in refusal(capsys, "run", scenario, "--steps", str(tmp_path / "no" / "steps.csv"))


def test_folder_as_output_is_refused_before_the_run(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "it is a folder" in refusal(capsys, "run", scenario, "--json", str(tmp_path))


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


def test_one_table_for_several_goldens_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--out takes one table" in refusal(capsys, "replay", "a.json.gz", "b.json.gz", "--out", "own.json")


def test_bench_of_an_unknown_system_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "scheduler.system is 'fifo'" in refusal(capsys, "bench", "--system", "fifo")


@pytest.mark.parametrize("command", ["run", "capacity"])
def test_help_names_every_preset(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out.partition("presets: ")[2]
    assert sorted(" ".join(shown.split()).split(", ")) == sorted(preset_names())


def test_installation_without_presets_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(home, "PACKAGE", tmp_path / "sim")
    assert refusal(capsys, "run", "chat").endswith("install longtail again")


def test_null_takes_a_value_away(capsys: pytest.CaptureFixture[str]) -> None:
    assert preset("chat").slo.ttft_ms is not None
    assert main(["run", "chat", "--set", "workload.num_requests=100", "--set", "slo.ttft_ms=null", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["scenario"]["slo"]["ttft_ms"] is None


def test_help_needs_no_simulator() -> None:
    heavy = "numba", "pandas", "pydantic"
    code = f"import sys; from sim.options import parser; parser(); sys.exit(bool(set({heavy}) & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
