"""GuideLLM's `benchmarks.json`: a list of runs, each with distributions by outcome of the request.

Source: github.com/vllm-project/guidellm, src/guidellm/benchmark/schemas.
"""

import math

import numpy as np

from sim.benchmarks.benchmark import NOT_MEASURED, Benchmark, MeasuredRequests, Point, Stats, stats_of
from sim.benchmarks.fields import Fields
from sim.benchmarks.model_name import common_model
from sim.benchmarks.result_file import ResultFile
from sim.errors import DataError

TOOL = "GuideLLM"
LAYOUT = "GuideLLM JSON (benchmarks)"
WORDS = (
    "Its inter_token_latency_ms weighs the TPOT of each request by its gaps: the mean is the mean ITL here, the "
    "percentiles are neither ITL nor TPOT unless all answers are of one length. Its time_per_output_token_ms contains "
    "the first token and is not read."
)
SAME_LENGTH = 1e-6  # tokens; what rounding leaves of a spread of 0
SAMPLED = "{n} of {total} requests are in the file one by one; where lengths differ, TPOT is theirs."


def recognises(file: ResultFile) -> bool:
    """Whether it has a list of benchmarks."""
    return isinstance(file.first.values.get("benchmarks"), list)


def read(file: ResultFile) -> Benchmark:
    """The results in such a file.

    Raises
    ------
    DataError
        No runs, or a value that is missing or cannot be right.
    """
    report = file.first
    runs = report.parts("benchmarks")
    if not runs:
        raise DataError(f"{report.where}: benchmarks is empty; at least one result is needed")
    points = tuple(_point(run) for run in runs)
    return Benchmark(
        name=file.text.name,
        sha256=file.text.sha256,
        tool=TOOL,
        model=common_model([(run, _model(run, report)) for run in runs]),
        points=points,
        words=WORDS,
        notes=tuple(dict.fromkeys(_sampled(point) for point in points if _is_sample(point))),
    )


def _point(run: Fields) -> Point:
    metrics = run.part("metrics")
    concurrency, rate = _load(run)
    requests = _requests(run)
    itl = _stats(metrics, "inter_token_latency_ms")
    output = metrics.at("output_token_count", "successful")
    spread = output.number_if_any("std_dev")
    same_length = spread is not None and spread < SAME_LENGTH  # then the weights are equal
    tpot = NOT_MEASURED if requests is None else stats_of(requests.tpot_ms)
    return Point(
        concurrency=concurrency,
        request_rate_rps=rate,
        num_prompts=_num_prompts(run),
        prompt_tokens=metrics.at("prompt_token_count", "successful").number("mean", least=1),
        output_tokens=output.number("mean", least=1),
        ttft_ms=_stats(metrics, "time_to_first_token_ms"),
        tpot_ms=itl if same_length else tpot,
        itl_ms=Stats(mean=itl.mean),
        e2e_ms=_in_ms(_stats(metrics, "request_latency")),
        requests_per_s=metrics.at("requests_per_second", "successful").number_if_any("mean"),
        output_tokens_per_s=metrics.at("output_tokens_per_second", "successful").number_if_any("mean"),
        duration_s=run.number_if_any("duration"),
        requests=requests,
    )


def _stats(metrics: Fields, name: str) -> Stats:
    found = metrics.at(name, "successful")
    return Stats(
        mean=found.number_if_any("mean"),
        p50=found.number_if_any("median"),
        p99=found.part("percentiles").number_if_any("p99"),
    )


def _in_ms(seconds: Stats) -> Stats:
    return Stats(*(None if each is None else 1000 * each for each in (seconds.mean, seconds.p50, seconds.p99)))


def _load(run: Fields) -> tuple[int | None, float | None]:
    """Concurrency and request rate of a run's strategy; up to version 0.3 under `args`, then under `config`."""
    strategy = run.setting("config", "strategy")
    if not strategy.values:
        strategy = run.setting("args", "strategy")
    kind = strategy.text_if_any("type_")
    if kind is None:
        return None, None
    if kind == "synchronous":
        return 1, math.inf
    concurrency = strategy.whole_if_any("max_concurrency") or strategy.whole_if_any("streams")
    if kind in {"concurrent", "throughput"}:
        return concurrency, math.inf
    return concurrency, strategy.number("rate", least=1e-9)


def _num_prompts(run: Fields) -> int | None:
    """Answered requests, wherever this version counts them."""
    places = (
        run.at("metrics", "request_totals"),
        run.setting("run_stats", "requests_made"),
        run.setting("scheduler_metrics", "requests_made"),
    )
    for place in places:
        if (count := place.whole_if_any("successful")) is not None:
            return count
    return None


def _requests(run: Fields) -> MeasuredRequests | None:
    rows = run.part("requests").parts("successful")
    if not rows:
        return None
    output_len = np.array([row.whole("output_tokens") for row in rows], dtype=np.int64)
    tpot = np.array([row.number_if_any("inter_token_latency_ms") or math.nan for row in rows])
    starts = [row.number_if_any("request_start_time") or row.number_if_any("start_time") or math.nan for row in rows]
    return MeasuredRequests(
        prompt_len=np.array([row.whole("prompt_tokens") for row in rows], dtype=np.int64),
        output_len=output_len,
        start_s=np.array(starts),
        ttft_ms=np.array([row.number("time_to_first_token_ms") for row in rows]),
        tpot_ms=np.where(output_len > 1, tpot, math.nan),
        e2e_ms=np.array([1000 * row.number("request_latency") for row in rows]),
        max_itl_ms=np.full(len(rows), math.nan),
    )


def _is_sample(point: Point) -> bool:
    return point.requests is not None and len(point.requests.output_len) != point.num_prompts


def _sampled(point: Point) -> str:
    assert point.requests is not None
    return SAMPLED.format(n=len(point.requests.output_len), total=point.num_prompts)


def _model(run: Fields, report: Fields) -> str | None:
    """Which model was asked, wherever this version says so."""
    places = (
        (run.setting("config", "backend"), "model"),
        (run.setting("worker"), "backend_model"),
        (report.setting("args", "backend_kwargs"), "model"),
        (report.setting("args"), "model"),
        (report.setting("config", "spec", "backend"), "model"),
    )
    return next((name for place, key in places if (name := place.text_if_any(key)) is not None), None)
