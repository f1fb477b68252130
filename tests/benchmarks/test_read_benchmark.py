"""Results of every tool, in our words."""

import csv
import io
import json
import math

import numpy as np
import pytest

from sim.benchmarks import LAYOUTS, read_benchmark
from sim.benchmarks.benchmark import NOT_MEASURED, stats_of
from tests.benchmarks.files import (
    E2E_MS,
    FOLDER,
    GAPS_MS,
    OUTPUT,
    POOLED_MS,
    PROMPT,
    START_S,
    TPOT_MS,
    TTFT_MS,
    mean_p50_p99,
    of,
    text,
)
from tests.broken import refused, with_value
from tests.shared import SHARED, needs_shared

FILES = {
    "vllm_bench.json": "vllm bench serve",
    "vllm_bench_detailed.json": "vllm bench serve",
    "sglang_bench.jsonl": "SGLang bench_serving",
    "guidellm.json": "GuideLLM",
    "guidellm_early.json": "GuideLLM",
    "aiperf.json": "AIPerf",
    "aiperf_early.json": "AIPerf",
    "aiperf_records.jsonl": "AIPerf",
    "genai_perf.json": "GenAI-Perf",
    "genai_perf.csv": "AIPerf or GenAI-Perf",
    "aiperf.csv": "AIPerf or GenAI-Perf",
    "points.csv": "CSV",
}
WITH_ROWS = ("vllm_bench_detailed.json", "sglang_bench.jsonl", "guidellm.json", "aiperf_records.jsonl")
SAME_REQUESTS = ("vllm_bench.json", *WITH_ROWS)
NVIDIA = ("aiperf.json", "aiperf_early.json", "genai_perf.json", "aiperf.csv")


@pytest.mark.parametrize("file", FILES)
def test_tool_is_recognised(file):
    benchmark = read_benchmark(FOLDER / file)
    assert benchmark.tool == FILES[file]
    assert benchmark.name == file
    assert len(benchmark.sha256) == 64
    assert "TPOT" in benchmark.words
    has_model = not file.endswith((".csv", "records.jsonl")) or file == "points.csv"
    assert benchmark.model == ("example/Model-8B" if has_model else None)


@pytest.mark.parametrize("file", SAME_REQUESTS)
def test_all_tools_say_the_same_of_the_same_requests(file):
    point = read_benchmark(FOLDER / file).points[0]
    assert point.num_prompts == 6
    assert point.prompt_tokens == pytest.approx(np.mean(PROMPT))
    assert point.output_tokens == pytest.approx(np.mean(OUTPUT))
    assert of(point.ttft_ms) == pytest.approx(mean_p50_p99(TTFT_MS))
    assert of(point.tpot_ms) == pytest.approx(mean_p50_p99(TPOT_MS))
    assert of(point.e2e_ms) == pytest.approx(mean_p50_p99(E2E_MS))
    assert point.itl_ms.mean == pytest.approx(np.mean(POOLED_MS))
    if file == "guidellm.json":  # its percentiles are of requests, by weight
        assert point.itl_ms.p50 is None
    else:
        assert of(point.itl_ms) == pytest.approx(mean_p50_p99(POOLED_MS))


@pytest.mark.parametrize("file", WITH_ROWS)
def test_requests_are_read_one_by_one_without_those_that_failed(file):
    requests = read_benchmark(FOLDER / file).points[-1 if file == "sglang_bench.jsonl" else 0].requests
    assert requests.prompt_len.tolist() == PROMPT
    assert requests.output_len.tolist() == OUTPUT
    assert requests.ttft_ms == pytest.approx(TTFT_MS)
    assert requests.e2e_ms == pytest.approx(E2E_MS)
    assert np.isnan(requests.tpot_ms).tolist() == [tokens == 1 for tokens in OUTPUT]
    assert requests.tpot_ms[~np.isnan(requests.tpot_ms)] == pytest.approx(TPOT_MS)
    if file == "sglang_bench.jsonl":
        assert np.isnan(requests.start_s).all()
    else:
        assert requests.start_s - requests.start_s[0] == pytest.approx(np.subtract(START_S, START_S[0]), abs=1e-5)
    if file == "guidellm.json":
        assert np.isnan(requests.max_itl_ms).all()
    else:
        assert requests.max_itl_ms == pytest.approx([max(gaps, default=0) for gaps in GAPS_MS])


@pytest.mark.parametrize("file", NVIDIA)
def test_nvidias_inter_token_latency_is_our_tpot(file):
    point = read_benchmark(FOLDER / file).points[0]
    assert of(point.tpot_ms) == [12.5, 12.25, 16.75]
    assert of(point.ttft_ms) == [60.5, 55.25, 120.75]
    assert of(point.e2e_ms) == [160.5, 150.25, 300.75]
    assert of(point.itl_ms) == ([12.25, 11.5, 30.5] if file.startswith("aiperf") else [None] * 3)
    assert (point.prompt_tokens, point.output_tokens, point.num_prompts) == (550, 200, 40)
    assert (point.requests_per_s, point.output_tokens_per_s) == (4.8, 960)
    assert point.duration_s == (8.5 if file.startswith("aiperf") else None)


def test_thousands_are_read_with_their_commas():
    assert read_benchmark(FOLDER / "genai_perf.csv").points[0].prompt_tokens == 1550


@pytest.mark.parametrize(
    ("file", "loads"),
    {
        "vllm_bench.json": [("closed_loop", 4, math.inf)],
        "sglang_bench.jsonl": [("closed_loop", 4, math.inf), ("open_loop", None, 2.5), ("open_loop", None, 2.5)],
        "guidellm.json": [
            ("closed_loop", 4, math.inf),
            ("closed_loop", 1, math.inf),
            ("open_loop", None, 5),
            ("all_at_once", None, math.inf),
        ],
        "guidellm_early.json": [("open_loop", None, 10)],
        "aiperf.json": [("closed_loop", 16, math.inf)],
        "aiperf_early.json": [("closed_loop", 16, math.inf)],
        "genai_perf.json": [("open_loop", None, 5)],
        "aiperf.csv": [("unknown", None, None)],
        "points.csv": [
            *[("closed_loop", users, math.inf) for users in (1, 8, 64)],
            ("open_loop", None, 2.5),
        ],
    }.items(),
)
def test_load_is_read(file, loads):
    points = read_benchmark(FOLDER / file).points
    assert [(point.arrivals, point.concurrency, point.request_rate_rps) for point in points] == loads


def test_throughput_is_counts_over_the_duration():
    for file in ("vllm_bench.json", "sglang_bench.jsonl"):
        point = read_benchmark(FOLDER / file).points[0]
        assert point.requests_per_s == 6 / 1.25
        assert point.output_tokens_per_s == sum(OUTPUT) / 1.25
        assert point.duration_s == 1.25


def test_results_that_vllm_appended_to_a_file_are_points():
    one = text("vllm_bench.json")
    another = with_value(one, ("max_concurrency",), 8)
    benchmark = read_benchmark(f"{one}\n{another}".encode())
    assert [point.concurrency for point in benchmark.points] == [4, 8]


def test_metrics_that_were_not_selected_are_not_measured():
    run = {key: value for key, value in json.loads(text("vllm_bench.json")).items() if "itl" not in key}
    point = read_benchmark(json.dumps(run).encode()).points[0]
    assert point.itl_ms == NOT_MEASURED
    assert point.tpot_ms.mean is not None


def test_requests_by_a_trace_have_no_rate():
    first = text("sglang_bench.jsonl").splitlines()[1]
    point = read_benchmark(with_value(first, ("request_rate",), "trace").encode()).points[0]
    assert point.arrivals == "unknown"


def test_guidellms_tpot_is_its_itl_where_all_answers_are_of_one_length():
    benchmark = read_benchmark(FOLDER / "guidellm.json")
    assert of(benchmark.points[2].tpot_ms) == pytest.approx([np.mean(POOLED_MS), 13, 30])
    assert benchmark.points[3].tpot_ms == NOT_MEASURED
    assert benchmark.points[1].tpot_ms.mean == pytest.approx(TPOT_MS[0])
    assert benchmark.notes == ("2 of 6 requests are in the file one by one; where lengths differ, TPOT is theirs.",)


def test_aiperfs_warm_up_and_failures_are_left_out_and_noted():
    benchmark = read_benchmark(FOLDER / "aiperf_records.jsonl")
    assert benchmark.notes[1] == "2 requests were left out: warm-up, or failed."


@pytest.mark.parametrize("unit", ["s", "us"])
def test_unit_of_a_block_is_heeded(unit):
    factor = {"s": 1e-3, "us": 1e3}[unit]
    run = json.loads(text("aiperf.json"))
    block = run["time_to_first_token"]
    run["time_to_first_token"] = {key: value * factor for key, value in block.items() if key != "unit"} | {"unit": unit}
    assert of(read_benchmark(json.dumps(run).encode()).points[0].ttft_ms) == pytest.approx([60.5, 55.25, 120.75])


@pytest.mark.parametrize(
    ("config", "load"),
    [
        ({"concurrency": 7, "request_rate": None}, (7, math.inf)),
        ({"perf_analyzer": {"stimulus": {"concurrency": 7}}}, (7, math.inf)),
        ({"loadgen": {"request_rate": 3, "concurrency": 9}}, (9, 3)),
        ({"phases": [{"name": "profiling", "type": "poisson", "rate": 3}]}, (None, 3)),
        ({"phases": [{"name": "warmup", "concurrency": 3}]}, (None, None)),
        ({"endpoint": "v1/completions"}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_nvidias_load_is_found_wherever_a_version_has_it(config, load):
    run = json.loads(text("genai_perf.json")) | {"input_config": config}
    benchmark = read_benchmark(json.dumps(run).encode())
    assert (benchmark.points[0].concurrency, benchmark.points[0].request_rate_rps) == load
    assert bool(benchmark.notes) == (load == (None, None))


def test_points_take_names_in_use_and_leave_empty_cells_unmeasured():
    points = read_benchmark(FOLDER / "points.csv").points
    assert of(points[0].ttft_ms) == [20.5, 20.25, 25.75]
    assert of(points[0].tpot_ms) == [7.5, 7.25, None]
    assert points[0].e2e_ms.mean == 970
    assert points[2].ttft_ms == NOT_MEASURED
    assert points[2].output_tokens == 128.5
    assert [point.output_tokens_per_s for point in points] == [131, 910, 4300, 320]


def test_points_without_any_load_are_of_unknown_arrivals():
    point = read_benchmark(b"concurrency;isl;osl;ttft_ms\n;5;6;7\n").points[0]
    assert point.arrivals == "unknown"
    assert point.ttft_ms.mean == 7


def test_percentiles_interpolate_between_order_statistics():
    assert of(stats_of(np.array([0.0, 10.0, np.nan]))) == [5, 5, 9.9]
    assert stats_of(np.array([np.nan])) == NOT_MEASURED


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        ("", " is empty; at least one result is needed"),
        ("name,age\nAnn,3\n", " begins with 'name,age'; known layouts are "),
        ("{}", " begins with '{}'; known layouts are "),
        ("[]", r" line 1: \[\] is no object; one is needed"),
        ('{"a": 1}\n\n[2]', r" line 3: \[2\] is no object"),
        ('{"a": 1,\n"b" 2}', " line 2: expecting ':' delimiter; JSON is needed"),
        ("[" * 100_000, " line 1: this cannot be read; JSON is needed"),
        ('{"benchmarks": []}', ": benchmarks is empty; at least one result is needed"),
    ],
)
def test_files_of_no_known_tool_are_refused(content, pattern):
    with pytest.raises(ValueError, match=f"^b{pattern}") as caught:
        read_benchmark(content.encode(), "b")
    assert "\n" not in str(caught.value)


def test_the_sentence_about_an_unknown_file_names_every_layout():
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_benchmark(b"name,age\nAnn,3\n")
    assert all(layout in str(caught.value) for layout in LAYOUTS)


def test_two_models_in_a_file_are_refused():
    lines = text("sglang_bench.jsonl").splitlines()
    other = with_value(lines[1], ("server_info", "model_path"), "other/Model")
    refused(
        read_benchmark, f"{lines[0]}\n{other}\n", "s.jsonl", " line 2: the model is 'other/Model' after 'example/Mod"
    )
    csv_text = text("points.csv").replace("example/Model-8B,8", "other/Model,8")
    refused(
        read_benchmark, csv_text, "p.csv", " line 3: model is 'other/Model'; one model a file is needed, and line 2"
    )


@needs_shared
def test_a_deployment_out_of_the_shared_benchmarks_is_read_as_points():
    with (SHARED / "data/serving_benchmarks.csv").open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["gpu"], row["mode"], row["quality"]) == ("H200", "closed_loop", "ok")
        ]
    model = max({row["model"] for row in rows}, key=[row["model"] for row in rows].count)
    rows = [row for row in rows if row["model"] == model]
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    benchmark = read_benchmark(out.getvalue().encode(), "h200.csv")
    assert benchmark.model == model
    assert len(benchmark.points) == len(rows) > 10
    for point, row in zip(benchmark.points, rows, strict=True):
        assert point.concurrency == float(row["concurrency"])
        assert point.arrivals == "closed_loop"
        assert [point.prompt_tokens, point.output_tokens] == [float(row["isl_mean"]), float(row["osl_mean"])]
        for stats, metric in ((point.ttft_ms, "ttft"), (point.tpot_ms, "tpot")):
            wanted = [float(row[f"{metric}_{which}_ms"] or "nan") for which in ("mean", "p50", "p99")]
            assert [math.nan if value is None else value for value in of(stats)] == pytest.approx(wanted, nan_ok=True)
