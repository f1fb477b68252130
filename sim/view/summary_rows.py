"""Rows of the tables that show a run's summary, in the terminal and in a report."""

from typing import Any

from sim.view.number_words import short_time

Summary = dict[str, Any]

STATISTICS = ("mean", "p50", "p90", "p95", "p99", "max")
LATENCIES = {"queue_delay": "queue delay", "ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e": "E2E"}  # in the summary
SMALLEST_SHARE = 0.0005  # rows of a ledger below that are left out


def latency_rows(figures: Summary) -> list[list[str]]:
    """A row a latency, a column a statistic."""
    rows = [["", *STATISTICS, "requests"]]
    for key, label in LATENCIES.items():
        values = [figures[f"{key}_{statistic}_s"] for statistic in STATISTICS]
        shown = figures["tpot_label"] if key == "tpot" else label
        cells = ["-" if value is None else short_time(value) for value in values]
        count = f"{figures['itl_count']:,} gaps" if key == "itl" else f"{figures[f'{key}_count']:,}"
        rows.append([shown, *cells, count])
    return rows


def shares(rows: dict[str, float], whole: float) -> list[list[str]]:
    """Name and percentage of each row worth showing."""
    return [[name, f"{part / whole:.1%}"] for name, part in rows.items() if whole and part / whole >= SMALLEST_SHARE]


def number(value: float | None, digits: int) -> str:
    """A figure, or a dash for one that is undefined or rests on too few values."""
    return "-" if value is None else f"{value:,.{digits}f}"


def count(value: float) -> str:
    """A count that may have a fraction: `14`, `14.5`, `1,200`."""
    return f"{value:,.3f}".rstrip("0").rstrip(".")
