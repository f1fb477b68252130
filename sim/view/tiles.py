"""The row of numbers above the curves, each with its definition and its change against the pinned run."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sim.view.number_words import UNDEFINED, counted, short_number, short_percent
from sim.view.quantity import (
    GOODPUT,
    KV_USE,
    NORM_LATENCY,
    OUTPUT_RATE,
    PREEMPTIONS,
    SATURATED_RATE,
    TPOT,
    TTFT,
    Quantity,
)

Summary = Mapping[str, Any]
SAME = 5e-4  # relative; a smaller change would show as 0.0 %


class Tile(NamedTuple):
    """One number as it is shown."""

    key: str
    label: str
    value: str
    unit: str
    note: str  # below the number: the change against the pinned run, or what the number is to be read with
    verdict: Literal["better", "worse", "same", "note"]
    help: str  # definition, and the error to expect


def tiles(summary: Summary, pinned: Summary | None = None) -> list[Tile]:
    """Tiles of a run.

    Parameters
    ----------
    summary : mapping
        `Result.summary()`, with `plateau_tokens_per_s` beside it where the run is saturated.
    pinned : mapping, optional
        The same of the pinned run.

    Returns
    -------
    list of Tile
        The same tiles in the same order for every run.
    """
    per_token = TPOT if summary["metrics"]["tpot_label"] == TPOT.label else NORM_LATENCY
    rate = SATURATED_RATE if "plateau_tokens_per_s" in summary else OUTPUT_RATE
    plan = (
        ("output", "Output", rate, f"{short_number(summary['metrics']['requests_per_s'] or 0)} requests/s"),
        ("ttft_p50", "p50 TTFT", TTFT, _count(summary, "ttft")),
        ("ttft_p99", "p99 TTFT", TTFT, _limit(summary, "ttft_s", TTFT)),
        ("tpot_p50", f"p50 {per_token.label}", per_token, _count(summary, "tpot")),
        ("tpot_p99", f"p99 {per_token.label}", per_token, _limit(summary, "tpot_s", per_token)),
        ("kv_use", "KV use", KV_USE, _held_by_stragglers(summary)),
        ("preemptions", "Preemptions", PREEMPTIONS, _preempted(summary)),
        ("goodput", "Goodput", GOODPUT, _attainment(summary)),
    )
    return [_tile(key, label, quantity, note, summary, pinned) for key, label, quantity, note in plan]


def value_of(key: str, summary: Summary) -> float | None:
    """The number behind a tile, in its stored unit; None where undefined."""
    metrics = summary["metrics"]
    if key == "output":
        return _number(summary.get("plateau_tokens_per_s", metrics["output_tokens_per_s"]))
    if key == "goodput":
        return _number(summary["slo"]["goodput_rps"])
    names = {"kv_use": "kv_util", "preemptions": "preemptions"}
    return _number(metrics[names.get(key, f"{key}_s")])


def _tile(key: str, label: str, quantity: Quantity, note: str, summary: Summary, pinned: Summary | None) -> Tile:
    value = value_of(key, summary)
    shown, unit = (UNDEFINED, "") if value is None else quantity.parts(value)
    if value is None and key.endswith("p99"):
        note = "n < 100"
    if pinned is None:
        return Tile(key, label, shown, unit, note, "note", _help(quantity, summary))
    change, verdict = _change(value, value_of(key, pinned), quantity)
    return Tile(key, label, shown, unit, change, verdict, _help(quantity, summary))


def _help(quantity: Quantity, summary: Summary) -> str:
    """What the number is, and how far the step times behind it are to be trusted."""
    return f"{quantity.definition} Error of the step times behind it: {summary['step_time']['text']}."


def _change(
    value: float | None, pinned: float | None, quantity: Quantity
) -> tuple[str, Literal["better", "worse", "same", "note"]]:
    """Signed difference to the pinned run, and whether it is in the good direction."""
    if value is None or pinned is None:
        return "not comparable", "note"
    difference = value - pinned
    if abs(difference) < SAME * max(abs(value), abs(pinned)) or difference == 0:
        return "as pinned", "same"
    if quantity.unit == "%":
        shown = f"{difference * quantity.scale:+.1f} points"
    elif quantity.unit and pinned > 0:
        shown = relative_change(value, pinned)
    else:  # a count, or from nothing
        shown = _signed(difference * quantity.scale)
    if quantity.higher_is_better is None:
        return shown, "note"
    return shown, "better" if (difference > 0) == quantity.higher_is_better else "worse"


def relative_change(value: float, pinned: float) -> str:
    """A change in percent, or as a factor where percents would be hard to read."""
    ratio = value / pinned
    return f"x {short_number(ratio)}" if ratio >= 3 else f"{ratio - 1:+z.1%}".replace("%", " %")


def _signed(value: float) -> str:
    return ("+" if value > 0 else "-") + short_number(abs(value))


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _count(summary: Summary, name: str) -> str:
    return f"n = {summary['metrics'][f'{name}_count']:,}"


def _limit(summary: Summary, name: str, quantity: Quantity) -> str:
    limit = summary["slo"][name]
    return "no limit set" if limit is None else f"limit {quantity.told(limit)}"


def _held_by_stragglers(summary: Summary) -> str:
    share = summary["metrics"]["straggler_share"]
    return "" if share is None else f"{short_percent(share)} stragglers"


def _preempted(summary: Summary) -> str:
    """Of how many requests, and what became of their KV where it was not thrown away."""
    preempted = summary["metrics"]["preempted_requests"]
    text = counted(preempted, "request")
    swaps, failures = (summary["counters"].get(name, 0) for name in ("swaps", "oom_count"))
    if failures:
        return f"{text}, {failures:,} out of memory"
    return f"{text}, {swaps:,} swapped" if swaps else text


def _attainment(summary: Summary) -> str:
    share = summary["slo"]["attainment"]
    return "no limits set" if share is None else f"{short_percent(share)} in limits"
