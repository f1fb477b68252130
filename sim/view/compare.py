"""Schedulers side by side, in words and rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sim.scenario import Scenario
from sim.scheduler_spec import Scheduler
from sim.studies.compare import Compared, Row, with_system
from sim.studies.rate_search import WIDTH
from sim.studies.reach import TARGET
from sim.systems import SYSTEMS, reads_predictor
from sim.systems.knobs_read import is_in_general_loop
from sim.view.number_words import listed, short_number, short_percent, short_time

DEFAULT = ("static", "vllm_v1", "sarathi", "s3", "rank")  # more of them take longer than a page may
NEARLY = 0.99  # of the best: as good as it
STAR = "★"  # of the best in a column
MOST = 8  # systems that a picture can hold
COLUMNS = {  # column of the table: field, factor, whether more is better
    "output tokens/s": ("output_tokens_per_s", 1.0, True),
    "good requests/s": ("good_rps", 1.0, True),
    "within limits (%)": ("attainment", 100.0, True),
    "p99 TTFT": ("ttft_p99_s", 1.0, False),
    "p99 TPOT": ("tpot_p99_s", 1.0, False),
    "preemptions": ("preemptions", 1.0, False),
    "KV in use (%)": ("kv_use", 100.0, None),
    "KV kept unused (%)": ("kv_pledged", 100.0, False),
    "CV in batch": ("batch_cv", 1.0, None),
}
TIMES = ("p99 TTFT", "p99 TPOT")  # columns of seconds


def title(name: str) -> str:
    """What people call a scheduler."""
    return SYSTEMS[name].title


def ran(rows: Mapping[str, Row]) -> dict[str, Compared]:
    """The runs as asked of those that can run."""
    return {name: each.compared for name, each in rows.items() if each.compared is not None}


def table(rows: Mapping[str, Row]) -> dict[str, list[Any]]:
    """One line a scheduler that has a run."""
    known = ran(rows)
    found: dict[str, list[Any]] = {"scheduler": [title(name) for name in known]}
    for column, (field, factor, _) in COLUMNS.items():
        found[column] = [_defined(column, getattr(each, field) * factor) for each in known.values()]
    return found


def leaders(known: Mapping[str, Compared]) -> dict[str, set[str]]:
    """Who is best in each column that has a good direction; nobody where more than half are alike in it."""
    found = {}
    for column, (field, factor, more_is_better) in COLUMNS.items():
        values = {name: _rounded(column, getattr(each, field) * factor) for name, each in known.items()}
        numbers = {name: value for name, value in values.items() if value is not None}
        if more_is_better is None or not numbers:
            continue
        best = (max if more_is_better else min)(numbers.values())
        leading = {name for name, value in numbers.items() if value == best}
        if 2 * len(leading) <= len(numbers):
            found[column] = leading
    return found


def cell(column: str, *, is_best: bool = False) -> Callable[[float | None], str]:
    """How a number of that column is shown; marked where it is the best of it. Without a number it is empty."""
    words = short_time if column in TIMES else short_number
    mark = f"{STAR} " if is_best else ""
    return lambda value: "" if value is None or np.isnan(value) else f"{mark}{words(value)}"


def _defined(column: str, value: float) -> float | None:
    """As the table holds it: None where undefined, and of a percent two decimals at most."""
    return None if np.isnan(value) else round(value, 2) if "(%)" in column else float(value)


def _rounded(column: str, value: float) -> float | None:
    """With three significant digits, so that nobody leads by less."""
    number = _defined(column, value)
    return None if number is None else float(f"{number:.3g}")


def verdict(
    rows: Mapping[str, Row], reach: Mapping[str, float], unit: str, highest: float = np.inf, *, to_come: int = 0
) -> str:
    """Who serves most within the limits, and how far each gets.

    Parameters
    ----------
    rows : mapping
        Runs as asked, by scheduler.
    reach : mapping
        Largest load of each within the limits; empty until all are known.
    unit : str
        Of the load.
    highest : float
        The highest load that was tried, where there is one.
    to_come : int
        Schedulers that have not been run yet.
    """
    known = ran(rows)
    if len(known) < 2 and to_come:
        return f"Running the same requests through {len(rows) + to_come} schedulers …"
    if len(known) < 2:
        return "Choose at least two schedulers; the same requests go through each."
    loads = {name: reach.get(name, np.nan) for name in known}
    if not any(np.isnan(load) for load in loads.values()):
        return _who_gets_furthest(loads, unit, highest)
    good = leading({name: each.good_rps for name, each in known.items()})
    if known[good[0]].good_rps == 0:
        return "As asked, none of them serves a single request within the limits."
    if any(not np.isnan(each.attainment) for each in known.values()):
        rate, share = short_number(known[good[0]].good_rps), short_percent(known[good[0]].attainment)
        return f"As asked, {_who(good, 'serve', 'most requests within the limits')}{rate} a second, {share} of all."
    most = leading({name: each.output_tokens_per_s for name, each in known.items()})
    rate = short_number(known[most[0]].output_tokens_per_s)
    return f"{_who(most, 'produce', 'most')}{rate} output tokens/s; set targets to see who serves most within them."


def leading(scores: Mapping[str, float]) -> list[str]:
    """The best and all that are as good within 1 %, the best first; NaN counts as 0."""
    numbers = {name: float(np.nan_to_num(score)) for name, score in scores.items()}
    best = max(numbers.values())
    return sorted((name for name in numbers if numbers[name] >= NEARLY * best), key=lambda name: -numbers[name])


def _who(names: Sequence[str], verb: str, what: str) -> str:
    """Beginning of a sentence: who does most, as far as the number; several have about the same one."""
    told = listed([title(name) for name in names])
    return f"{told} {verb}s {what}: " if len(names) == 1 else f"{told} {verb} {what}: about "


def _who_gets_furthest(reach: Mapping[str, float], unit: str, highest: float) -> str:
    """The same once all searches have ended: those that no search can tell apart are named together."""
    ordered = sorted(reach, key=lambda name: reach[name], reverse=True)
    most = reach[ordered[0]]
    if most == 0:
        return f"At no load does any of them keep {short_percent(TARGET)} of requests within the limits."
    alike = [name for name in ordered if reach[name] >= (1 - WIDTH) * most]
    first = _who(alike, "serve", "most within the limits")
    if most >= highest:
        first = f"{first.removesuffix('about ')}at least "
    after = ordered[len(alike) :][:1]
    second = "".join(f", {title(name)} {short_number(reach[name])}" for name in after)
    return f"{first}{short_number(most)} {unit} with {short_percent(TARGET)} of requests good{second}."


def going_on(rows: Mapping[str, Row], end_s: float) -> str:
    """Whose runs go on after the end of the picture; empty where none does."""
    ends = {title(name): each.memory.end_s for name, each in rows.items() if each.memory is not None}
    later = [f"{name} goes on to {end:,.0f} s" for name, end in ends.items() if end > end_s]
    return f"Shown up to {end_s:,.0f} s: {listed(later)}." if later else ""


def winners(points: Sequence[Compared], unit: str) -> list[str]:
    """Who wins where: stretches of load with the scheduler that has most good requests a second."""
    if points and all(np.isnan(each.good_rps) for each in points):
        return ["No limit is set, so nobody can be within it: set one under Targets."]
    by_load: dict[float, list[Compared]] = {}
    for each in points:
        by_load.setdefault(each.load, []).append(each)
    stretches: list[tuple[str, float, float]] = []
    for load, group in sorted(by_load.items()):
        scores = {each.system: float(f"{np.nan_to_num(each.good_rps):.3g}") for each in group}
        best = max(scores.values())
        first = leading(scores)
        if best == 0:
            name = "nobody"
        elif len(first) == len(scores):
            name = "all alike"
        elif 2 * len(first) > len(scores):
            name = "all but " + listed([title(each) for each in scores if each not in first])
        else:
            name = listed([title(each) for each in scores if each in first])
        if stretches and stretches[-1][0] == name:
            stretches[-1] = (name, stretches[-1][1], load)
        else:
            stretches.append((name, load, load))
    return [
        f"**{short_number(low)}{'' if low == high else f' to {short_number(high)}'} {unit}**: {name}"
        for name, low, high in stretches
    ]


def grouping(rows: Mapping[str, Row], overall_cv: float) -> str:
    """How alike the answers are that are served together."""
    known = {name: each.batch_cv for name, each in ran(rows).items() if not np.isnan(each.batch_cv)}
    if not known:
        return ""
    if overall_cv == 0:
        return "All answers are of one length, so those served together are, too."
    alike = min(known, key=lambda name: known[name])
    return (
        f"Output lengths have a CV of {short_number(overall_cv)} over all requests; among those served together it is "
        f"lowest under {title(alike)}, {short_number(known[alike])}. Grouping by length makes a batch end together; "
        "stragglers stay longer in the batch than in the mix, which raises it."
    )


def delivery(rows: Mapping[str, Row]) -> str:
    """What stands under TPOT where tokens do not come one by one; empty where they do."""
    whole = [title(name) for name, each in ran(rows).items() if each.is_batch_delivery]
    return f" TPOT of {listed(whole)} is E2E per token: answers come whole, at the end of their batch." if whole else ""


def unlike(rows: Mapping[str, Row], scenario: Scenario) -> str:
    """What only some of those that run have, besides what they are compared for; empty where it is nothing."""
    known = {name: with_system(scenario, name, same_limits=False).scheduler for name in ran(rows)}
    ahead = [name for name, each in known.items() if _is_ahead(each, scenario)]
    cached = [name for name, each in known.items() if _has_cache(each, scenario)]
    has = (("Scheduled a step ahead, so that an arrival waits a step longer", ahead), ("With a prefix cache", cached))
    told = {what: listed([title(name) for name in names]) for what, names in has if 0 < len(names) < len(known)}
    alone = "".join(f" {what}: {who} alone." for what, who in told.items())
    reads = [title(name) for name, each in known.items() if reads_predictor(each.choices)]
    if not reads:
        return alone
    whose = "the sidebar's predictor" if scenario.predictor.in_use.kind != "none" else "a predictor of its own"
    return f"{alone} Told by {whose} how long answers will be, or who is shorter: {listed(reads)}."


def _is_ahead(scheduler: Scheduler, scenario: Scenario) -> bool:
    if scheduler.system == "sglang":
        return not scheduler.sglang.disable_overlap_schedule
    return _is_vllm(scheduler, scenario) and scheduler.async_scheduling


def _has_cache(scheduler: Scheduler, scenario: Scenario) -> bool:
    if not any(task.shared_prefix_tokens for task in scenario.workload.types):
        return False
    if scheduler.system == "sglang":
        return not scheduler.sglang.disable_radix_cache
    return _is_vllm(scheduler, scenario) and scheduler.enable_prefix_caching


def _is_vllm(scheduler: Scheduler, scenario: Scenario) -> bool:
    """Whether it is vLLM V1 with all that it has."""
    gives_up, stages = scenario.workload.client_timeout_s, scenario.deployment.pipeline_parallel_size
    in_general = is_in_general_loop(scheduler, has_timeout=gives_up is not None, has_stages=stages > 1)
    return scheduler.system == "vllm_v1" and not in_general


def problems(rows: Mapping[str, Row]) -> list[str]:
    """Why some schedulers have no run."""
    return [f"{title(name)}: {each.problem}" for name, each in rows.items() if each.problem]
