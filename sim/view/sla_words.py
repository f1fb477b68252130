"""A service-level target in words and rows: what it assumes, how it fares, what breaks it, and a paragraph to paste."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim.scenario import Scenario
from sim.studies.sla import ASSUMED, Attained, Breaking
from sim.summary import HEAVY_TAIL_RATIO, LONGER
from sim.system_spec import AssumedLengths
from sim.view.number_words import listed, percent_beside, short_percent, short_time
from sim.view.quantity import LIMIT_NAMES


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
            f"No tail breaks it: with one {broken.holds:g} x as long (p99 {_p99(broken.last)} tokens as produced) "
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
        if round(broken.holds, 2) == 0:
            return (
                f"It is broken now; {100 * target:g} % hold only with every answer above the 90th percentile cut to it "
                f"(p99 {_p99(broken.last)} tokens, mean {broken.last.lengths.mean:,.0f})."
            )
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
    limits = listed(
        [f"{LIMIT_NAMES[field]} of at most {short_time(ms / 1000)}" for field, ms in scenario.slo.limits_ms.items()]
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


def _share_within(row: Attained) -> str:
    return "no answer complete" if np.isnan(row.attainment) else f"{short_percent(row.attainment)} within"


def _p99(row: Attained) -> str:
    return f"{row.lengths.quantiles['p99']:,.0f}"
