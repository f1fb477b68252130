"""`longtail calibrate`: coefficients from a benchmark's file, and their way into a run."""

import json
from pathlib import Path

import pytest

from sim.cli import main
from tests.cost.points import RICH, measured

SERVER = ["--gpu", "H100-SXM", "--model", "Llama-3.1-8B", "--set", "deployment.max_model_len=40000"]


@pytest.fixture
def benchmark(tmp_path: Path) -> str:
    """Eight points of a synthetic deployment."""
    lines = ["concurrency,isl,osl,num_prompts,ttft_mean_ms,tpot_mean_ms"]
    lines += [
        f"{each.arrivals.concurrency},{each.prompt_tokens},{each.output_tokens},{each.num_requests},"
        f"{each.ttft_ms},{each.tpot_ms}"
        for each in measured(RICH, client_ms=30.0)
    ]
    path = tmp_path / "bench.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def test_coefficients_are_printed_and_written(
    benchmark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "COST.json"
    assert main(["calibrate", benchmark, *SERVER, "--out", str(out)]) == 0
    cost = json.loads(out.read_text())
    assert cost["source"] == "calibrated"
    assert cost["coefficients"]["points"] == 8
    assert cost["coefficients"]["measured"] == "bench.csv (CSV)"
    assert cost["coefficients"]["error_percent"] < 1
    printed = capsys.readouterr().out
    assert "reading KV cache, over datasheet" in printed
    assert printed.count("users") == 7
    assert printed.count("1 user ") == 1
    assert "left out" in printed


def test_a_run_takes_the_coefficients(
    benchmark: str, tmp_path: Path, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "COST.json"
    main(["calibrate", benchmark, *SERVER, "--out", str(out)])
    capsys.readouterr()
    few = ["--set", "workload.num_requests=20", "--json", "-"]
    assert main(["run", scenario, "--set", f"cost={out.read_text()}", *few]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["step_time"]["percent"] == 5.0
    assert summary["step_time"]["text"] == "±5 %: calibrated on 8 measured points"


def test_warnings_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.csv"
    path.write_text("concurrency,isl,osl,tpot_mean_ms\n1,100,20,9\n2,100,20,10\n4,100,20,\n", encoding="utf-8")
    assert main(["calibrate", str(path), *SERVER]) == 0
    errors = capsys.readouterr().err
    assert "two.csv: run 3 has no TPOT; it is left out" in errors
    assert "2 points for five parameters; 6 or more are needed to check the fit" in errors


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--gpu", "H900", "--model", "Llama-3.1-8B"], "gpu is 'H900'"),
        (["--gpu", "H100-SXM"], "the following arguments are required: --model"),
        ([*SERVER, "--tp", "0"], "the count is 0"),
        ([*SERVER, "--weight-dtype", "int3"], "deployment.weight_dtype is 'int3'"),
        ([*SERVER, "--out", "no/such/folder/COST.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    benchmark: str, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", benchmark, *options]) == 2
    errors = capsys.readouterr().err
    assert sentence in errors
    assert errors.count("\n") == 1


def test_a_file_without_a_usable_point_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.csv"
    path.write_text("concurrency,isl,osl,ttft_mean_ms\n1,100,20,9\n", encoding="utf-8")
    assert main(["calibrate", str(path), *SERVER]) == 2
    assert "there is no point to calibrate with" in capsys.readouterr().err
