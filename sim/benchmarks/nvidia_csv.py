"""AIPerf's and GenAI-Perf's summary CSV: a table of metrics with their statistics, then one of single values.

Source: github.com/ai-dynamo/aiperf; github.com/triton-inference-server/perf_analyzer, genai-perf.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from sim.benchmarks.benchmark import Benchmark, Point, Stats
from sim.benchmarks.fields import LARGEST
from sim.benchmarks.nvidia import MS_PER_UNIT, NO_LOAD, WORDS
from sim.benchmarks.result_file import ResultFile
from sim.errors import DataError, shown
from sim.workload.readers.table import header_of, table_rows

LAYOUT = "AIPerf or GenAI-Perf CSV (Metric,avg,min,max,...)"
METRIC = re.compile(r"(.+?)\s*(?:\((.*)\))?")


class Row(NamedTuple):
    """A metric and what the table says of it."""

    line: int
    name: str  # as the table has it
    unit: str
    values: Mapping[str, str]  # by the table's header


class Sheet(NamedTuple):
    """All metrics of a file, by their names in lower case."""

    file: str
    rows: Mapping[str, Row]

    def number(self, metric: str, which: str, *, least: float = 0.0) -> float | None:
        """A value of a metric; None where there is none."""
        row = self.rows.get(metric)
        text = "" if row is None else row.values.get(which, "").strip()
        if row is None or text in ("", "N/A"):
            return None
        try:
            value = float(text.replace(",", ""))  # 1,146.31
        except ValueError:
            value = float("nan")
        if not least <= value <= LARGEST:
            raise DataError(
                f"{self.file} line {row.line}: {which} of {row.name} is {shown(text)}; "
                f"a number from {least:g} to {LARGEST:g} is needed"
            )
        return value

    def needed(self, metric: str, which: str) -> float:
        """A value of at least 1 that must be there."""
        value = self.number(metric, which, least=1)
        if value is None:
            raise DataError(f"{self.file}: {which} of {metric} is missing; it is needed")
        return value

    def stats_ms(self, metric: str) -> Stats:
        """A metric that is a time."""
        row = self.rows.get(metric)
        factor = 1.0 if row is None else MS_PER_UNIT.get(row.unit)
        if row is not None and factor is None:
            raise DataError(
                f"{self.file} line {row.line}: the unit of {row.name} is {shown(row.unit)}; "
                f"one of {', '.join(MS_PER_UNIT)} is needed"
            )
        values = (self.number(metric, which) for which in ("avg", "p50", "p99"))
        return Stats(*(None if value is None else value * (factor or 1.0) for value in values))


def recognises(file: ResultFile) -> bool:
    """Whether it begins with a table of metrics."""
    return [cell.strip().lower() for cell in header_of(file.text)[1][:2]] == ["metric", "avg"]


def read(file: ResultFile) -> Benchmark:
    """The result in such a file, which has no concurrency and no request rate.

    Raises
    ------
    DataError
        A value that is missing or cannot be right.
    """
    sheet = _sheet(file)
    num_prompts = sheet.number("request count", "value", least=1)
    point = Point(
        concurrency=None,
        request_rate_rps=None,
        num_prompts=None if num_prompts is None else int(num_prompts),
        prompt_tokens=sheet.needed("input sequence length", "avg"),
        output_tokens=sheet.needed("output sequence length", "avg"),
        ttft_ms=sheet.stats_ms("time to first token"),
        tpot_ms=sheet.stats_ms("inter token latency"),
        itl_ms=sheet.stats_ms("inter chunk latency"),
        e2e_ms=sheet.stats_ms("request latency"),
        requests_per_s=sheet.number("request throughput", "value"),
        output_tokens_per_s=sheet.number("output token throughput", "value"),
        duration_s=sheet.number("benchmark duration", "value"),
    )
    return Benchmark(
        name=file.text.name,
        sha256=file.text.sha256,
        tool="AIPerf or GenAI-Perf",
        model=None,
        points=(point,),
        words=WORDS,
        notes=(NO_LOAD,),
    )


def _sheet(file: ResultFile) -> Sheet:
    """The rows of all tables; each begins with a row `Metric, ...`."""
    rows: dict[str, Row] = {}
    header: list[str] = []
    for line, cells in table_rows(file.text):
        if cells[0].strip().lower() == "metric":
            header = [cell.strip().lower() for cell in cells]
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{file.text.name} line {line}: {shown(' '.join(cells))} has {len(cells)} cells; {len(header)} are "
                f"needed, as the header has"
            )
        match = METRIC.fullmatch(cells[0].strip())
        name, unit = (match[1], match[2] or "") if match else (cells[0].strip(), "")
        rows[name.lower()] = Row(line, name, unit, dict(zip(header, cells, strict=True)))
    return Sheet(file.text.name, rows)
