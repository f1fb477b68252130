"""`longtail bench`: what it measures."""

import json
from pathlib import Path

import pytest

from sim.cli import main

ROOT = Path(__file__).resolve().parents[2]


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
