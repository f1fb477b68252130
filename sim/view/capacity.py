"""Capacity in words and rows: how many replicas a load needs, at what price, and what would change it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sim.cost import Band, band
from sim.scenario import Scenario
from sim.studies.alternatives import Alternative, beside
from sim.studies.bill import AS_LISTED, Bill, Prices, bill
from sim.studies.capacity import Capacity, combined
from sim.studies.capacity_search import OUT_OF_REACH, Searched
from sim.studies.deployments import named
from sim.studies.rate_search import WIDTH
from sim.view.number_words import UNDEFINED, counted, short_number, short_percent, short_time
from sim.view.quantity import LIMIT_NAMES
from sim.view.summary_rows import count
from sim.view.tiles import Tile, relative_change

SEARCHING = "Searching for the largest rate that one replica sustains …"


class Terms(NamedTuple):
    """What is asked of the service."""

    needed_rps: float  # requests/s of the whole
    headroom: float  # share of each replica kept free
    share: float  # of requests that must be within the limits
    prices: Prices = AS_LISTED  # of the chosen GPU


class Option(NamedTuple):
    """One way to serve the load, with its bill; or why it cannot."""

    name: str
    found: Capacity | None
    bill: Bill | None
    refusal: str = ""

    @property
    def is_rough(self) -> bool:
        """Whether its step times are a datasheet estimate or worse."""
        return self.found is not None and not band(self.found.scenario).is_calibrated


def no_answer(problem: str) -> str:
    """The first line where a search was refused."""
    if problem.startswith(OUT_OF_REACH):
        return "No number of such servers keeps these limits, not even at light load."
    return "How many GPUs a load needs cannot be said of this scenario."


def arrivals_note(scenario: Scenario) -> str:
    """What is done with arrivals that have no rate; empty where they have one."""
    kind = scenario.workload.arrivals.kind
    what = {"closed_loop": "Users of a closed loop", "all_at_once": "Requests that all come at once"}.get(kind)
    return f"{what} have no rate: here the same requests come at random, one independent of the other." if what else ""


def own_option(scenario: Scenario, found: Sequence[Searched], terms: Terms) -> Option | None:
    """The chosen deployment, from the replications searched so far; None before the first."""
    if not found:
        return None
    capacity = combined(scenario, found)
    return Option(named(scenario), capacity, cost_of(capacity, terms, scenario))


def options(own: Option, light: Searched | None, tried: Mapping[str, Alternative], terms: Terms) -> list[Option]:
    """Alternatives with their bills, in the order they were found."""
    if light is None or own.found is None:
        return []
    found: list[Option] = []
    for name, each in tried.items():
        capacity = beside(own.found, light, each)
        if capacity is None:
            found.append(Option(name, None, None, each.refusal))
            continue
        found.append(Option(name, capacity, cost_of(capacity, terms, own.found.scenario)))
    return found


def cost_of(found: Capacity, terms: Terms, chosen: Scenario, load_rps: float | None = None) -> Bill:
    """The bill of one capacity, for the rate needed or another; a price of a GPU counts for the chosen one alone."""
    prices = terms.prices
    if found.scenario.deployment.gpu != chosen.deployment.gpu:
        prices = prices._replace(per_gpu_hour=None)
    return bill(found, load_rps or terms.needed_rps, headroom=terms.headroom, prices=prices)


def verdict(option: Option, terms: Terms) -> str:
    """How many GPUs a load needs and at what price, then what that rests on."""
    assert option.found is not None
    assert option.bill is not None
    found, cost = option.found, option.bill
    replicas = counted(cost.replicas, "replica")
    gpus = f"{cost.gpus:,} {found.scenario.deployment.gpu}{_and_predictor(cost)}"
    free = f", {100 * terms.headroom:g} % of each kept free" if terms.headroom else ""
    return (
        f"{short_number(terms.needed_rps)} requests/s need {replicas} = {gpus}{_price(cost)}: one replica sustains "
        f"{short_number(found.sustained.rate_rps)} requests/s with {100 * terms.share:g} % of requests within the "
        f"limits{free}."
    )


def interval_sentence(option: Option, replications: int) -> str:
    """How sure the answer is, and how far its step times are to be trusted; `replications` are searched in the end."""
    assert option.found is not None
    assert option.bill is not None
    rate, cost = option.found.sustained, option.bill
    searched = len(rate.searches)
    how = f"95 % interval of {searched} replications" if searched > 1 else "bracket of the search"
    if searched < replications:
        how += f", {searched} of {replications} so far"
    fewest, most = cost.fewest_replicas, cost.most_replicas
    span = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return (
        f"A replica sustains {short_number(rate.low_rps)} to {short_number(rate.high_rps)} requests/s ({how}), so "
        f"{span} replica{'s' * (most != 1)}. Trust in step times: {band(option.found.scenario).text}. Replicas share "
        "the load evenly and at random."
    )


def limits_sentence(scenario: Scenario) -> str:
    """The limits that a replica must keep."""
    limits = [f"{LIMIT_NAMES[field]} {short_time(limit / 1000)}" for field, limit in scenario.slo.limits_ms.items()]
    return f"Limits: {', '.join(limits)}."


def tiles(option: Option | None, needed_rps: float) -> list[Tile]:
    """The row of numbers; dashes while the search goes on."""
    found, cost = (None, None) if option is None else (option.found, option.bill)
    rate = None if found is None else found.sustained
    values: tuple[tuple[str, str, str, str, str], ...] = (
        (
            "rate",
            "One replica sustains",
            UNDEFINED if rate is None else short_number(rate.rate_rps),
            "requests/s",
            "Largest arrival rate at which so many requests as asked meet all limits and the queue does not grow: "
            "bisection to 2.5 %, the same random numbers at every rate, mean over the replications.",
        ),
        (
            "replicas",
            "Replicas",
            UNDEFINED if cost is None else f"{cost.replicas:,}",
            "",
            "Rate needed / (rate one replica sustains x (1 - headroom)), rounded up.",
        ),
        (
            "gpus",
            "GPUs",
            UNDEFINED if cost is None else count(cost.all_gpus),
            "",
            "Replicas x GPUs of one, and those of a predictor where the scheduler reads one.",
        ),
        (
            "usd_per_hour",
            "Price an hour",
            _usd(cost and cost.usd_per_hour),
            "",
            "GPUs x price of a GPU-hour; where the scheduler reads a predictor, its retraining too.",
        ),
        (
            "usd_per_million",
            "Price of 1M output tokens",
            _usd(cost and cost.usd_per_million_tokens),
            "",
            "Price an hour / output tokens an hour at the rate needed.",
        ),
    )
    note = {"rate": "" if rate is None else f"{short_number(rate.low_rps)} to {short_number(rate.high_rps)}"}
    note["replicas"] = f"for {short_number(needed_rps)} requests/s"
    note["gpus"] = f"{count(cost.predictor_gpus)} for the predictor" if cost and cost.predictor_gpus else ""
    retraining = cost.retraining_usd_per_hour if cost else 0.0
    note["usd_per_hour"] = f"{_usd(retraining)} for retraining" if retraining else ""
    note["usd_per_million"] = "" if found is None else f"{short_number(found.output_tokens)} tokens an answer"
    return [
        Tile(key, label, value, unit if value != UNDEFINED else "", note.get(key, ""), "note", words)
        for key, label, value, unit, words in values
    ]


def table(options: Sequence[Option]) -> dict[str, list[Any]]:
    """Deployments side by side, cheapest first, as columns; numbers stay numbers, so that the columns sort."""
    there = [(each.name, each.found, each.bill) for each in options if each.found and each.bill]
    there.sort(key=lambda row: (row[2].usd_per_hour is None, row[2].usd_per_hour or 0.0, row[2].all_gpus))
    return {
        "Replica": [name for name, _, _ in there],
        "requests/s": [found.sustained.rate_rps for _, found, _ in there],
        "Replicas": [cost.replicas for _, _, cost in there],
        "GPUs": [cost.all_gpus for _, _, cost in there],
        "$/h": [cost.usd_per_hour and round(cost.usd_per_hour, 2) for _, _, cost in there],
        "$/M tokens": [cost.usd_per_million_tokens and round(cost.usd_per_million_tokens, 3) for _, _, cost in there],
        "Error": [_error(band(found.scenario)) for _, found, _ in there],
    }


def _error(of: Band) -> str:
    """How far off a deployment's times may be, as short as a cell; Trust says why."""
    return "unknown" if of.percent is None else f"±{of.percent:g} %"


def refusals(options: Sequence[Option]) -> list[str]:
    """Deployments that cannot serve this, and why."""
    return [f"**{each.name}**: {each.refusal}" for each in options if each.refusal]


def cheapest(options: Sequence[Option]) -> Option | None:
    """The lowest bill; of equal ones the fewest GPUs."""
    priced = [each for each in options if each.bill is not None and each.bill.usd_per_hour is not None]
    return min(priced, key=lambda each: (each.bill.usd_per_hour, each.bill.all_gpus), default=None)  # type: ignore[union-attr]


def cheapest_sentence(options: Sequence[Option], own: Option) -> str:
    """Whether another deployment would be cheaper."""
    best = cheapest(options)
    if best is None or best.bill is None or own.bill is None or own.bill.usd_per_hour is None:
        return ""
    if best.bill.usd_per_hour == own.bill.usd_per_hour:
        return "None of these is cheaper than the chosen deployment."
    rough = "; its step times are a rough estimate" if best.is_rough else ""
    return f"Cheapest of these: {counted(best.bill.replicas, 'replica')} of {best.name}{_price(best.bill)}{rough}."


def what_if_sentences(base: Option, changed: Sequence[Option], cut_anyway: float = 0.0) -> list[str]:
    """What each change does to rate and bill; `cut_anyway` is the share of answers that are cut without it."""
    return [f"**{each.name[:1].upper()}{each.name[1:]}**: {_changed(base, each, cut_anyway)}" for each in changed]


def _changed(base: Option, other: Option, cut_anyway: float) -> str:
    if other.found is None or other.bill is None or base.found is None or base.bill is None:
        return other.refusal or "being computed."
    rate, before = other.found.sustained.rate_rps, base.found.sustained.rate_rps
    more = other.bill.all_gpus - base.bill.all_gpus
    change = relative_change(rate, before)
    if more and abs(rate / before - 1) <= WIDTH:
        change += ", less than a search can tell"
    words = [f"a replica sustains {short_number(rate)} requests/s ({change})"]
    gpus = f"{gpus_words(abs(more))} {'more' if more > 0 else 'fewer'}" if more else "as many GPUs"
    words.append(gpus + _difference(base.bill, other.bill))
    if other.found.truncated >= cut_anyway + 0.0005:
        words.append(f"{short_percent(other.found.truncated)} of answers are cut")
    return ", ".join(words) + "."


def _difference(before: Bill, after: Bill) -> str:
    if before.usd_per_hour is None or after.usd_per_hour is None or before.usd_per_hour == after.usd_per_hour:
        return ""
    change = after.usd_per_hour - before.usd_per_hour
    return f", {'+' if change > 0 else '-'}{_usd(abs(change))}/h"


def gpus_words(gpus: float) -> str:
    """`1 GPU`, `14.5 GPUs`."""
    return f"{count(gpus)} GPU{'s' * (gpus != 1)}"


def _and_predictor(cost: Bill) -> str:
    return f" and {count(cost.predictor_gpus)} for the predictor" if cost.predictor_gpus else ""


def _price(cost: Bill) -> str:
    return "" if cost.usd_per_hour is None else f", {_usd(cost.usd_per_hour)}/h"


def _usd(amount: float | None) -> str:
    """Dollars, with cents or three digits where they are few."""
    return UNDEFINED if amount is None else f"${dollars(amount)}"


def dollars(amount: float) -> str:
    """An amount without its sign: whole from a thousand on, with cents below, with three digits where it is little."""
    if amount >= 999.995:
        return f"{amount:,.0f}"
    return f"{amount:.2f}" if amount >= 1 or amount == 0 else f"{amount:.3f}"


CELLS: dict[str, Callable[[float], str]] = {  # of the table, which keeps numbers, so that its columns sort
    "requests/s": short_number,
    "Replicas": count,
    "GPUs": count,
    "$/h": dollars,
    "$/M tokens": dollars,
}
