"""A CSV of points: a load, mean lengths, and what was measured, one point a row, under names in use.

`concurrency` or `request_rate`, `prompt_tokens` and `output_tokens` (or `isl`, `osl`), and some of `ttft_mean_ms`,
`tpot_p50_ms`, `itl_p99_ms`, `e2e_mean_ms` (in ms or s, the statistic before or after), `output_tokens_per_s`, ....
An empty cell is a value that was not measured.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sim.benchmarks.benchmark import Benchmark, Floats, Point, Stats
from sim.benchmarks.result_file import ResultFile
from sim.errors import DataError
from sim.part import MAX_TOKENS
from sim.workload.readers.cells import numbers
from sim.workload.readers.names import OUTPUT, PROMPT, header_names, needed_position, position_of
from sim.workload.readers.table import Column, column_chunks, header_of

LAYOUT = "CSV of points (concurrency or request_rate, isl, osl, ttft_mean_ms, tpot_mean_ms, ...)"
TOOL = "CSV"
WORDS = "TPOT is taken as (E2E - TTFT) / (n - 1) of each request, ITL as all gaps pooled."

CONCURRENCY = ("concurrency", "maxconcurrency", "users", "numconcurrentrequests")
RATE = ("requestrate", "requestraterps", "raterps", "rate", "rps", "qps")
COUNT = ("numprompts", "numrequests", "nrequests", "requests", "requestcount", "completed")
PER_S = {"prompttoks", "inputtoks", "outputtoks"}  # output_tok_s is a throughput here, output_toks a length elsewhere
PROMPT_MEAN = ("islmean", "meanisl", "prompttokensmean", "inputtokensmean", *(n for n in PROMPT if n not in PER_S))
OUTPUT_MEAN = ("oslmean", "meanosl", "outputtokensmean", "completiontokensmean", *(n for n in OUTPUT if n not in PER_S))
REQUESTS_PER_S = ("requestspers", "requestthroughput", "requestthroughputrps", "reqpers")
TOKENS_PER_S = ("outputtokenspers", "outputtoks", "outputthroughput", "outputtokenthroughput", "outputtps")
DURATION = ("duration", "durations", "benchmarkduration")
MODEL = ("model", "modelid", "modelname")
METRICS = ("ttft", "tpot", "itl", "e2e")
ALSO = {"e2e": ("e2el", "latency", "requestlatency", "e2elatency")}
STATISTICS = {"mean": ("mean", "avg", ""), "p50": ("p50", "median"), "p99": ("p99",)}
UNITS = {"ms": 1.0, "s": 1000.0}
MOST_MS = 1e9


@dataclass(frozen=True)
class Measured:
    """A column of times."""

    position: int
    factor: float  # to milliseconds


def recognises(file: ResultFile) -> bool:
    """Whether the header has a load and something measured."""
    header = set(header_names(file.text))
    measured = {name for metric in METRICS for which in STATISTICS for name in _names(metric, which)}
    return not header.isdisjoint((*CONCURRENCY, *RATE)) and not header.isdisjoint((*measured, *TOKENS_PER_S))


def read(file: ResultFile) -> Benchmark:
    """The points in such a file.

    Raises
    ------
    DataError
        A column that is missing or there twice, no rows, or a value that cannot be right.
    """
    chunks = list(column_chunks(file.text, range(len(header_of(file.text)[1]))))
    if not chunks:
        raise DataError(f"{file.text.name} has a header and no rows; at least one point is needed")
    points = [point for columns in chunks for point in _points(file, columns)]
    return Benchmark(
        name=file.text.name,
        sha256=file.text.sha256,
        tool=TOOL,
        model=_model(file, chunks),
        points=tuple(points),
        words=WORDS,
    )


def _points(file: ResultFile, columns: Sequence[Column]) -> Iterable[Point]:
    def values(names: Iterable[str], least: float, most: float) -> Floats:
        position = position_of(file.text, names)
        if position is None:
            return np.full(len(columns[0].cells), math.nan)
        return _values(columns[position], least, most)

    prompt = _needed(columns[needed_position(file.text, "prompt_tokens", PROMPT_MEAN)])
    output = _needed(columns[needed_position(file.text, "output_tokens", OUTPUT_MEAN)])
    concurrency, rate = values(CONCURRENCY, 1, 1e6), values(RATE, 1e-9, 1e9)
    count, duration = values(COUNT, 1, 1e9), values(DURATION, 0, 1e9)
    requests_per_s, tokens_per_s = values(REQUESTS_PER_S, 0, 1e9), values(TOKENS_PER_S, 0, 1e12)
    stats = {metric: _stats(file, columns, metric) for metric in METRICS}
    for i in range(len(prompt)):
        given = _none_if_nan(rate[i])
        yield Point(
            concurrency=None if math.isnan(concurrency[i]) else round(concurrency[i]),
            request_rate_rps=math.inf if given is None and not math.isnan(concurrency[i]) else given,
            num_prompts=None if math.isnan(count[i]) else round(count[i]),
            prompt_tokens=float(prompt[i]),
            output_tokens=float(output[i]),
            ttft_ms=stats["ttft"][i],
            tpot_ms=stats["tpot"][i],
            itl_ms=stats["itl"][i],
            e2e_ms=stats["e2e"][i],
            requests_per_s=_none_if_nan(requests_per_s[i]),
            output_tokens_per_s=_none_if_nan(tokens_per_s[i]),
            duration_s=_none_if_nan(duration[i]),
        )


def _needed(column: Column) -> Floats:
    return numbers(column, least=1, most=MAX_TOKENS)


def _values(column: Column, least: float, most: float) -> Floats:
    """Numbers within limits, NaN where a cell is empty."""
    filled = [i for i, cell in enumerate(column.cells) if cell.strip()]
    values = np.full(len(column.cells), math.nan)
    if filled:
        values[filled] = numbers(column.picked(filled), least=least, most=most)
    return values


def _stats(file: ResultFile, columns: Sequence[Column], metric: str) -> list[Stats]:
    found = []
    for which in STATISTICS:
        names = _names(metric, which)
        position = position_of(file.text, names)
        if position is None:
            found.append(np.full(len(columns[0].cells), math.nan))
        else:
            factor = names[header_names(file.text)[position]]
            found.append(factor * _values(columns[position], 0, MOST_MS / factor))
    return [Stats(*(_none_if_nan(value) for value in row)) for row in zip(*found, strict=True)]


def _names(metric: str, which: str) -> dict[str, float]:
    """Names in use for a statistic of a metric, each with what makes milliseconds of it."""
    return {
        name: factor
        for word in (metric, *ALSO.get(metric, ()))
        for statistic in STATISTICS[which]
        for unit, factor in UNITS.items()
        for name in (f"{word}{statistic}{unit}", f"{statistic}{word}{unit}")
    }


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _model(file: ResultFile, chunks: Sequence[Sequence[Column]]) -> str | None:
    position = position_of(file.text, MODEL)
    if position is None:
        return None
    names = list(dict.fromkeys(cell.strip() for columns in chunks for cell in columns[position].cells))
    if len(names) > 1:
        column = next(columns[position] for columns in chunks if names[1] in map(str.strip, columns[position].cells))
        i = [cell.strip() for cell in column.cells].index(names[1])
        raise column.refuse(i, f"one model a file is needed, and line {chunks[0][position].lines[0]} has '{names[0]}'")
    return names[0] or None
