"""What each figure shows, in a sentence, for people who do not see it."""

from collections.abc import Sequence

from sim.studies.load_curve import LoadPoint
from sim.view.curves import Distribution
from sim.view.memory import MEMORY_STYLE
from sim.view.quantity import Quantity
from sim.view.run_view import RunView
from sim.view.theme import short_number, short_percent
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
    within = "" if run.attainment is None else f"; {run.attainment:.1%} within the limit"
    return f"Distribution of {run.quantity.label}, {run.num_values:,} values: {marks}{within}."


def memory(run: RunView) -> str:
    """The largest rows of the ledger."""
    whole = run.summary["memory_ledger"]["blocks_x_duration"] or 1.0
    rows = sorted(run.summary["memory_ledger"]["rows"].items(), key=lambda row: -row[1])[:3]
    shares = ", ".join(f"{MEMORY_STYLE[name].label} {short_percent(value / whole)}" for name, value in rows)
    return f"KV memory over time by use; on average {shares}. Below it, requests running and waiting."


def time(run: RunView) -> str:
    """The largest rows of the ledger."""
    whole = run.summary["time_ledger"]["stages_x_duration"] or 1.0
    rows = sorted(run.summary["time_ledger"]["rows"].items(), key=lambda row: -row[1])[:3]
    shares = ", ".join(f"{TIME_STYLE[name].label} {short_percent(value / whole)}" for name, value in rows)
    return f"Time over the run by use; on average {shares}."


def load(points: Sequence[LoadPoint]) -> str:
    """How far the curve reaches."""
    if not points:
        return "p99 latency and throughput against load; being computed."
    best = max(point.output_tokens_per_s for point in points)
    return f"p99 latency and output tokens/s against load, {len(points)} points; highest {short_number(best)} tokens/s."
