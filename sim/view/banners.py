"""Reasons to read a run with care, as sentences for a banner."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sim.cost import Band
from sim.view.number_words import counted

Summary = Mapping[str, Any]
Kind = Literal["unstable", "out_of_memory", "too_short", "uncalibrated", "incomplete"]


class Banner(NamedTuple):
    """One sentence above the curves."""

    kind: Kind
    text: str


def banners(summary: Summary, cost_band: Band) -> list[Banner]:
    """Banners of a run, most serious first.

    Parameters
    ----------
    summary : mapping
        `Result.summary()`.
    cost_band : Band
        How far the step times are to be trusted.
    """
    told: tuple[tuple[Kind, str], ...] = (
        ("unstable", _growing_queue(summary)),
        ("out_of_memory", _batches_that_died(summary)),
        ("incomplete", _rejected(summary)),
        ("incomplete", _given_up(summary)),
        ("incomplete", _unfinished(summary)),
        ("too_short", _too_short(summary)),
        ("uncalibrated", _uncalibrated(cost_band)),
    )
    return [Banner(kind, text) for kind, text in told if text]


def all_clear(summary: Summary, cost_band: Band) -> str:
    """What to know about a run that needs no warning: its size and how far its step times are to be trusted."""
    stable = ", stable" if summary["flags"]["unstable"] is False else ""
    promotions = summary["counters"].get("promotions")
    promoted = f" {promotions:,} promotions of requests that starved." if promotions else ""
    retries = summary["requests"].get("retries")
    retried = f", {retries:,} of them sent after a cut answer" if retries else ""
    total = counted(summary["requests"]["total"], "request")
    return f"{total}{retried}{stable}.{promoted} Trust in step times: {cost_band.text}."


def _growing_queue(summary: Summary) -> str:
    flags = summary["flags"]
    if not flags["unstable"]:
        return ""
    grows = f"grows by {flags['waiting_growth']:,.0f} requests"
    if flags["waiting_growth"] <= max(flags["waiting_noise"], 1.0):  # few wait, but those with long answers
        grows = f"grows by the work of {flags['waiting_work_growth']:,.0f} average requests"
    return (
        f"Unstable: the queue {grows} in the second half of the arrivals; "
        "TTFT, E2E and goodput depend on the run's length. Lower the rate or look at saturated."
    )


def _batches_that_died(summary: Summary) -> str:
    failures = summary["counters"].get("oom_count")
    if not failures:
        return ""
    lost_s = summary["time_ledger"]["rows"]["recompute"]
    return (
        f"Out of memory: {failures:,} {'time' if failures == 1 else 'times'} the whole batch died and started again; "
        f"{lost_s:,.1f} s of GPU time went into computing tokens again."
    )


def _rejected(summary: Summary) -> str:
    requests = summary["requests"]
    if not requests["rejected"]:
        return ""
    return f"{requests['rejected']:,} of {requests['total']:,} requests were rejected: they could never fit."


def _given_up(summary: Summary) -> str:
    requests = summary["requests"]
    if not requests["aborted"]:
        return ""
    patience_s = summary["scenario"]["workload"]["client_timeout_s"]
    return (
        f"{requests['aborted']:,} of {requests['total']:,} clients gave up after {patience_s:g} s; they count against "
        "attainment, and latencies are of the others."
    )


def _unfinished(summary: Summary) -> str:
    requests = summary["requests"]
    if not summary["flags"]["stopped_early"]:
        return ""
    return f"{requests['unfinished']:,} of {requests['total']:,} requests were unfinished when the run stopped."


def _too_short(summary: Summary) -> str:
    if not summary["flags"]["too_short"]:
        return ""
    requests, steady = summary["requests"]["total"], summary["steady_state"]
    period_s = summary["scenario"]["workload"]["arrivals"].get("period_s", 0.0)
    if steady is not None and steady["end_s"] < period_s:
        return (
            f"Too short: {requests:,} requests come within {steady['end_s']:,.0f} s, less than a period of arrivals "
            f"({period_s:,.0f} s), so the average rate is not reached. Raise the number of requests."
        )
    return (
        f"Too short: with {requests:,} requests most of the run is filling up and running empty. "
        "Raise the number of requests for steady numbers."
    )


def _uncalibrated(cost_band: Band) -> str:
    if cost_band.is_calibrated:
        return ""
    return f"Uncalibrated: {cost_band.text}. Trust differences more than absolute numbers."
