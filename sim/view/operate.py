"""What an operator can do without knowing lengths, in words and rows: caps and margins."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim.scenario import Scenario
from sim.studies.caps import CapPoint
from sim.studies.margins import Margin, MarginPoint
from sim.view.number_words import counted, short_number, short_percent, short_time
from sim.workload.retries import Retry

NOT_KNOWN = "What a cap costs here cannot be computed."
COMPUTING = "Computing what a cap costs and what the target assumes …"
CLIENTS = {Retry.NEVER: "take it", Retry.REST: "ask for the rest", Retry.AGAIN: "ask again, no cap"}
OVERLOADED = " The queue grows: the server does not keep up with this."

ALIKE = "as many"

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
    base, never, rest = own_point(points), points.get((cap, Retry.NEVER)), points.get((cap, Retry.REST))
    if base is None or never is None:
        return COMPUTING
    if own is not None and own <= cap:
        whose = {
            Retry.NEVER: f" and loses {short_percent(base.tokens_lost)} of all tokens wanted",
            Retry.REST: ", and clients ask for the rest",
            Retry.AGAIN: ", and clients ask again without it",
        }
        return (
            f"A cap of {cap:,} tokens changes nothing: no answer may be longer than {own:,} as it is, which cuts "
            f"{short_percent(base.truncated)} of answers{whose[base.retry]}."
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
    is_alike = _more(rest, base) in (_more(never, base), ALIKE)
    but = "and" if is_alike else "still" if rest.answers_per_s >= base.answers_per_s else "but"
    return f"{sentence}, {but} {_more(rest, base)} if clients ask for the rest."


def own_point(points: Caps) -> CapPoint | None:
    """The scenario's own caps and clients, which every other cap is held against; None while that is not known."""
    return next((point for (cap, _), point in points.items() if cap is None), None)


def cap_sentences(cap: int, points: Caps) -> list[str]:
    """What the cap does with each kind of client, as asked and at full load."""
    base = own_point(points)
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
    """What one control could do for preemptions, and at what price in throughput and in requests within the limits."""
    now = next((each for each in points if each.value == present), None)
    if now is None:
        return ""
    best = min(points, key=lambda each: (each.preempted, -np.nan_to_num(each.attainment), -each.output_tokens_per_s))
    words = f"**{margin.label}** ({margin.protects}): at {present:,g}, {short_percent(now.preempted)} preempted"
    if best.value == present or best.preempted >= now.preempted:
        return f"{words}; no other value does better."
    change = best.output_tokens_per_s / now.output_tokens_per_s - 1 if now.output_tokens_per_s else 0.0
    rate = "as many" if abs(change) < 0.0005 else f"{100 * abs(change):.1f} % {'more' if change > 0 else 'fewer'}"
    words += f"; at {best.value:,g}, {short_percent(best.preempted)}, with {rate} output tokens/s"
    then, before = short_percent(best.attainment), short_percent(now.attainment)
    if then != before:
        words += f" and {then} of requests within the limits instead of {before}"
    return f"{words}."


def _change(point: CapPoint, base: CapPoint) -> str:
    percent = 100 * (point.answers_per_s / base.answers_per_s - 1)
    return f"{percent:+.0f} %" if abs(percent) >= 20 else f"{percent:+.1f} %"


def _more(point: CapPoint, base: CapPoint) -> str:
    """The same in words to be read out loud."""
    ratio, change = point.answers_per_s / base.answers_per_s, _change(point, base)
    if ratio >= 2:
        return f"{short_number(float(f'{ratio:.2g}'))} times as many"
    if change.strip("+-") == "0.0 %":
        return ALIKE
    return f"{change[1:]} {'more' if change[0] == '+' else 'fewer'}"


def _wait(point: CapPoint, base: CapPoint) -> str:
    """How long the slowest wait, with the cap and without."""
    if not point.num_whole:
        return "no answer complete at the rate asked"
    if np.isnan(point.whole_p99_s):
        return f"{counted(point.num_whole, 'whole answer')} at the rate asked, too few for a p99"
    return f"p99 until the last token {short_time(point.whole_p99_s)} ({short_time(base.whole_p99_s)} without the cap)"


def _within(point: CapPoint) -> str:
    return "" if np.isnan(point.attainment) else f", {short_percent(point.attainment)} of requests within the limits"
