"""The one sentence above the numbers: does it work, what limits it, and is it better than the pinned run."""

from collections.abc import Mapping
from typing import Any

from sim.scenario import Scenario
from sim.view.number_words import percent_beside, short_number, short_percent, short_time
from sim.view.tiles import relative_change, value_of

Summary = Mapping[str, Any]

NOTABLE = 0.05  # shares below this are not worth a clause
FULL = 0.85
MEETS = 0.99  # of requests within their limits
MOSTLY = 0.9


def verdict(
    scenario: Scenario, summary: Summary, pinned: Summary | None = None, pinned_name: str = "the pinned run"
) -> str:
    """One sentence on a run.

    Parameters
    ----------
    scenario : Scenario
        The run's.
    summary, pinned : mapping
        `Result.summary()` of the run and of the pinned one.
    pinned_name : str
        What to call the pinned one.
    """
    if nobody := _nobody(summary):
        clauses = [nobody]
    elif scenario.cost.source == "constant" and _is_batch_delivery(summary):
        clauses = [_in_iterations(scenario, summary)]
    else:
        clauses = [f"{_standing(summary)}: {_numbers(summary)}", _given_up(summary), _limiting(summary)]
        clauses.append(_bubble(summary))
    if pinned is not None:
        clauses.append(_against(summary, pinned, pinned_name))
    return "; ".join(clause for clause in clauses if clause) + "."


def _nobody(summary: Summary) -> str:
    """Why no answer was completed, where the server is not to blame for it; empty where one was."""
    requests = summary["requests"]
    if requests["rejected"] == requests["total"]:
        return "Serves nobody: no request fits into the KV memory"
    if summary["flags"]["stopped_early"] and requests["unfinished"] == requests["total"]:
        return "Stopped before the first answer was complete"
    return ""


def _is_batch_delivery(summary: Summary) -> bool:
    return bool(summary["metrics"]["tpot_label"] != "TPOT")


def _in_iterations(scenario: Scenario, summary: Summary) -> str:
    """Latencies of a thought experiment, counted in iterations of constant time T."""
    step_s = scenario.cost.step_ms / 1e3
    metrics = summary["metrics"]
    most, mean = metrics["norm_latency_max_s"] / step_s, metrics["norm_latency_mean_s"] / step_s
    return (
        f"With batch delivery a short answer waits for the longest: E2E per token (what the article calls TPOT) is "
        f"{most:.4g} T for the worst request and {mean:.3g} T on average, where T = {short_time(step_s)} is "
        f"one step; {metrics['padding_waste_slot_steps']:,} slot-steps are padding"
    )


def _standing(summary: Summary) -> str:
    """How the run stands against its limits."""
    share = summary["slo"]["attainment"]
    if summary["flags"]["unstable"]:
        return "Overloaded"
    if summary["requests"]["total"] == 1:
        return "A single request"
    if summary["steady_state"] is None:  # all at once: the wait in the queue is no fault of the server
        return "Saturated"
    if share is None:
        return "Stable"
    if share >= MEETS:
        return f"Meets its limits ({short_percent(share)} of requests)"
    return (
        f"{'Mostly meets' if share >= MOSTLY else 'Misses'} its limits ({percent_beside(share, MOSTLY)} of requests "
        "within)"
    )


def _numbers(summary: Summary) -> str:
    metrics = summary["metrics"]
    p99 = metrics["tpot_p99_s"]
    rate = value_of("output", summary)
    text = f"{short_number(rate)} output tokens/s" if rate is not None else "no output"
    return text if p99 is None else f"{text}, p99 {metrics['tpot_label']} {short_time(p99)}"


def _given_up(summary: Summary) -> str:
    """Clients that did not wait for their answer."""
    share = summary["requests"]["aborted"] / summary["requests"]["total"]
    return f"{short_percent(share)} of clients give up before their answer is complete" if share >= NOTABLE else ""


def _bubble(summary: Summary) -> str:
    """Stages of a pipeline without a batch."""
    time = summary["time_ledger"]
    share = time["rows"]["bubble"] / (time["stages_x_duration"] or 1.0)
    return (
        f"pipeline stages stand empty beside one at work {short_percent(share)} of the time" if share >= NOTABLE else ""
    )


def _limiting(summary: Summary) -> str:
    """What costs most: the largest of the reasons that the ledgers name."""
    whole = summary["memory_ledger"]["blocks_x_duration"] or 1.0
    rows = {name: value / whole for name, value in summary["memory_ledger"]["rows"].items()}
    time = summary["time_ledger"]
    preempted = summary["metrics"]["preempted_requests"] / summary["requests"]["total"]
    recompute = time["rows"]["recompute"] / (time["stages_x_duration"] or 1.0)
    if failures := summary["counters"].get("oom_count"):
        times = "once" if failures == 1 else f"{failures:,} times"
        return (
            f"the server runs out of memory {times}, the whole batch starting again: {short_percent(recompute)} of "
            "the time goes into computing tokens again"
        )
    if preempted >= NOTABLE:
        moved = time["rows"]["swap"] / (time["stages_x_duration"] or 1.0)
        costs = [f"{short_percent(recompute)} of the time goes into computing tokens again"]
        if summary["counters"].get("swaps"):
            costs = [f"{short_percent(moved)} of the time goes into moving KV to host memory and back"] + (
                [f"{short_percent(recompute)} into computing tokens again"] if recompute >= NOTABLE else []
            )
        return f"KV memory runs out: {short_percent(preempted)} of requests are preempted and {', '.join(costs)}"
    reasons = {
        "withheld_cap": "batch limits keep {} of KV memory empty while requests wait",
        "withheld_memory_straggler": "{} of KV memory lies idle because stragglers hold the rest",
        "withheld_memory_other": "KV memory is full: {} is free but too little for the next request",
        "withheld_margin": "admission keeps {} of KV memory empty while requests wait, as a margin",
        "withheld_batch": "{} of KV memory waits for the batch to end",
        "finished_held": "{} of KV memory is held by answers that are ready",
        "reserved_unused": "{} of KV memory is reserved and never used",
    }
    row = max(reasons, key=lambda name: rows[name])
    if rows[row] >= NOTABLE:
        return reasons[row].format(short_percent(rows[row]))
    used = rows["held_typical"] + rows["held_straggler"]
    if used >= FULL:
        return f"KV memory is full, {short_percent(used)} of it in use"
    share = summary["slo"]["attainment"]
    if rows["free_no_demand"] + rows["cached_prefix"] >= NOTABLE and (share is None or share >= MEETS):
        return f"it could take more: {short_percent(used)} of KV memory is in use"
    return f"{short_percent(used)} of KV memory is in use"


def _against(summary: Summary, pinned: Summary, name: str) -> str:
    """Throughput and tail latency against the pinned run."""
    changes = [
        f"{words} {_change(now, before)}"
        for key, words in (("output", "output"), ("tpot_p99", f"p99 {_short_label(summary)}"))
        if (now := value_of(key, summary)) is not None and (before := value_of(key, pinned))
    ]
    return f"against {name}, {', '.join(changes)}" if changes else f"{name} is not comparable"


def _short_label(summary: Summary) -> str:
    return "E2E per token" if _is_batch_delivery(summary) else "TPOT"


def _change(now: float, before: float) -> str:
    return "unchanged" if abs(now / before - 1) < 5e-4 else relative_change(now, before)
