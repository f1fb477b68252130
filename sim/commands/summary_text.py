"""A run's summary for people: the figures one looks at first, from the dict of `Result.summary`."""

from collections.abc import Iterable, Sequence
from typing import Any

from sim.view.summary_rows import latency_rows, number, shares

Summary = dict[str, Any]


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
            f"{requests['total']:,} requests: {counts}; {figures['preemptions']:,} preemptions{further(summary)}",
            f"{number(figures['output_tokens_per_s'], 1)} output tokens/s{saturated(figures)}, "
            f"{number(figures['requests_per_s'], 3)} requests/s over {number(figures['duration_s'], 1)} s",
            f"error of the step times behind these figures: {summary['step_time']['text']}",
        ]
    )


def saturated(figures: Summary) -> str:
    """What the server gives while it never lacks work, where all requests wait from the start."""
    rate = figures["plateau_tokens_per_s"]
    return "" if rate is None else f" ({number(rate, 1)} saturated: between 10 and 90 % of the output)"


def further(summary: Summary) -> str:
    """What else became of requests while they ran, where anything did."""
    names = {"swaps": "swaps to host memory", "oom_count": "out-of-memory failures", "promotions": "promotions"}
    counters = summary["counters"]
    return "".join(f", {counters[key]:,} {name}" for key, name in names.items() if counters.get(key))


def ledger_rows(summary: Summary) -> list[list[str]]:
    """Where KV memory and time went, side by side, rows of nothing left out."""
    memory, time = summary["memory_ledger"], summary["time_ledger"]
    left = shares(memory["rows"], memory["blocks_x_duration"])
    right = shares(time["rows"], time["stages_x_duration"])
    length = max(len(left), len(right))
    left += [["", ""]] * (length - len(left))
    right += [["", ""]] * (length - len(right))
    return [["KV memory", "", "time", ""], *(a + b for a, b in zip(left, right, strict=True))]


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
