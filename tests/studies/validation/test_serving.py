import csv
from pathlib import Path

import pytest

from sim.cost.measured_point import simulated
from sim.errors import DataError
from sim.studies.validation.implausible import TOO_FAST, TOO_FEW_SEATS
from sim.studies.validation.serving import serving
from sim.studies.validation.serving_rows import COLUMNS, read_serving
from sim.studies.validation.targets import targets
from tests.shared import SHARED, needs_shared

ROW = {
    "source": "somebody",
    "engine": "vllm",
    "gpu": "H100-SXM",
    "model": "Llama-3.1-8B",
    "tp": "1.0",
    "dtype": "bf16",
    "mode": "closed_loop",
    "concurrency": "4.0",
    "isl_mean": "256.0",
    "osl_mean": "32.0",
    "len_dist": "fixed",
    "tpot_mean_ms": "9.0",
    "ttft_mean_ms": "40.0",
    "quality": "ok",
}


def table(folder: Path, *changes: dict[str, str]) -> Path:
    """A table with a row for each set of changes."""
    path = folder / "serving_benchmarks.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*COLUMNS, "note"], restval="")
        writer.writeheader()
        writer.writerows({**ROW, **change} for change in changes)
    return path


def test_a_row_becomes_a_closed_loop_on_its_deployment(tmp_path: Path) -> None:
    [(served, points)], left_out = read_serving(table(tmp_path, {"output_tok_s": "321.5"}))[0].items(), {}
    assert served.name == "vllm, Llama-3.1-8B bf16 on 1 x H100-SXM"
    assert served.base.cost.host_ms == 1.0
    [point] = points.points
    assert (point.arrivals.concurrency, point.prompt.tokens, point.output.tokens) == (4, 256, 32)
    assert (point.tpot_ms, point.ttft_ms, point.statistic) == (9.0, 40.0, "mean")
    assert points.output_tokens_per_s == [321.5]
    assert left_out == {}


def test_inferencemax_rows_have_the_lengths_cache_and_requests_of_its_scripts(tmp_path: Path) -> None:
    change = {"source": "aic/inferencemax", "dtype": "fp8", "gpu": "H200", "tpot_mean_ms": "", "tpot_p50_ms": "9.0",
              "len_dist": "random, range ratio 0.8-1.0 (InferenceMAX)"}  # fmt: skip
    [(served, points)] = read_serving(table(tmp_path, change))[0].items()
    [point] = points.points
    assert (point.prompt.low, point.prompt.high, point.prompt_tokens) == (204, 256, 230)
    assert (point.num_requests, point.statistic) == (40, "mean")
    assert served.base.deployment.kv_cache_dtype == "fp8"
    [(on_h100, _)] = read_serving(table(tmp_path, {**change, "gpu": "H100-SXM"}))[0].items()
    assert on_h100.base.deployment.kv_cache_dtype == "auto"


@pytest.mark.parametrize(("engine", "host_ms"), [("sglang", 0.5), ("trtllm", 0.0)])
def test_host_time_is_the_engines(tmp_path: Path, engine: str, host_ms: float) -> None:
    [served] = read_serving(table(tmp_path, {"engine": engine}))[0]
    assert served.base.cost.host_ms == host_ms


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"quality": "suspect"}, "marked suspect"),
        ({"note": "experimental folder"}, "an experiment, by its authors"),
        ({"mode": "open_loop"}, "mode open_loop: no load at a fixed concurrency"),
        ({"engine": "deepspeed"}, "engine deepspeed: no such scheduler"),
        ({"model": "No-Such"}, "model No-Such is not in the catalogue"),
        ({"gpu": "H900"}, "GPU H900 is not in the catalogue"),
        ({"dtype": ""}, "no data type of the weights given"),
        ({"attn_dp": "8.0"}, "attention in data parallel"),
        ({"tp": "64"}, "more GPUs than one server of the catalogue"),
        ({"tpot_mean_ms": ""}, "no TPOT"),
        ({"osl_mean": ""}, "no lengths or no concurrency"),
        ({"tpot_mean_ms": "2.0"}, TOO_FAST),  # 16 GB of weights at 3.35 TB/s take 4.5 ms
    ],
)
def test_rows_that_cannot_be_used_are_counted_with_their_reason(
    tmp_path: Path, change: dict[str, str], reason: str
) -> None:
    servers, left_out = read_serving(table(tmp_path, {}, change))
    assert [len(points.points) for points in servers.values()] == [1]
    assert left_out == {reason: 1}


def test_many_users_served_as_fast_as_few_had_fewer_seats(tmp_path: Path) -> None:
    servers, left_out = read_serving(table(tmp_path, {}, {"concurrency": "32"}, {"concurrency": "16"}))
    assert left_out == {TOO_FEW_SEATS: 1}
    assert [point.load for points in servers.values() for point in points.points] == ["4 users", "16 users"]


def test_a_cell_that_is_no_number_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"serving_benchmarks.csv, line 3: could not convert string to float: 'many'"):
        read_serving(table(tmp_path, {}, {"concurrency": "many"}))


def test_a_missing_column_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "serving_benchmarks.csv"
    path.write_text("source,engine\na,vllm\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"serving_benchmarks.csv has no column gpu; serving benchmarks need source"):
        read_serving(path)


def test_errors_are_those_of_a_simulation_at_each_row(tmp_path: Path) -> None:
    path = table(tmp_path, {}, {"concurrency": "8", "tpot_mean_ms": "12.0"})
    [(served, points)] = read_serving(path)[0].items()
    runs = [simulated(served.base, point) for point in points.points]
    errors = [run.tpot_ms / point.tpot_ms - 1 for run, point in zip(runs, points.points, strict=True)]
    report = serving(path, lambda _: None)
    [row], [group] = report["servers"], report["groups"]
    assert row["tpot_bias_percent"] == pytest.approx(100 * sum(errors) / 2)
    assert row["tpot_error_percent"] == pytest.approx(100 * sum(map(abs, errors)) / 2)
    assert row["throughput_error_percent"] is None
    assert row["calibrated_error_percent"] is None  # two points are too few
    assert (group["engine"], group["gpu"], group["points"], group["caution"]) == ("vllm", "H100-SXM", 2, None)


def test_a_model_that_does_not_fit_is_left_out(tmp_path: Path) -> None:
    report = serving(table(tmp_path, {"model": "Llama-3.1-405B", "tpot_mean_ms": "400"}), lambda _: None)
    assert report["servers"] == []
    assert report["left_out"] == {"the model does not fit the GPUs": 1}


@needs_shared
def test_closed_loops_of_vllm_meet_their_targets_with_and_without_calibration(tmp_path: Path) -> None:
    source, some = SHARED / "data" / "serving_benchmarks.csv", tmp_path / "serving_benchmarks.csv"
    with source.open(encoding="utf-8", newline="") as file, some.open("w", encoding="utf-8", newline="") as out:
        reader = csv.DictReader(file)
        writer = csv.DictWriter(out, reader.fieldnames or ())
        writer.writeheader()
        writer.writerows(row for row in reader if row["engine"] == "vllm" and row["dtype"] == "fp8")
    judged = targets({"serving_benchmarks": serving(some, lambda _: None)})
    assert [target for target in judged if not target["met"]] == []
    assert len(judged) == 5
