"""The words and tables of the page Predictor, computed from runs."""

import math
from collections.abc import Callable, Mapping

from sim.scenario import Scenario
from sim.studies.bill import HEADROOM
from sim.studies.capacity_search import ATTAINMENT
from sim.studies.predictor.break_even import NO_ORDER, Trial
from sim.studies.predictor.error_map import (
    FINE_BIASES,
    NEAR_BEST,
    OBJECTIVES,
    TWICE,
    Direction,
    ErrorCell,
    Found,
    Objective,
    differs,
    direction,
)
from sim.studies.predictor.published import DRIFTS, LESSON, PublishedHere
from sim.studies.predictor.uses import MAX_REQUESTS, Measured, Use
from sim.studies.predictor.worth import Worth
from sim.studies.rate_search import WIDTH
from sim.view.capacity import gpus_words
from sim.view.limits_words import limit_clause, money_clause
from sim.view.number_words import listed, short_number, short_percent, short_time
from sim.view.quantity import GOODPUT, OUTPUT_RATE, PREEMPTIONS, TPOT, Quantity
from sim.view.summary_rows import count

MISSING = "-"
NEARLY_ALL = 0.8  # of answers in their right class: then that is nearly always the same one
AT_ALL = ", from a quarter of the likeliest length to four times as much"
NO_MATTER = "To predict twice too long or half as long"
OBJECTIVE_HELP = (
    "What map, curve and verdict are about. throughput: output tokens/s; choose the operating point saturated to see "
    "it apart from the load. p99 TPOT: the slowest answers. goodput: requests within the limits. preemptions: requests "
    "thrown out for want of memory."
)
SHORT_NAMES = {  # of the published predictors that are drawn
    "ceiling_lmsys": "ceiling: resampled",
    "self_declared_lmsys": "self-declared",
    "ranker_lmsys": "ranker",
    "ranker_sharegpt_on_lmsys": "ranker after drift",
    "finetuned_alpaca": "fine-tuned LLM",
    "bert_5_class": "BERT, 5 classes",
    "class_100_tokens_lmsys": "classes of 100 tokens",
    "class10_lmsys": "10 classes",
}
QUANTITIES: dict[str, Quantity] = {  # of the objectives, by name
    "throughput": OUTPUT_RATE,
    "p99 TPOT": TPOT._replace(label="p99 TPOT"),
    "goodput": GOODPUT,
    "preemptions": PREEMPTIONS,
}


def shown(name: str, value: float) -> str:
    """An objective's value with its unit."""
    if math.isnan(value):
        return MISSING
    return QUANTITIES[name].told(value)


def factor(bias: float) -> str:
    """A bias as what it makes of every prediction: 1.4 times, half ..."""
    return f"{math.exp(bias):.2g}x"


def verdict(name: str, found: Found, tried: Mapping[Trial, Measured], spread: float, gained: float = math.nan) -> str:
    """One sentence: whether over- or under-prediction hurts more, by how much, and up to where a predictor is worth it.

    Parameters
    ----------
    name : str
        Of the objective.
    found, tried : mapping
        Runs so far: errors of a reservation; no predictor, and other spreads and delays.
    spread : float
        Of the scenario's predictor.
    gained : float
        How much more one replica sustains within the limits with a reservation, relative; NaN: not known.
    """
    objective = OBJECTIVES[name]
    best = direction(found, spread, objective)
    if best is None:
        is_undefined = len(found) >= len(FINE_BIASES) and not any(objective.of(now) > 0 for now in found.values())
        if is_undefined and name == "goodput":
            return "Goodput needs a limit: set one under Targets, or choose another objective."
        return "Error direction: the price of predicting too long or too short is being computed."
    if not differs(found.values(), objective):
        further = _other_objective(name, found, spread) or AT_ALL
        money = money_clause(gained, is_worth=False).replace(" with it", " with a reservation")
        return f"The error of a prediction makes no difference to {name} here{further}{money}."
    sentence = direction_sentence(name, objective, best)
    if sentence.startswith(NO_MATTER):
        sentence += _other_objective(name, found, spread)
    return f"{sentence}{limit_clause(tried, found, name, spread, gained)}."


def direction_sentence(name: str, objective: Objective, found: Direction) -> str:
    """Which direction hurts or helps more and by how much, in percent of the unbiased value, or in preemptions."""
    over = loss(found.unbiased, found.over, objective) if found.is_over_apart else 0.0
    under = loss(found.unbiased, found.under, objective) if found.is_under_apart else 0.0
    verb, again = ("are", "they are") if name == "preemptions" else ("is", "it is")
    if not (found.is_over_apart or found.is_under_apart):
        return f"{NO_MATTER} makes no difference to {name}"
    if not found.is_over_from_under:
        more, value = max((over, found.over), (under, found.under), key=lambda each: abs(each[0]))
        return (
            f"Over- and under-prediction {'hurt' if more > 0 else 'help'} {name} alike: {again} "
            f"{_effect(name, found, value)}, whether lengths are predicted twice too long or half as long"
        )
    sides = [("Over", "twice too long", found.over), ("Under", "half as long", found.under)]
    (worse, _, _), (better, _, _) = ordered = sides if over > under else sides[::-1]
    if max(over, under) > 0:
        helps = f", {better.lower()}-prediction helps" if min(over, under) < 0 else " more"
        said = f"{worse}-prediction hurts{helps}"
    else:
        said = f"{better}-prediction helps{' more' if max(over, under) < 0 else ''}"
        ordered = ordered[::-1]
    (_, first, at_first), (_, second, at_second) = ordered
    return (
        f"{said}: where lengths are predicted {first}, {name} {verb} {_effect(name, found, at_first)}; where {second}, "
        f"{again} {_effect(name, found, at_second)}"
    )


def _other_objective(name: str, found: Found, spread: float) -> str:
    """What an error that makes no difference to one objective does to another; empty where it does nothing there."""
    for other, objective in OBJECTIVES.items():
        there = direction(found, spread, objective)
        if other != name and there is not None and differs(found.values(), objective):
            sentence = direction_sentence(other, objective, there)
            if not sentence.startswith(NO_MATTER):
                return f"; but {sentence[0].lower()}{sentence[1:]}"
    return ""


def loss(unbiased: float, value: float, objective: Objective) -> float:
    """How much worse a value is than the unbiased one, in the objective's unit."""
    return unbiased - value if objective.is_higher_better else value - unbiased


def _effect(name: str, found: Direction, value: float) -> str:
    """A value of the curve against the unbiased one."""
    if name == "preemptions":
        if value == found.unbiased:
            return "the same"
        return f"{value:,.0f} instead of {found.unbiased:,.0f}"
    if not found.unbiased and value:
        return f"{shown(name, value)} instead of {shown(name, found.unbiased)}"
    change = value / found.unbiased - 1 if found.unbiased else 0.0
    if abs(change) < NEAR_BEST / 2:
        return "the same"
    if change >= 1:
        return f"{value / found.unbiased:.2g} times as high"
    return f"{100 * abs(change):.0f} % {'higher' if change > 0 else 'lower'}"


def best_sentence(name: str, found: Direction, spread: float) -> str:
    """The best bias, the range that is as good, and the quantile it means."""
    times = f"{factor(found.best_bias)} the likeliest length (bias {found.best_bias:+.2f})"
    text = f"Best for {name}: predict {times if found.best_bias else 'the likeliest length, without bias'}"
    if found.best_bias in (FINE_BIASES[0], FINE_BIASES[-1]):
        text += ", the end of what was tried"
    if found.most_bias > found.least_bias:
        nearly = "but for chance" if OBJECTIVES[name].counted else "within 1 %"
        text += f"; from {factor(found.least_bias)} to {factor(found.most_bias)} it is as good {nearly}"
    if found.quantile is None:
        return f"{text}. Without spread there is no quantile to choose."
    quantile = short_percent(found.quantile)
    return f"{text}. At spread {spread:.2g} that reserves the {quantile} quantile of what is predicted."


def use_rows(tried: Mapping[Trial, Measured], spread: float) -> dict[str, Measured]:
    """The uses with a full queue, by name and as far as they are known."""
    rows = {
        Use.NONE.value: NO_ORDER,
        Use.ORDER.value: Trial(Use.ORDER, spread, 0.0, True),
        Use.RESERVE.value: Trial(Use.RESERVE, spread, 0.0, True),
    }
    return {name: tried[trial] for name, trial in rows.items() if trial in tried}


def uses_table(runs: Mapping[str, Measured]) -> dict[str, list[str]]:
    """The uses side by side: column title to one text a row."""

    def column(field: str, words: Callable[[float], str] = short_number) -> list[str]:
        values = [getattr(now, field) for now in runs.values()]
        return [MISSING if math.isnan(value) else words(value) for value in values]

    return {
        "Use": list(runs),
        "output tokens/s": column("whole_tokens_per_s"),
        "mean E2E per token": column("norm_latency_mean_s", short_time),
        "p99 TTFT": column("ttft_p99_s", short_time),
        "p99 TPOT": column("tpot_p99_s", short_time),
        "goodput (requests/s)": column("goodput_rps"),
        "preemptions": column("preemptions"),
    }


def lesson_table(found: Mapping[str, PublishedHere]) -> dict[str, list[str]]:
    """Accuracy beside order, published and here: column title to one text a predictor."""
    rows = [found[name] for name in LESSON if name in found]
    return {
        "Published predictor": [SHORT_NAMES[row.published.name] for row in rows],
        "accuracy, published": [_percent(row.published.accuracy) for row in rows],
        "accuracy, here": [_percent(row.accuracy) for row in rows],
        "tau, published": [f"{row.published.tau:.2f}" for row in rows],
        "tau, here": [MISSING if math.isnan(row.tau) else f"{row.tau:.2f}" for row in rows],
        "E2E/token": [short_time(row.ordering.norm_latency_mean_s) for row in rows],
    }


def lesson_sentence(found: Mapping[str, PublishedHere]) -> str:
    """What accuracy says of order here; empty until both ends are there."""
    accurate, ranker = (found.get(name) for name in ("class10_lmsys", "ranker_lmsys"))
    if accurate is None or ranker is None:
        return ""
    if math.isnan(ranker.tau):
        return "All answers are of one length here: there is no order to keep."
    order = f"keeps the order with a tau of {accurate.tau:.2f}"
    if accurate.accuracy is not None and accurate.accuracy >= NEARLY_ALL:
        order = f"keeps the order with a tau of only {accurate.tau:.2f}, because nearly all answers lie in one class"
    if math.isnan(accurate.tau):
        order = "says nothing of the order, because all answers lie in one class"
    said = (
        f"The 10-class predictor names the right class of {short_percent(accurate.accuracy)} of answers here and "
        f"{order}; the ranker names no class and keeps it with {ranker.tau:.2f}."
    )
    slow, fast = (row.ordering.norm_latency_mean_s for row in (accurate, ranker))
    if math.isnan(slow) or math.isnan(fast):
        return said
    return (
        f"{said} Served in their order from a full queue, an answer takes {short_time(slow)} and {short_time(fast)} "
        "per token on average."
    )


def drift_table(found: Mapping[str, PublishedHere], without: Measured | None) -> dict[str, list[str]]:
    """Rankers built for the traffic and ones from elsewhere, by what ordering gains: column title to texts."""
    rows: list[tuple[str, ...]] = []
    for built, moved in DRIFTS:
        if without is not None and built in found and moved in found:
            own, other = found[built], found[moved]
            taus = [f"{each.published.tau:.2f}" for each in (own, other)]
            changes = [_change(each.ordering, without) for each in (own, other)]
            rows.append((own.published.data, *taus, *changes))
    titles = ("Traffic", "tau, own ranker", "tau, drifted", "E2E/token, own ranker", "E2E/token, drifted")
    return {title: [row[i] for row in rows] for i, title in enumerate(titles)}


def drift_sentence(found: Found, name: str, objective: Objective, spread: float) -> str:
    """A reservation after answers have grown or shrunk; empty until it is known."""
    best = direction(found, spread, objective)
    if best is None:
        return ""
    step = TWICE / 2
    runs = [found[ErrorCell(bias, spread)] for bias in (-step, 0.0, step)]
    longer, now, shorter = (shown(name, objective.of(run)) for run in runs)
    verb, again = ("are", "they are") if name == "preemptions" else ("is", "it is")
    grown = f"answers have grown by {math.expm1(step):.0%} since the predictor was built"
    shrunk = f"shrunk by {-math.expm1(-step):.0%}"
    if not any(objective.differs(run, runs[1]) for run in runs):
        text = f"whether {grown} or {shrunk}, {name} {verb} {now}, as without drift."
        if not longer == now == shorter:
            text = f"whether {grown} or {shrunk}, {name} {verb} {longer} or {shorter}, no clear change from {now}."
    else:
        first = f"{now}, as without drift" if longer == now else f"{longer} instead of {now}"
        text = f"when {grown}, {name} {verb} {first}; when they have {shrunk}, {again} {shorter}."
    return f"**Drift** of a reservation: {text}".replace("%", " %")


def _change(now: Measured, without: Measured) -> str:
    """Mean E2E per token against no predictor, in percent; a dash where nothing was answered."""
    change = now.norm_latency_mean_s / without.norm_latency_mean_s - 1
    return MISSING if math.isnan(change) else f"{100 * change:+.0f} %"


def _percent(share: float | None) -> str:
    return MISSING if share is None or math.isnan(share) else short_percent(share)


def worth_sentence(use: Use, found: Worth, needed_rps: float, ratio: float = math.nan) -> str:
    """GPUs and money that a use saves at the same limits; `ratio` is how much more one replica sustains with it."""
    before, after = found.without.gpus, found.using.gpus
    instead = "as without a predictor" if after == before else f"instead of {before:,} without a predictor"
    own = f", and {count(found.using.predictor_gpus)} for the predictor" if found.using.predictor_gpus else ""
    load = f"{short_number(needed_rps)} requests/s"
    text = f"**{use.value.capitalize()}**: {load} need {gpus_words(after)} {instead}{own}"
    saved = found.saved_usd_per_month
    if saved is None:
        return f"{text}; the GPU has no price."
    if abs(saved) < 0.5:
        return f"{text}: **nothing saved, nothing lost**."
    paid = ", retraining included" if found.using.retraining_usd_per_hour else ""
    if abs(ratio) <= WIDTH and after != before:
        paid += f", by rates that differ by less than a search can tell ({100 * WIDTH:g} %)"
    return f"{text}: **\\${abs(saved):,.0f} a month {'saved' if saved > 0 else 'lost'}**{paid}."


def capacity_note(ratios: Mapping[Use, float]) -> str:
    """How much more one replica sustains, by use."""
    texts = [f"{use.value} {100 * ratio:+z.1f} %" for use, ratio in ratios.items() if not math.isnan(ratio)]
    if not texts:
        return ""
    return (
        f"One replica sustains, against no predictor: {', '.join(texts)}. As on Capacity, {100 * ATTAINMENT:g} % of "
        f"requests are within the limits and {100 * HEADROOM:g} % of each replica are kept free."
    )


def size_note(scenario: Scenario) -> str:
    """Why rates here are not those of Explore; empty where they are of the same requests."""
    if scenario.workload.trace_file is not None:
        return ""
    return f"Runs here have at most {MAX_REQUESTS:,} requests: rates are not those of Explore."


def basis_note(scenario: Scenario) -> str:
    """What stands for the scheduler where it is held against one that is told lengths; empty where it does itself."""
    scheduler = scenario.scheduler
    if scheduler.system == "sglang":
        return "SGLang is told no lengths here: with a predictor and without, vLLM V1 stands for it."
    if scheduler.system != "vllm_v1" or scheduler.is_recombined:
        return ""
    left_out = (
        ("asynchronous scheduling", scheduler.async_scheduling),
        ("prefix cache", scheduler.enable_prefix_caching),
        ("priorities", scheduler.scheduling_policy == "priority"),
    )
    names = [name for name, is_there in left_out if is_there]
    if not names:
        return ""
    return (
        f"Runs with a predictor, and the one without that they are compared with, leave out {listed(names)}: no "
        f"scheduler here that is told lengths has {'it' if len(names) == 1 else 'them'}."
    )


def map_alt(name: str, num_runs: int) -> str:
    """What the heat map shows, for people who do not see it."""
    return f"{QUANTITIES[name].label} over direction and size of the prediction error, {num_runs} runs."
