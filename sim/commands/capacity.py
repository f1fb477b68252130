"""`longtail capacity`: what one replica sustains, what a load costs, and what else it could run on."""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sim import Scenario, Trace, with_values
from sim.commands.run import check_writable, find_scenario, with_trace
from sim.commands.summary_text import aligned
from sim.cost import band
from sim.errors import ScenarioError
from sim.progress import compile_kernels, note, progress_bar, say
from sim.studies.alternatives import beside, light_search, tried, what_ifs
from sim.studies.bill import Bill, Prices, bill, price_of
from sim.studies.capacity import Capacity, capacity
from sim.studies.deployments import fitting, named
from sim.studies.load_curve import is_closed, load_of, with_rate
from sim.summary import versions
from sim.view.capacity import arrivals_note
from sim.view.number_words import counted
from sim.view.summary_rows import count, number

Row = dict[str, Any]


def main(arguments: argparse.Namespace) -> int:
    """Search, then print or write the figures."""
    check_writable(arguments.json)  # not after the work
    scenario = with_values(find_scenario(arguments.scenario), dict(arguments.values))
    scenario, trace = with_trace(scenario, arguments.trace, dict(arguments.values))
    needed_rps = arguments.rate or own_rate(scenario, trace)
    if told := arrivals_note(scenario):
        note(told)
    asked = with_rate(scenario)
    compile_kernels(asked)
    with progress_bar("searching") as show:
        base = capacity(asked, trace, share=arguments.attainment, on_progress=lambda done: show(done / 2))
        found = report(base, needed_rps, arguments, trace, lambda done: show(0.5 + done / 2))
    found["scenario"] = scenario.model_dump(mode="json")
    text = json.dumps(found, indent=2, allow_nan=False)
    say(text if arguments.json == "-" else as_text(found))
    if arguments.json not in (None, "-"):
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    return 0


def own_rate(scenario: Scenario, trace: Trace | None) -> float:
    """Requests/s that the scenario asks for.

    Raises
    ------
    ScenarioError
        Its arrivals have no rate.
    """
    load = None if is_closed(scenario) else load_of(scenario, trace)
    if load is None:
        kind = scenario.workload.arrivals.kind
        raise ScenarioError(f"workload.arrivals.kind is '{kind}', which has no rate; --rate is needed")
    return load


def report(
    base: Capacity,
    needed_rps: float,
    arguments: argparse.Namespace,
    trace: Trace | None,
    on_progress: Callable[[float], None],
) -> Row:
    """Everything that was found, as JSON can hold it."""
    scenario = base.scenario
    prices = Prices(retraining_usd_per_month=arguments.retraining)

    def priced(found: Capacity) -> Bill:
        return bill(found, needed_rps, headroom=arguments.headroom, prices=prices)

    changed = what_ifs(scenario, trace, cap=arguments.cap, factor=arguments.tail)
    others = fitting(scenario, arguments.gpus)[1:]
    names = [each.name for each in changed] + [named(each) for each in others]
    asked = [*(each[1:] for each in changed), *((each, trace, None) for each in others)]
    light = light_search(scenario, trace, arguments.attainment)
    rows: list[Row] = []
    for name, (other, its_trace, without) in zip(names, asked, strict=True):
        alternative = tried(other, its_trace, arguments.attainment, without)
        found = beside(base, light, alternative)
        if found is None:
            note(f"{name}: {alternative.refusal}")
            rows.append({"name": name, "refused": alternative.refusal})
        else:
            rows.append(row_of(name, found, priced(found)))
        on_progress(len(rows) / len(asked))
    return {
        "versions": versions(),
        "asked": {
            "rate_rps": needed_rps,
            "headroom": arguments.headroom,
            "attainment": arguments.attainment,
            "price_per_gpu_hour": price_of(scenario),
            "retraining_usd_per_month": arguments.retraining,
        },
        "capacity": {
            **row_of(named(scenario), base, priced(base)),
            "replications": [search._asdict() for search in base.sustained.searches],
        },
        "what_if": rows[: len(changed)],
        "deployments": rows[len(changed) :],
    }


def row_of(name: str, found: Capacity, cost: Bill) -> Row:
    """One deployment or change in figures."""
    return {
        "name": name,
        "rate_rps": found.sustained.rate_rps,
        "low_rps": found.sustained.low_rps,
        "high_rps": found.sustained.high_rps,
        "output_tokens": found.output_tokens,
        "truncated": found.truncated,
        **cost._asdict(),
        "step_time": band(found.scenario).text,
    }


def as_text(found: Row) -> str:
    """The answer in a sentence, then every alternative in a row."""
    asked, own = found["asked"], found["capacity"]
    scenario = Scenario(**found["scenario"])
    parts = [
        f"{asked['rate_rps']:g} requests/s need {counted(own['replicas'], 'replica')} = {own['gpus']} "
        f"{scenario.deployment.gpu}"
        f"{_predictor(own['predictor_gpus'])}, {number(own['usd_per_hour'], 2)} $/h, "
        f"{number(own['usd_per_million_tokens'], 3)} $ per million output tokens",
        f"one replica ({own['name']}) sustains {own['rate_rps']:.3g} requests/s, 95 % interval "
        f"{own['low_rps']:.3g} to {own['high_rps']:.3g}, with {asked['attainment']:.0%} of requests within the limits; "
        f"{asked['headroom']:.0%} of it is kept free",
        f"error of the step times behind these figures: {own['step_time']}",
    ]
    tables = [aligned(list(rows(title, found[key]))) for title, key in (("what if", "what_if"), ("on", "deployments"))]
    return "\n\n".join(["\n".join(parts), *tables])


def rows(title: str, alternatives: list[Row]) -> Iterator[list[str]]:
    """Header, then a row for each alternative that was not refused."""
    yield [title, "requests/s", "replicas", "GPUs", "$/h", "$/M tokens", "cut"]
    for each in alternatives:
        if "refused" not in each:
            yield [
                each["name"],
                number(each["rate_rps"], 2),
                number(each["replicas"], 0),
                count(each["gpus"] + each["predictor_gpus"]),
                number(each["usd_per_hour"], 2),
                number(each["usd_per_million_tokens"], 3),
                f"{each['truncated']:.1%}",
            ]


def _predictor(gpus: float) -> str:
    """GPUs of the predictor alone, where it has any."""
    return f" and {count(gpus)} for the predictor" if gpus else ""
