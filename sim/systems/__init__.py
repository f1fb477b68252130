"""Every named scheduler, as points in the space of the five choices."""

from typing import Any

from sim.errors import ScenarioError, closest, shown
from sim.systems import length_aware, served
from sim.systems.system import IDEAS, MEANING, PREEMPTIVE_ORDERS, Choices, Idea, System, reads_predictor

SYSTEMS: dict[str, System] = {each.name: each for each in (*served.SYSTEMS, *length_aware.SYSTEMS)}

__all__ = [
    "IDEAS",
    "MEANING",
    "PREEMPTIVE_ORDERS",
    "SYSTEMS",
    "Choices",
    "Idea",
    "System",
    "overrides",
    "reads_predictor",
    "system",
    "system_names",
]

# What the loop of request-level batches and vLLM V1 can do besides the systems' own choices.
NATIVE = {"static": {"reserve": ("cap", "max_model_len")}}


def system_names() -> tuple[str, ...]:
    """Names of all schedulers, grouped by idea."""
    return tuple(each.name for idea in IDEAS for each in SYSTEMS.values() if each.idea == idea)


def system(name: str) -> System:
    """A scheduler by its name.

    Raises
    ------
    ScenarioError
        There is none of that name; the sentence has the closest ones.
    """
    if name not in SYSTEMS:
        raise ScenarioError(f"scheduler.system is {shown(name)}; closest are {closest(name, SYSTEMS)}")
    return SYSTEMS[name]


def overrides(own: System, chosen: Any) -> bool:
    """Whether any of the five choices of a scenario's scheduler is one that the system's own loop does not know."""
    native = NATIVE.get(own.name, {})
    for name in ("batching", "prefill", "reserve", "order", "preemption_mode", "victim"):
        value = getattr(chosen, name)
        usual = getattr(own.choices, "eviction" if name == "preemption_mode" else name)
        if value is not None and value != usual and value not in native.get(name, ()):
            return True
    return False
