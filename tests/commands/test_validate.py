"""`longtail validate`: whatever a folder holds, as tables and as JSON."""

import json
from pathlib import Path

import pytest

from sim.cli import main
from tests.studies.validation.test_report import workload
from tests.studies.validation.test_server_runs import recorded, settings_file
from tests.studies.validation.test_serving import table as serving_table
from tests.studies.validation.test_step_times import row, table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One of each kind of file, goldens of our own among them."""
    folder = tmp_path / "shared"
    (folder / "vllm_runs").mkdir(parents=True)
    recorded(folder / "vllm_runs")
    settings_file(folder)
    table(folder, row("H200", 6.0), row("H900", 6.0))
    workload(folder / "peers")
    (folder / "goldens").mkdir()
    for name in ("same_prompt.json.gz", "output_one.json.gz"):
        (folder / "goldens" / name).write_bytes((ROOT / "tests" / "golden" / name).read_bytes())
    (folder / "goldens" / "torn.json").write_text("{")
    return folder


def test_everything_found_is_compared_and_printed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    serving_table(data, {}, {"mode": "open_loop"})
    out = tmp_path / "report.json"
    assert main(["validate", "--data", str(data), "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    for title in ("Recorded step tables", "Step times", "Server runs", "Closed loops", "Beside other simulators"):
        assert title in printed
    assert "mode open_loop: no load at a fixed concurrency" in printed
    assert "H900" in printed.partition("Left out")[2]
    report = json.loads(out.read_text())
    assert [target["met"] for target in report["targets"] if "recorded" in target["what"]] == [True]
    [goldens] = report["parts"]["goldens"]["folders"]
    assert (goldens["identical"], goldens["different"], goldens["refused"]) == (2, 0, 1)


def test_json_is_printed_instead_of_the_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path, row("H200", 6.0))
    assert main(["validate", "--data", str(tmp_path), "--json", "-"]) == 0
    assert set(json.loads(capsys.readouterr().out)["parts"]) == {"step_times"}


def test_a_folder_without_known_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--data", str(tmp_path)]) == 2
    assert "holds nothing to compare with" in capsys.readouterr().err


def test_a_table_that_cannot_be_read_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path, row("H200", 6.0), "H200,Llama-3.1-8B,1,bf16,x,0,0,0,1,10,slow")
    assert main(["validate", "--data", str(tmp_path)]) == 2
    assert "step_times.csv, line 3: could not convert string to float: 'slow'" in capsys.readouterr().err
