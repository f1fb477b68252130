"""What each figure shows, in a sentence, for people who do not see it."""

from collections.abc import Mapping, Sequence

from sim.studies.load_curve import LoadPoint
from sim.view.curves import Distribution
from sim.view.memory import MEMORY_STYLE, RowStyle
from sim.view.number_words import short_number, short_percent
from sim.view.quantity import Quantity
from sim.view.run_view import RunView
from sim.view.time_use import TIME_STYLE


def throughput(run: RunView, quantity: Quantity) -> str:
    """Mean and highest rate over time."""
    rate = run.over_time.rates[quantity.key]
    peak = short_number(float(rate.max(initial=0.0)))
    duration_s = run.summary["metrics"]["duration_s"]
    return f"{quantity.label} over time; highest {peak} {quantity.unit}, over {duration_s:,.0f} s."


def distribution(run: Distribution) -> str:
    """The percentiles people quote."""
    if not run.num_values:
        return f"{run.quantity.label}: no values."
    marks = ", ".join(f"{name} {run.quantity.told(value)}" for name, value in run.marks.items())
    within = "" if run.attainment is None else f"; {short_percent(run.attainment)} within the limit"
    return f"Distribution of {run.quantity.label}, {run.num_values:,} values: {marks}{within}."


def memory(run: RunView) -> str:
    """The largest rows of the ledger."""
    ledger = run.summary["memory_ledger"]
    largest = _largest(ledger["rows"], ledger["blocks_x_duration"], MEMORY_STYLE)
    return f"KV memory over time by use; on average {largest}. Below it, requests running and waiting."


def time(run: RunView) -> str:
    """The largest rows of the ledger."""
    ledger = run.summary["time_ledger"]
    return f"Time over the run by use; on average {_largest(ledger['rows'], ledger['stages_x_duration'], TIME_STYLE)}."


def _largest(rows: Mapping[str, float], whole: float, styles: Mapping[str, RowStyle]) -> str:
    """The three largest rows of a ledger, as shares of the whole."""
    three = sorted(rows.items(), key=lambda row: -row[1])[:3]
    return ", ".join(f"{styles[name].label} {short_percent(value / (whole or 1.0))}" for name, value in three)


def load(points: Sequence[LoadPoint]) -> str:
    """How far the curve reaches."""
    if not points:
        return "p99 latency and throughput against load; being computed."
    best = max(point.output_tokens_per_s for point in points)
    return f"p99 latency and output tokens/s against load, {len(points)} points; highest {short_number(best)} tokens/s."
