"""A run's summary for people: the figures one looks at first, from the dict of `Result.summary`."""

from collections.abc import Iterable, Sequence
from typing import Any

Summary = dict[str, Any]

STATISTICS = ("mean", "p50", "p90", "p95", "p99", "max")
LATENCIES = {  # name in the summary: unit and how many of it make a second
    "queue_delay": ("queue delay", "s", 1),
    "ttft": ("TTFT", "s", 1),
    "tpot": ("TPOT", "ms", 1000),
    "itl": ("ITL", "ms", 1000),
    "e2e": ("E2E", "s", 1),
}
SMALLEST_SHARE = 0.0005  # rows of a ledger below that are left out


def as_text(summary: Summary) -> str:
    """Title, counts, throughput, latencies, service level, both ledgers, and what to be careful about."""
    parts = [
        heading(summary),
        aligned(latency_rows(summary["metrics"])),
        aligned(ledger_rows(summary)),
        "\n".join([*service_level(summary["slo"]), *cautions(summary["flags"])]),
    ]
    return "\n\n".join(filter(None, parts))


def heading(summary: Summary) -> str:
    """What was run and what came out, in four lines."""
    scenario, requests, figures = summary["scenario"], summary["requests"], summary["metrics"]
    counts = ", ".join(f"{count:,} {status}" for status, count in requests.items() if count and status != "total")
    return "\n".join(
        [
            scenario["about"]["title"],
            f"{requests['total']:,} requests: {counts}; {figures['preemptions']:,} preemptions",
            f"{number(figures['output_tokens_per_s'], 1)} output tokens/s, "
            f"{number(figures['requests_per_s'], 3)} requests/s over {number(figures['duration_s'], 1)} s",
            f"error of the step times behind these figures: {summary['step_time']['text']}",
        ]
    )


def latency_rows(figures: Summary) -> list[list[str]]:
    """A row a latency, a column a statistic."""
    rows = [["", *STATISTICS, "requests"]]
    for key, (label, unit, per_s) in LATENCIES.items():
        values = [figures[f"{key}_{statistic}_s"] for statistic in STATISTICS]
        shown = figures["tpot_label"] if key == "tpot" else label
        cells = [number(None if value is None else value * per_s, 3 if per_s == 1 else 2) for value in values]
        count = f"{figures['itl_count']:,} gaps" if key == "itl" else f"{figures[f'{key}_count']:,}"
        rows.append([f"{shown}, {unit}", *cells, count])
    return rows


def ledger_rows(summary: Summary) -> list[list[str]]:
    """Where KV memory and time went, side by side, rows of nothing left out."""
    memory, time = summary["memory_ledger"], summary["time_ledger"]
    left = shares(memory["rows"], memory["blocks_x_duration"])
    right = shares(time["rows"], time["duration"])
    length = max(len(left), len(right))
    left += [["", ""]] * (length - len(left))
    right += [["", ""]] * (length - len(right))
    return [["KV memory", "", "time", ""], *(a + b for a, b in zip(left, right, strict=True))]


def shares(rows: dict[str, float], whole: float) -> list[list[str]]:
    """Name and percentage of each row worth showing."""
    return [[name, f"{part / whole:.1%}"] for name, part in rows.items() if whole and part / whole >= SMALLEST_SHARE]


def service_level(slo: Summary) -> Iterable[str]:
    """Attainment and goodput, where the scenario has limits."""
    if slo["attainment"] is not None:
        goodput = number(slo["goodput_rps"], 3)
        yield f"SLO met by {slo['attainment']:.1%} of {slo['counted']:,} requests; goodput {goodput} requests/s"


def cautions(flags: Summary) -> Iterable[str]:
    """Reasons not to take the latencies at face value."""
    if flags["unstable"]:
        yield "Unstable: the queue grows as long as requests arrive, so latencies depend on the length of the run."
    if flags["too_short"]:
        yield "Too short: more requests, or a longer run, would change these figures."
    if flags["stopped_early"]:
        yield "Stopped early: some requests are unfinished, and their latencies are not in the table."


def number(value: float | None, digits: int) -> str:
    """A figure, or a dash for one that is undefined or rests on too few values."""
    return "-" if value is None else f"{value:,.{digits}f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of equal width: names to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    is_name = [not any(cell[:1].isdigit() or cell == "-" for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if name else cell.rjust(width)
            for cell, width, name in zip(row, widths, is_name, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
