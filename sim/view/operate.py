"""What an operator can do without knowing lengths, in words and rows: caps, margins, routing, targets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim.scenario import Scenario
from sim.studies.caps import CapPoint
from sim.studies.margins import Margin, MarginPoint
from sim.studies.routing import Split
from sim.studies.sla import ASSUMED, Attained, Breaking
from sim.summary import HEAVY_TAIL_RATIO, LONGER
from sim.system_spec import AssumedLengths
from sim.view.quantity import LIMIT_NAMES
from sim.view.theme import percent_beside, short_number, short_percent, short_time
from sim.workload.retries import Retry

NOT_KNOWN = "What a cap costs here cannot be computed."
COMPUTING = "Computing what a cap costs and what the target assumes …"
CLIENTS = {Retry.NEVER: "take it", Retry.REST: "ask for the rest", Retry.AGAIN: "ask again, no cap"}
OVERLOADED = " The queue grows: the server does not keep up with this."

Caps = Mapping[tuple[int | None, Retry], CapPoint]


def own_cap(scenario: Scenario) -> int | None:
    """The longest answer that any task type allows; None where one has no cap."""
    caps = [task.cap for task in scenario.workload.types]
    return None if None in caps else max(each for each in caps if each is not None)


def verdict(cap: int, points: Caps, own: int | None = None) -> str:
    """What a cap costs, in one sentence; what is being done while that is not known.

    Parameters
    ----------
    cap : int
        Tokens.
    points : mapping
        Runs so far.
    own : int, optional
        As of `own_cap`.
    """
    known = {retry: points.get((cap, retry)) for retry in Retry}
    base, never, rest = points.get((None, Retry.NEVER)), known[Retry.NEVER], known[Retry.REST]
    if base is None or never is None:
        return COMPUTING
    if own is not None and own <= cap:
        return (
            f"A cap of {cap:,} tokens changes nothing: no answer may be longer than {own:,} as it is, which cuts "
            f"{short_percent(never.truncated)} of answers and loses {short_percent(never.tokens_lost)} of all tokens "
            "wanted."
        )
    sentence = (
        f"A cap of {cap:,} tokens cuts {short_percent(never.truncated)} of answers and loses "
        f"{short_percent(never.tokens_lost)} of all tokens wanted; a full server "
    )
    if not base.answers_per_s > 0:
        return f"{sentence}completes no answer, with or without it."
    sentence += f"then gives {_more(never, base)} answers/s"
    if rest is None or not never.truncated:
        return f"{sentence}."
    alike = _more(never, base) == _more(rest, base)
    but = "and" if alike else "still" if rest.answers_per_s >= base.answers_per_s else "but"
    return f"{sentence}, {but} {_more(rest, base)} if clients ask for the rest."


def cap_sentences(cap: int, points: Caps) -> list[str]:
    """What the cap does with each kind of client, as asked and at full load."""
    base = points.get((None, Retry.NEVER))
    found = []
    for retry, words in CLIENTS.items():
        point = points.get((cap, retry))
        if point is None or base is None:
            continue
        if not base.answers_per_s > 0:
            found.append(f"**Clients {words}**: a full server completes no answer, with or without the cap.")
            continue
        more = "" if retry is Retry.NEVER else f"{short_number(point.requests_per_question)} requests a question, "
        found.append(
            f"**Clients {words}**: {short_number(point.answers_per_s)} answers/s at full load "
            f"({_change(point, base)}), {more}{_wait(point, base)}{_within(point)}."
            f"{OVERLOADED if point.is_overloaded else ''}"
        )
    return found


def type_table(cap: int, points: Caps) -> dict[str, list[Any]]:
    """What the cap takes from each task type."""
    point = points.get((cap, Retry.NEVER))
    rows = [] if point is None else list(point.types)
    return {
        "Type": [row.name for row in rows],
        "answers cut": [short_percent(row.truncated) for row in rows],
        "tokens lost": [short_percent(row.tokens_lost) for row in rows],
    }


def margin_sentence(margin: Margin, points: Sequence[MarginPoint], present: float) -> str:
    """What one control could do for preemptions, and at what price in throughput."""
    now = next((each for each in points if each.value == present), None)
    if now is None:
        return ""
    best = min(points, key=lambda each: (each.preempted, -each.output_tokens_per_s))
    words = f"**{margin.label}** ({margin.protects}): at {present:,g}, {short_percent(now.preempted)} preempted"
    if best.value == present or best.preempted >= now.preempted:
        return f"{words}; no other value does better."
    change = best.output_tokens_per_s / now.output_tokens_per_s - 1 if now.output_tokens_per_s else 0.0
    rate = "as many" if abs(change) < 0.0005 else f"{100 * abs(change):.1f} % {'more' if change > 0 else 'fewer'}"
    return f"{words}; at {best.value:,g}, {short_percent(best.preempted)}, with {rate} output tokens/s."


def routing_sentence(one: Split, parted: Sequence[tuple[tuple[int, ...], Split]]) -> str:
    """Whether parting the types helps, with the best of the splits tried."""
    dealt, best = max(parted, key=lambda each: _rank(each[1]))
    pool = one.pools[0]
    names = ", ".join(f"{count} for {each.name}" for count, each in zip(dealt, best.pools, strict=True))
    spreads = ", ".join(f"{each.output_cv:.2f} ({each.name})" for each in best.pools)
    if np.isnan(one.attainment):
        return f"CV of output lengths {pool.output_cv:.2f} in one pool; apart {spreads}."
    is_better = _rank(best) > _rank(one)
    which = "Parting the types helps" if is_better else "One pool is better than any split tried"
    return (
        f"{which}: {short_percent(best.attainment)} of requests within the limits with {names}, "
        f"{short_percent(one.attainment)} in one pool.{_worst_off(best, one)} CV of output lengths "
        f"{pool.output_cv:.2f} in one pool; apart {spreads}."
    )


def _worst_off(parted: Split, one: Split) -> str:
    """The pool that pays for the others, if any is worse off than all were together."""
    worst = min(parted.pools, key=lambda each: each.attainment)
    if worst.attainment >= one.attainment:
        return ""
    grows = "; its queue grows" if worst.is_unstable else ""
    return f" Worst off is {worst.name}: {short_percent(worst.attainment)} within{grows}."


def routing_table(one: Split, parted: Sequence[tuple[tuple[int, ...], Split]]) -> dict[str, list[Any]]:
    """One pool, then the pools of the best split."""
    _, best = max(parted, key=lambda each: _rank(each[1]))
    rows = [*one.pools, *best.pools]
    return {
        "Pool": [pool.name for pool in rows],
        "Replicas": [pool.replicas for pool in rows],
        "requests/s": [round(pool.rate_rps, 2) for pool in rows],
        "p99 TPOT": [short_time(pool.tpot_p99_s) for pool in rows],
        "p99 TTFT": [short_time(pool.ttft_p99_s) for pool in rows],
        "within": [short_percent(pool.attainment) for pool in rows],
        "preempted": [short_percent(pool.preempted) for pool in rows],
    }


def sla_table(rows: Sequence[Attained]) -> dict[str, list[Any]]:
    """The target under each distribution of lengths."""
    columns: dict[str, list[Any]] = {
        "Lengths": [row.name for row in rows],
        "mean": [round(row.lengths.mean) for row in rows],
        "p50": [round(row.lengths.quantiles["p50"]) for row in rows],
        "p99": [round(row.lengths.quantiles["p99"]) for row in rows],
        "p99/mean": [round(row.lengths.tail_ratio, 1) for row in rows],
        "within": [short_percent(row.attainment) for row in rows],
    }
    for field in rows[0].within if rows else ():
        columns[LIMIT_NAMES[field]] = [short_percent(row.within[field]) for row in rows]
    return columns


def sla_warnings(scenario: Scenario, rows: Sequence[Attained]) -> list[str]:
    """Why the lengths make the target doubtful: metrics.md, section 7."""
    now = next((row for row in rows if row.name != ASSUMED), None)
    if now is None:
        return []
    found = []
    if "heavy_tail" in now.warnings:
        found.append(
            f"p99/mean of the answers is {now.lengths.tail_ratio:.1f}, {HEAVY_TAIL_RATIO:g} or more: means say little, "
            "and a few answers hold much of the memory."
        )
    assumed = scenario.slo.assumed
    if "longer_than_assumed" in now.warnings and assumed is not None and assumed.p99 is not None:
        found.append(
            f"p99 of the answers is {now.lengths.quantiles['p99']:,.0f} tokens, more than {short_percent(LONGER - 1)} "
            f"above the {assumed.p99:,.0f} that the target assumes."
        )
    return found


def breaking_sentence(broken: Breaking, target: float) -> str:
    """Which distribution of answers would break the target."""
    ran = [each for each in (broken.at, broken.last) if each is not None]
    if any(np.isnan(each.attainment) for each in ran):
        return "What would break it is not known: no answer was complete when the run stopped."
    if broken.factor is None:
        assert broken.last is not None
        return (
            f"No tail breaks it: with one {broken.holds:g} x as long (p99 {_p99(broken.last)} tokens under the cap) "
            f"{short_percent(broken.last.attainment)} are still within the limits."
        )
    assert broken.at is not None
    if broken.holds is None:
        return (
            f"The tail is not what breaks it: with every answer above the 90th percentile cut to it, "
            f"{percent_beside(broken.at.attainment, target)} are within the limits."
        )
    where = (
        f"p99 {_p99(broken.at)} tokens, mean {broken.at.lengths.mean:,.0f}, p99/mean {broken.at.lengths.tail_ratio:.1f}"
    )
    if broken.holds < 1:
        assert broken.last is not None
        return (
            f"It is broken now; {100 * target:g} % hold up to a tail {broken.holds:.2f} x as long "
            f"(p99 {_p99(broken.last)} tokens, mean {broken.last.lengths.mean:,.0f})."
        )
    return (
        f"A tail {broken.factor:.2f} x as long breaks it ({where}): {percent_beside(broken.at.attainment, target)} are "
        "within."
    )


def paragraph(scenario: Scenario, target: float, rows: Mapping[str, Attained], broken: Breaking | None) -> str:
    """The target with what it assumes, ready to paste into a document."""
    limits = " and ".join(
        f"{LIMIT_NAMES[field]} of at most {short_time(limit / 1000)}" for field, limit in scenario.slo.limits_ms.items()
    )
    article, deployment = "an" if limits.startswith("E") else "a", scenario.deployment
    server = f"{deployment.named_gpus} with {deployment.model}"
    parts = [f"Target: {100 * target:g} % of requests have {article} {limits}, on {server}."]
    if scenario.slo.assumed is not None:
        parts.append(f"It assumes output lengths of {_figures(scenario.slo.assumed)} tokens.")
    else:
        parts.append("It states no assumption on output lengths.")
    for row in rows.values():
        unstable = "; the queue grows" if row.is_unstable else ""
        parts.append(
            f"{row.name[:1].upper()}{row.name[1:]} (mean {row.lengths.mean:,.0f}, p99 {_p99(row)} tokens, p99/mean "
            f"{row.lengths.tail_ratio:.1f}): {_share_within(row)}{unstable}."
        )
    if broken is not None:
        parts.append(breaking_sentence(broken, target))
    parts.append("Simulated with Longtail.")
    return " ".join(parts)


def assumption_sentence(scenario: Scenario, rows: Mapping[str, Attained]) -> str:
    """What the target assumes, and how it fares then and now."""
    assumed = scenario.slo.assumed
    if assumed is None:
        return "The target states no assumption on output lengths: nobody can say when it stops holding."
    said = f"The target assumes answers of {_figures(assumed)} tokens"
    then = rows.get(ASSUMED)
    if then is None or np.isnan(then.attainment):
        return f"{said}."
    return f"{said}; with those {short_percent(then.attainment)} are within the limits."


def _figures(assumed: AssumedLengths) -> str:
    """The figures that a target gives, such as `mean 300, p99 1,200`."""
    given = assumed.model_dump(exclude_none=True)
    return ", ".join(f"{name} {value:,.0f}" for name, value in given.items())


def _change(point: CapPoint, base: CapPoint) -> str:
    percent = 100 * (point.answers_per_s / base.answers_per_s - 1)
    return f"{percent:+.0f} %" if abs(percent) >= 20 else f"{percent:+.1f} %"


def _more(point: CapPoint, base: CapPoint) -> str:
    """The same in words to be read out loud."""
    ratio, change = point.answers_per_s / base.answers_per_s, _change(point, base)
    if ratio >= 2:
        return f"{short_number(float(f'{ratio:.2g}'))} times as many"
    if change.strip("+-") == "0.0 %":
        return "as many"
    return f"{change[1:]} {'more' if change[0] == '+' else 'fewer'}"


def _wait(point: CapPoint, base: CapPoint) -> str:
    """How long the slowest wait, with the cap and without."""
    if np.isnan(point.whole_p99_s):
        return "no answer complete at the rate asked"
    return f"p99 until the last token {short_time(point.whole_p99_s)} ({short_time(base.whole_p99_s)} without the cap)"


def _within(point: CapPoint) -> str:
    return "" if np.isnan(point.attainment) else f", {short_percent(point.attainment)} of requests within the limits"


def _share_within(row: Attained) -> str:
    return "no answer complete" if np.isnan(row.attainment) else f"{short_percent(row.attainment)} within"


def _rank(split: Split) -> tuple[float, float]:
    """Better splits are larger: attainment, then the worst p99 TPOT."""
    tpot = max(pool.tpot_p99_s if np.isfinite(pool.tpot_p99_s) else np.inf for pool in split.pools)
    return (-1.0 if np.isnan(split.attainment) else split.attainment), -tpot


def _p99(row: Attained) -> str:
    return f"{row.lengths.quantiles['p99']:,.0f}"
