"""Benchmark files that cannot be right are refused in one sentence that says where and why."""

import json

import pytest

from sim.benchmarks import read_benchmark
from tests.benchmarks.files import text
from tests.broken import Variants, broken_rows, broken_values, refused, with_value


def rows_of_points() -> Variants:
    columns = {"concurrency": 1, "num_prompts": 3, "ttft_mean_ms": 6, "tpot_mean_ms": 9, "median_tpot_s": 10}
    may_be_empty = {f"{label} empty" for label in columns}
    optional = broken_rows(text("points.csv"), columns, line=3)
    needed = broken_rows(text("points.csv"), {"isl": 4, "osl": 5}, line=3)
    return needed | {label: variant for label, variant in optional.items() if label not in may_be_empty}


def cells_of_metrics(file: str, line: int, metric: str) -> Variants:
    """A summary with something else in the first statistic of a metric."""
    lines = text(file).splitlines()
    cells = lines[line - 1].split(",")
    variants = {}
    for wrong in ("many", "-1", "nan", "inf", "1e300", "1.2.3", "12 ms"):
        changed = [*lines[: line - 1], ",".join([cells[0], wrong, *cells[2:]]), *lines[line:]]
        variants[f"{metric} {wrong}"] = (
            "\n".join(changed),
            f" line {line}: avg of {metric} is '{wrong}'; a number from",
        )
    for label, new in (("too few", cells[:-1]), ("too many", [*cells, "1"])):
        changed = [*lines[: line - 1], ",".join(new), *lines[line:]]
        variants[f"{metric} {label}"] = ("\n".join(changed), rf" line {line}: .* has \d+ cells; \d+ are needed")
    return variants


def of_nvidia_summary(file: str) -> Variants:
    lines = text(file).splitlines()
    find = {
        name: next(i for i, row in enumerate(lines, 1) if row.startswith(name))
        for name in ("Inter Token", "Output Seq")
    }
    return {
        **cells_of_metrics(file, find["Inter Token"], "Inter Token Latency"),
        **cells_of_metrics(file, find["Output Seq"], "Output Sequence Length"),
        "unit": (
            text(file).replace("Inter Token Latency (ms)", "Inter Token Latency (h)"),
            r" line \d+: the unit of Inter Token Latency is 'h'; one of ms",
        ),
        "no prompts": (text(file).replace("Input Sequence", "Inputs"), ": avg of input sequence length is missing"),
        "no outputs": (text(file).replace("Output Sequence", "Outputs"), ": avg of output sequence length is missing"),
        "requests": (text(file).replace("40.00", "0"), r" line \d+: value of Request Count is '0'; a number from 1"),
        "open quote": (text(file).replace("Output Token", '"Output Token'), r" line \d+: unexpected end of data"),
    }


def wrong_lists(key: str) -> dict[str, object]:
    wrong = {"an object": {"a": 1}, "a number": 5, "too short": json.loads(DETAILED)[key][:-1]}
    return {label: value for label, value in wrong.items() if (key, label) != ("input_lens", "too short")}


CLIENT = [("completed",), ("duration",), ("total_input_tokens",), ("total_output_tokens",), ("request_rate",)]
CLIENT_IF_ANY = [("max_concurrency",), ("mean_ttft_ms",), ("median_tpot_ms",), ("p99_itl_ms",)]
LISTS = ("input_lens", "output_lens", "ttfts", "itls", "start_times", "errors")
DETAILED = text("vllm_bench_detailed.json")
BLOCKS = [("input_sequence_length", "avg"), ("output_sequence_length", "avg"), ("time_to_first_token", "unit")]
BLOCKS_IF_ANY = [("inter_token_latency", "p99"), ("request_throughput", "avg"), ("request_count", "avg")]
GUIDE = ("benchmarks", 0, "metrics")
ROW = ("benchmarks", 0, "requests", "successful", 2)
RECORD = text("aiperf_records.jsonl").splitlines()[1]
IN_RECORDS = ("input_sequence_length", "output_sequence_length", "request_latency")
NO_COLUMN = r" line 1: the header \(.*\) has no column "

VARIANTS: dict[str, Variants] = {
    "vllm_bench.json": {
        **broken_values(text("vllm_bench.json"), CLIENT),
        **broken_values(text("vllm_bench.json"), CLIENT_IF_ANY, optional=True),
        "half a request": (with_value(DETAILED, ("completed",), 5.5), ": completed is 5.5; a whole number is needed"),
        "no requests": (with_value(DETAILED, ("completed",), 0), ": completed is 0; a number from 1 to"),
        "model": (with_value(DETAILED, ("model_id",), 5), ": model_id is 5; a text is needed"),
    },
    "vllm_bench_detailed.json": {
        **{
            f"{key} {label}": (with_value(DETAILED, (key,), wrong), f": {key} (is|has) ")
            for key in LISTS
            for label, wrong in wrong_lists(key).items()
        },
        **{
            f"{key} has {wrong}": (with_value(DETAILED, (key, 2), wrong), f": {key} has .* as number 3; numbers from")
            for key in LISTS[:3]
            for wrong in ("many", -1, None, True, float("nan"), [1])
        },
        "prompts too short": (
            with_value(DETAILED, ("input_lens",), [5, 5]),
            ": output_lens has 7 values; 2 are needed, as input_lens has",
        ),
        "half a token": (with_value(DETAILED, ("output_lens", 2), 1.5), ": output_lens has half a token"),
        "a gap": (with_value(DETAILED, ("itls", 2, 1), -0.1), ": itls has -0.1 as number 2; numbers from 0"),
        "no gaps": (with_value(DETAILED, ("itls",)), ": itls is missing; a list of lists of numbers is needed"),
    },
    "sglang_bench.jsonl": {
        label: (text("sglang_bench.jsonl").splitlines()[0] + "\n" + broken, " line 2" + where)
        for label, (broken, where) in {
            **broken_values(text("sglang_bench.jsonl").splitlines()[1], CLIENT),
            **broken_values(text("sglang_bench.jsonl").splitlines()[1], CLIENT_IF_ANY, optional=True),
        }.items()
    },
    "aiperf.json": {
        **broken_values(text("aiperf.json"), BLOCKS),
        **broken_values(text("aiperf.json"), BLOCKS_IF_ANY, optional=True),
        "unit unknown": (
            with_value(text("aiperf.json"), ("inter_token_latency", "unit"), "h"),
            ": inter_token_latency.unit is 'h'; one of ms, s",
        ),
        "block is a number": (
            with_value(text("aiperf.json"), ("inter_token_latency",), 12.5),
            ": inter_token_latency is 12.5; an object is needed",
        ),
    },
    "aiperf_early.json": broken_values(
        text("aiperf_early.json"), [("records", *way) for way in (*BLOCKS[:2], ("ttft", "unit"))]
    ),
    "genai_perf.json": {
        **broken_values(text("genai_perf.json"), BLOCKS),
        **broken_values(text("genai_perf.json"), [("input_config", "request_rate")], optional=True),
    },
    "aiperf_records.jsonl": broken_values(RECORD, [("metrics", name, "value") for name in IN_RECORDS]),
    "guidellm.json": {
        **broken_values(
            text("guidellm.json"),
            [(*GUIDE, name, "successful", "mean") for name in ("prompt_token_count", "output_token_count")],
        ),
        **broken_values(
            text("guidellm.json"),
            [
                (*GUIDE, "time_to_first_token_ms", "successful", "median"),
                (*GUIDE, "inter_token_latency_ms", "successful", "mean"),
                (*GUIDE, "request_latency", "successful", "percentiles", "p99"),
                (*GUIDE, "request_totals", "successful"),
            ],
            optional=True,
        ),
        **broken_values(text("guidellm.json"), [(*ROW, "prompt_tokens"), (*ROW, "request_latency")]),
        "rate": (
            with_value(text("guidellm.json"), ("benchmarks", 2, "config", "strategy", "rate")),
            ": benchmarks.2.config.strategy.rate is missing; a number from",
        ),
        "a run is a list": (
            with_value(text("guidellm.json"), ("benchmarks", 1), []),
            ": benchmarks is a list; a list of objects is needed",
        ),
    },
    "genai_perf.csv": of_nvidia_summary("genai_perf.csv"),
    "aiperf.csv": of_nvidia_summary("aiperf.csv"),
    "points.csv": {
        **rows_of_points(),
        "no prompts": (
            text("points.csv").replace("isl", "length"),
            NO_COLUMN + "prompt_tokens",
        ),
        "no outputs": (
            text("points.csv").replace("osl", "length"),
            NO_COLUMN + "output_tokens",
        ),
        "twice": (
            text("points.csv").replace("num_prompts", "ISL"),
            r" line 1: the header has 'ISL' 2 times; 1 is needed",
        ),
        "header only": (text("points.csv").splitlines()[0], " has a header and no rows; at least one point is needed"),
    },
}
BROKEN = [
    pytest.param(file, broken, pattern, id=f"{file}-{label}")
    for file, variants in VARIANTS.items()
    for label, (broken, pattern) in variants.items()
]


@pytest.mark.parametrize(("file", "content", "pattern"), BROKEN)
def test_broken_benchmark_is_refused(file, content, pattern):
    refused(read_benchmark, content, file, pattern)


@pytest.mark.parametrize("file", VARIANTS)
def test_every_layout_has_ten_broken_variants_and_more(file):
    contents = {content for content, _ in VARIANTS[file].values()}
    assert len(contents) >= 10
    assert text(file) not in contents
