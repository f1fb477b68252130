"""AIPerf's `profile_export.jsonl`: a JSON object a line, one for each request.

Source: github.com/ai-dynamo/aiperf, docs/tutorials/working-with-profile-exports.md.
"""

import math

import numpy as np

from sim.benchmarks.benchmark import Benchmark, Floats, MeasuredRequests, Point, stats_of
from sim.benchmarks.fields import Fields
from sim.benchmarks.nvidia import E2E, ITL, NO_LOAD, TPOT, TTFT, WORDS, ms_per_unit
from sim.benchmarks.result_file import ResultFile
from sim.errors import DataError

LAYOUT = "AIPerf records (JSON lines)"


def recognises(file: ResultFile) -> bool:
    """Whether the first object has metrics and where they come from."""
    return {"metadata", "metrics"} <= set(file.first.values)


def read(file: ResultFile) -> Benchmark:
    """The run whose requests are in such a file; warm-up and failed requests are left out.

    Raises
    ------
    DataError
        No answered request, or a value that is missing or cannot be right.
    """
    rows = [each for each in file.objects if _is_measured(each)]
    if not rows:
        raise DataError(f"{file.text.name} has no answered request; at least one is needed")
    requests = _requests(rows)
    ends_s = requests.start_s + requests.e2e_ms / 1000
    duration_s = float(ends_s.max() - requests.start_s.min())
    gaps = np.concatenate([_gaps_ms(each) for each in rows])
    point = Point(
        concurrency=None,
        request_rate_rps=None,
        num_prompts=len(rows),
        prompt_tokens=float(requests.prompt_len.mean()),
        output_tokens=float(requests.output_len.mean()),
        ttft_ms=stats_of(requests.ttft_ms),
        tpot_ms=stats_of(requests.tpot_ms),
        itl_ms=stats_of(gaps),
        e2e_ms=stats_of(requests.e2e_ms),
        requests_per_s=len(rows) / duration_s if duration_s > 0 else None,
        output_tokens_per_s=float(requests.output_len.sum()) / duration_s if duration_s > 0 else None,
        duration_s=duration_s,
        requests=requests,
    )
    left_out = len(file.objects) - len(rows)
    notes = [f"{left_out} requests were left out: warm-up, or failed."] if left_out else []
    return Benchmark(
        name=file.text.name,
        sha256=file.text.sha256,
        tool="AIPerf",
        model=None,
        points=(point,),
        words=WORDS,
        notes=(NO_LOAD, *notes),
    )


def _is_measured(row: Fields) -> bool:
    origin = row.part("metadata").values
    return row.values.get("error") is None and "warmup" not in (
        origin.get("benchmark_phase"),
        origin.get("credit_phase"),
    )


def _requests(rows: list[Fields]) -> MeasuredRequests:
    output_len = np.array([_tokens(row, "output_sequence_length") for row in rows], dtype=np.int64)
    tpot_ms = np.array([_ms(row, TPOT) for row in rows])
    gaps_ms = [_gaps_ms(row) for row in rows]
    return MeasuredRequests(
        prompt_len=np.array([_tokens(row, "input_sequence_length") for row in rows], dtype=np.int64),
        output_len=output_len,
        start_s=np.array([_start_s(row) for row in rows]),
        ttft_ms=np.array([_ms(row, *TTFT) for row in rows]),
        tpot_ms=np.where(output_len > 1, tpot_ms, math.nan),
        e2e_ms=np.array([_ms(row, E2E) for row in rows]),
        max_itl_ms=np.array([gaps.max(initial=0.0) for gaps in gaps_ms]),
    )


def _tokens(row: Fields, name: str) -> int:
    return row.at("metrics", name).whole("value")


def _ms(row: Fields, *names: str) -> float:
    """A time of one request in milliseconds; NaN where it was not measured."""
    metrics = row.part("metrics")
    found = metrics.part(next((name for name in names if name in metrics.values), names[0]))
    if not found.values:
        return math.nan
    return found.number("value") * ms_per_unit(found)


def _gaps_ms(row: Fields) -> Floats:
    found = row.at("metrics", ITL)
    return found.numbers("value") if found.values else np.zeros(0)


def _start_s(row: Fields) -> float:
    origin = row.part("metadata")
    key = "request_start_ns" if "request_start_ns" in origin.values else "timestamp_ns"
    return origin.number(key, most=1e19) / 1e9
