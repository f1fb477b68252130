"""Reasons to read a run with care, as sentences for a banner."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sim.cost import Band

Summary = Mapping[str, Any]


class Banner(NamedTuple):
    """One sentence above the curves."""

    kind: Literal["unstable", "too_short", "uncalibrated", "incomplete"]
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
    if requests["rejected"]:
        found.append(
            Banner(
                "incomplete",
                f"{requests['rejected']:,} of {requests['total']:,} requests were rejected: they could never fit.",
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
    return f"{summary['requests']['total']:,} requests{stable}. Trust in step times: {cost_band.text}."
