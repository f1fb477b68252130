"""`longtail bench`: what it measures."""

import json
from pathlib import Path

import pytest

from sim.bench import SATURATED, Case, cases, measure_here
from sim.bench_floors import why_below
from sim.cli import main
from sim.commands.bench import as_text
from sim.systems import SYSTEMS, system_names

ROOT = Path(__file__).resolve().parents[2]


def test_bench_measures_every_preset_of_its_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "bench.json"
    assert main(["bench", "--system", "vllm_v1", "--requests", "30", "--json", str(out)]) == 0
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


def test_every_scheduler_is_measured_on_the_saturated_preset() -> None:
    todo = cases([], None)
    assert sorted(case.system for case in todo if case.preset == SATURATED) == sorted(system_names())
    assert all(case.floor is None for case in todo if case.preset != SATURATED)


@pytest.mark.parametrize(
    ("system", "floor"),
    [("vllm_v1", 1_000_000), ("s3", 1_000_000), ("rank", 200_000), ("fastserve", 200_000), ("sglang", 200_000)],
)
def test_what_re_ranks_or_keeps_a_tree_has_a_thousand_waiting_and_a_lower_floor(system: str, floor: int) -> None:
    case = Case(SATURATED, system, 5000)
    arrivals = case.scenario().workload.arrivals
    assert case.floor == floor
    if floor == 200_000:
        assert (arrivals.kind, arrivals.concurrency) == ("closed_loop", 1024 + 1000)
    else:
        assert arrivals.kind == "all_at_once"


def test_a_scheduler_below_its_floor_says_why() -> None:
    figures = measure_here(Case(SATURATED, "past_future", 30))
    assert figures.floor_requests_per_s == 1_000_000
    why = why_below(SYSTEMS["past_future"], steps=90, requests=30, engine_s=0.00027, preempted_share=0.0)
    assert why.startswith("takes 3.00 iterations a request, 3.00 us each, in which it draws the lengths")
    table = as_text({"runs": [figures._replace(why_below=why)._asdict()], "many_over_few": None})
    assert table.splitlines()[0].endswith("below the floor, because it")
    assert table.splitlines()[1].endswith(why)


def test_a_scheduler_that_preempts_often_says_so() -> None:
    often = why_below(SYSTEMS["mlfq"], steps=30, requests=30, engine_s=1.0, preempted_share=0.25)
    seldom = why_below(SYSTEMS["mlfq"], steps=30, requests=30, engine_s=1.0, preempted_share=0.05)
    assert "preempts (25% of the requests) and looks at each" in often
    assert "preempts" not in seldom


def test_the_table_ends_with_what_compiling_takes() -> None:
    run = measure_here(Case(SATURATED, "vllm_v1", 30))._asdict()
    table = as_text({"runs": [run], "many_over_few": None, "cold_compile_s": 31.25, "from_cache_s": 0.75})
    assert "Every loop compiled from nothing: 31.2 s; from the cache: 0.75 s." in table
