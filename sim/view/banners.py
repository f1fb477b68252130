"""Reasons to read a run with care, as sentences for a banner."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sim.cost import Band

Summary = Mapping[str, Any]


class Banner(NamedTuple):
    """One sentence above the curves."""

    kind: Literal["unstable", "out_of_memory", "too_short", "uncalibrated", "incomplete"]
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
    flags, requests = summary["flags"], summary["requests"]
    found = []
    if flags["unstable"]:
        found.append(
            Banner(
                "unstable",
                f"Unstable: the queue grows by {flags['waiting_growth']:,.0f} requests in the second half of the "
                "arrivals; TTFT, E2E and goodput depend on the run's length. Lower the rate or look at saturated.",
            )
        )
    if failures := summary["counters"].get("oom_count"):
        lost = summary["time_ledger"]["rows"]["recompute"]
        found.append(
            Banner(
                "out_of_memory",
                f"Out of memory: {failures:,} {'time' if failures == 1 else 'times'} the whole batch died and started "
                f"again; {lost:,.1f} s of GPU time went into computing tokens again.",
            )
        )
    if requests["rejected"]:
        found.append(
            Banner(
                "incomplete",
                f"{requests['rejected']:,} of {requests['total']:,} requests were rejected: they could never fit.",
            )
        )
    if requests["aborted"]:
        found.append(
            Banner(
                "incomplete",
                f"{requests['aborted']:,} of {requests['total']:,} clients gave up after "
                f"{summary['scenario']['workload']['client_timeout_s']:g} s; they count against attainment, and "
                "latencies are of the others.",
            )
        )
    if flags["stopped_early"]:
        found.append(
            Banner(
                "incomplete",
                f"{requests['unfinished']:,} of {requests['total']:,} requests were unfinished when the run stopped.",
            )
        )
    if flags["too_short"]:
        found.append(
            Banner(
                "too_short",
                f"Too short: with {requests['total']:,} requests most of the run is filling up and running empty. "
                "Raise the number of requests for steady numbers.",
            )
        )
    if not cost_band.is_calibrated:
        found.append(
            Banner("uncalibrated", f"Uncalibrated: {cost_band.text}. Trust differences more than absolute numbers.")
        )
    return found


def all_clear(summary: Summary, cost_band: Band) -> str:
    """What to know about a run that needs no warning: its size and how far its step times are to be trusted."""
    stable = ", stable" if summary["flags"]["unstable"] is False else ""
    promotions = summary["counters"].get("promotions")
    promoted = f" {promotions:,} promotions of requests that starved." if promotions else ""
    retries = summary["requests"].get("retries")
    retried = f", {retries:,} of them sent after a cut answer" if retries else ""
    return (
        f"{summary['requests']['total']:,} requests{retried}{stable}.{promoted} Trust in step times: {cost_band.text}."
    )
