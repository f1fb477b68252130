"""A scheduler in words: its name in a list, what it knows, what it reserves, who gives way, what was put in place."""

from collections.abc import Iterable

from sim.catalog import published_predictor
from sim.predictor_spec import Predictor
from sim.scheduler_spec import Scheduler
from sim.systems import MEANING, SYSTEMS, reads_predictor
from sim.systems.knobs_read import CHOICES, is_in_general_loop
from sim.systems.predictors import OWN, own_predictor

FIELD_OF = {"preemption_mode": "eviction"}  # of `Choices`, where the knob is called otherwise
SERVES = {"batching": "Batches", "prefill": "Prompts", "order": "Serves first"}


def option_names(path: str, options: Iterable[str], system: str) -> dict[str, str]:
    """What to call the options of a knob in a list; empty where they are called what they are.

    Parameters
    ----------
    path : str
        Of the knob.
    options : iterable of str
        Texts, as a link holds them.
    system : str
        Whose own choices `none` stands for.
    """
    part, _, field = path.partition(".")
    if part == "scheduler" and field == "system":
        return {name: system_name(name) for name in options}
    if part == "scheduler" and field in CHOICES:
        return {value: choice_name(field, value, system) for value in options}
    return {}


def system_name(name: str) -> str:
    """A scheduler in a list that is grouped by idea."""
    found = SYSTEMS[name]
    return f"{found.idea} · {found.title}"


def choice_name(knob: str, value: str, system: str) -> str:
    """A value of one of the five choices in a list; `none` is what the system does itself."""
    own = getattr(SYSTEMS[system].choices, FIELD_OF.get(knob, knob))
    return f"its own: {plain(own)}" if value == "none" else plain(value)


def choice_meaning(knob: str, value: str) -> str:
    """What a value of one of the five choices means; empty for the system's own, and for a system's name."""
    return MEANING.get(FIELD_OF.get(knob, knob), {}).get(value, "")


def plain(value: str) -> str:
    """A field's value without underscores."""
    return value.replace("_", " ")


def description(scheduler: Scheduler, *, has_timeout: bool = False, stages: int = 1) -> str:
    """One line on what a scheduler knows, reserves and does when memory runs out, with what was put in place.

    Parameters
    ----------
    scheduler : Scheduler
    has_timeout : bool
        Clients give up.
    stages : int
        Of a pipeline.
    """
    own, choices = SYSTEMS[scheduler.system], scheduler.choices
    changed = [name for name in CHOICES if getattr(scheduler, name) is not None]
    knows = own.knows
    if reads_predictor(choices) and not own.reads_predictor:
        knows += ", and what the predictor says"
    parts = [f"Knows {knows}."]
    parts += [f"{words}: {MEANING[name][getattr(choices, name)]}." for name, words in SERVES.items() if name in changed]
    parts.append(f"Reserves {MEANING['reserve'][choices.reserve] if 'reserve' in changed else own.reserves}.")
    if "victim" in changed or "preemption_mode" in changed:
        gives_way = f"{MEANING['victim'][choices.victim]}; {MEANING['eviction'][choices.eviction]}"
    else:
        gives_way = own.gives_way
    parts.append(f"Gives way: {gives_way}.")
    if scheduler.system == "vllm_v1":
        parts.append(_mode(scheduler, has_timeout=has_timeout, stages=stages))
    return " ".join(parts)


def _mode(scheduler: Scheduler, *, has_timeout: bool, stages: int) -> str:
    """How vLLM's loop goes, and what of it other choices leave out."""
    left_out = "no prefix caching, no priorities, no older releases"
    way = "asynchronous" if scheduler.async_scheduling else "synchronous"
    if stages > 1 and not scheduler.is_recombined:
        in_flight = stages + scheduler.async_scheduling
        return f"Scheduling is {way}, with up to {in_flight} batches in flight; in a pipeline {left_out}."
    if is_in_general_loop(scheduler, has_timeout=has_timeout):
        why = "other choices" if scheduler.is_recombined else "clients that give up"
        return f"With {why}: synchronous scheduling, {left_out}."
    return f"Scheduling is {way}."


def predictor_note(scheduler: Scheduler, predictor: Predictor) -> str:
    """Which predictor a system uses where the scenario names none; empty where it names one or none is read."""
    if not reads_predictor(scheduler.choices) or predictor.in_use.kind != "none":
        return ""
    fields = own_predictor(scheduler.system)
    if "preset" in fields:
        found = published_predictor(fields["preset"])
        what = f"{fields['preset']} ({found.what}, measured on {found.data})"
    else:
        what = ", ".join(f"{plain(name)} {value}" for name, value in fields.items())
    whose = "its own" if scheduler.system in OWN else "the simplest"
    return f"None is named: {SYSTEMS[scheduler.system].title} uses {whose}, {what}."
