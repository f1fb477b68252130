"""The words and tables of the page Length tail, computed from runs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sim.ledger import PATHS
from sim.scenario import Scenario
from sim.studies.counterfactuals import (
    MAX_REQUESTS,
    WORLDS,
    Found,
    Gain,
    Impossible,
    Point,
    World,
    gain,
    is_offered,
)
from sim.studies.length_profile import Profile
from sim.studies.saturated import by_arrival
from sim.view.number_words import short_number, short_percent
from sim.view.paths import NO_PATH, PATH_STYLE, memory_steps, time_steps

Summary = Mapping[str, Any]

MASTER = World.NO_VARIANCE
MISSING = "-"
TELLS_NOTHING = 10.0  # an interval that reaches to so many times the mean
UNSETTLED = "unsettled"
SHOWN = ("p50", "p95", "p99", "max")  # quantiles of the table
BACKLOG_NOTE = "<br>(from as asked)"
COLUMNS = {  # title of the column: operating point and field of Measured
    "tokens/s, saturated": (Point.SATURATED, "output_tokens_per_s"),
    "p99 {}, saturated": (Point.SATURATED, "tpot_p99_s"),
    "tokens/s, as asked": (Point.AS_ASKED, "output_tokens_per_s"),
    "p99 {}, as asked": (Point.AS_ASKED, "tpot_p99_s"),
    "p99 TTFT, as asked": (Point.AS_ASKED, "ttft_p99_s"),
    "goodput, as asked": (Point.AS_ASKED, "goodput_rps"),
}


class GainRow(NamedTuple):
    """One counterfactual, as it is drawn."""

    world: World
    label: str
    rate: Gain | None  # saturated; of the backlog: saturated against as asked
    tpot_p99: Gain | None  # as asked


def gain_rows(scenario: Scenario, found: Found) -> list[GainRow]:
    """Counterfactuals that the scenario can have, the master run first."""
    return [
        GainRow(
            world,
            world.value + (BACKLOG_NOTE if world is World.BACKLOG else ""),
            gain(found, world, _rate_point(world), "output_tokens_per_s"),
            gain(found, world, Point.AS_ASKED, "tpot_p99_s"),
        )
        for world in WORLDS
        if is_offered(world, scenario)
    ]


def _rate_point(world: World) -> Point:
    """Where throughput can differ at all: a backlog is the step from as asked to saturated itself."""
    return Point.AS_ASKED if world is World.BACKLOG else Point.SATURATED


def gain_table(scenario: Scenario, found: Found, per_token: str) -> dict[str, list[str]]:
    """Change against the run as it is, by counterfactual: the mean and the interval of the replications.

    Returns
    -------
    dict
        Column title to one text a counterfactual.
    """
    worlds = [world for world in WORLDS if is_offered(world, scenario)]
    columns = {
        title.format(per_token): [change(gain(found, world, *where)) for world in worlds]
        for title, where in COLUMNS.items()
    }
    return {"Counterfactual": [world.value for world in worlds]} | columns


def change(found: Gain | None) -> str:
    """A gain with its interval, in percent."""
    if found is None:
        return MISSING
    if found.replications == 1:
        return signed_percent(found.mean)
    if 1 + found.high > TELLS_NOTHING * (1 + found.mean):
        return f"{signed_percent(found.mean)} ({UNSETTLED})"
    return f"{signed_percent(found.mean)} ({signed_percent(found.low)} to {signed_percent(found.high)})"


def signed_percent(change: float) -> str:
    """A change in percent without its unit: to a tenth, from 100 on whole, and no sign where it shows as none."""
    percent = 100 * change
    if abs(percent) < 0.05:
        return "0.0"
    return f"{percent:+,.0f}" if abs(percent) >= 100 else f"{percent:+.1f}"


def impossible(found: Found) -> list[str]:
    """Counterfactuals that could not be run, each with its reason."""
    reasons = {cell.world: each.reason for cell, each in found.items() if isinstance(each, Impossible)}
    return [f"{world.value} is not possible here: {reason}." for world, reason in reasons.items()]


def how_compared(scenario: Scenario) -> str:
    """What to know about the runs of the study."""
    is_replay = scenario.workload.trace_file is not None
    parts = ["Every run replays the whole trace" if is_replay else f"Every run has at most {MAX_REQUESTS:,} requests"]
    if scenario.scheduler.async_scheduling:
        parts.append("all are scheduled synchronously")
    if by_arrival(scenario) != scenario:  # some kinds of answers go first
        parts.append("saturated rates are of the whole run")
    return ", ".join(parts) + "."


def verdict(summary: Summary, found: Found, own: Sequence[Profile], *, is_known: bool) -> str:
    """One sentence: the whole price of length variance, and what the longest answers hold.

    Parameters
    ----------
    summary : mapping
        `Result.summary()` of the run on screen.
    found : mapping
        Runs of the study so far.
    own : sequence of Profile
        Lengths of all answers, then of each task type where there are several.
    is_known : bool
        Whether the master run and the one as it is are all among them.
    """
    tail = f"p99/mean {own[0].tail_ratio:.3g}, CV {own[0].cv:.3g}"
    held = straggler_sentence(summary).removesuffix(".")
    if not is_known:
        return f"Output lengths vary ({tail}): the price of that is being computed; {held[0].lower()}{held[1:]}."
    return f"{_price(summary, found, of_types=len(own) > 1)} ({tail}); {held[0].lower()}{held[1:]}."


def _price(summary: Summary, found: Found, *, of_types: bool) -> str:
    rate = gain(found, MASTER, Point.SATURATED, "output_tokens_per_s")
    latency = gain(found, MASTER, Point.AS_ASKED, "tpot_p99_s")
    name = "TPOT" if summary["metrics"]["tpot_label"] == "TPOT" else "E2E per token"
    clauses = [
        f"{what} {_effect(each, *words)}"
        for each, what, words in (
            (rate, "saturated throughput", ("higher", "lower")),
            (latency, f"p99 {name} as asked", ("longer", "shorter")),
        )
        if each is not None
    ]
    if not clauses:
        return "Too few requests to say what length variance costs"
    return f"Without length variance{' inside each task type' * of_types}: {', '.join(clauses)}"


def _effect(found: Gain, more: str, less: str) -> str:
    """A change in words; none where the interval holds zero."""
    if found.low <= 0 <= found.high or not round(100 * found.mean):
        return "about the same"
    ends = sorted(abs(100 * end) for end in (found.low, found.high))
    interval = "" if found.replications == 1 else f" ({ends[0]:.0f} to {ends[1]:.0f})"
    return f"{abs(100 * found.mean):.0f} %{interval} {more if found.mean > 0 else less}"


def straggler_sentence(summary: Summary) -> str:
    """How much KV memory the longest answers hold."""
    rows, whole = summary["memory_ledger"]["rows"], summary["memory_ledger"]["blocks_x_duration"]
    longest = 100 * (1 - summary["scenario"]["tail_quantile"])
    held = rows["held_straggler"]
    used = held + rows["held_typical"]
    if not whole or not used:
        return "No answer holds KV memory."
    if not held:
        return f"No answer longer than {100 - longest:.3g} % of all holds KV memory."
    return (
        f"The longest {longest:.3g} % of answers hold {short_percent(held / whole)} of KV block-time, "
        f"{short_percent(held / used)} of what all answers hold."
    )


def path_sentences(summary: Summary) -> list[str]:
    """What each path took of memory and of time, never one number."""
    sentences = []
    for name in PATHS:
        percent = summary["paths"][name]
        memory, time = percent["memory_percent"], percent["time_percent"]
        parts = [f"{memory:.1f} % of KV block-time"] if memory is not None else []
        parts += [f"{time:.1f} % of the time"] if time is not None else []
        style = PATH_STYLE[name]
        sentences.append(f"**{style.label}**: {' and '.join(parts)}; {style.definition}.")
    steps = {"KV memory": memory_steps(summary), "time": time_steps(summary)}
    rest = [f"of {what} {each.definition}" for what, found in steps.items() for each in found if each.label == NO_PATH]
    return [*sentences, f"**{NO_PATH}**: {'; '.join(rest)}."]


def profile_table(own: Sequence[Profile], real: Sequence[Profile]) -> dict[str, list[Any]]:
    """Lengths in numbers, the scenario's first: column title to one value a row."""
    rows = [*own, *real]
    return {
        "Output lengths": [row.name for row in rows],
        "p99/mean": [round(row.tail_ratio, 2) for row in rows],
        "CV": [round(row.cv, 2) for row in rows],
        "mean": [round(row.mean) for row in rows],
        **{name: [round(row.quantiles[name]) for row in rows] for name in SHOWN},
    }


def likeness(own: Profile, real: Sequence[Profile]) -> str:
    """Which real data set has the most similar tail, and how many have a heavier one."""
    nearest = min(real, key=lambda profile: abs(profile.tail_ratio - own.tail_ratio))
    heavier = sum(profile.tail_ratio > own.tail_ratio for profile in real)
    have = "has" if heavier == 1 else "have"
    return (
        f"p99/mean {own.tail_ratio:.3g}, nearest to {nearest.name} ({nearest.tail_ratio:.3g}); "
        f"{heavier} of {len(real)} real data sets {have} a heavier tail. p99 {short_number(own.quantiles['p99'])}, "
        f"mean {short_number(own.mean)} tokens, CV {own.cv:.3g}."
    )
