"""Which schedulers can run with their model's layers dealt over several stages."""

from typing import TYPE_CHECKING

from sim.errors import ScenarioError
from sim.systems import PREEMPTIVE_ORDERS, SYSTEMS

if TYPE_CHECKING:
    from sim.scenario import Scenario


def is_in_pipeline(scenario: "Scenario") -> bool:
    """Whether the model's layers are dealt over several stages."""
    return scenario.deployment.pipeline_parallel_size > 1


def check_pipeline(scenario: "Scenario") -> None:
    """Refuse what has no meaning, or no model here, with several batches in flight.

    Raises
    ------
    ScenarioError
        In one sentence.
    """
    if not is_in_pipeline(scenario):
        return
    why = ""
    scheduler, choices = scenario.scheduler, scenario.scheduler.choices
    if SYSTEMS[scheduler.system].engine == "sglang":
        why = "with scheduler.system sglang only 1 is simulated"
    elif choices.batching == "request":
        why = f"{scheduler.system} runs one closed batch at a time, and the other stages would stand empty: 1 is needed"
    elif choices.order in PREEMPTIVE_ORDERS:
        why = f"order {choices.order} chooses anew at every iteration, and others are under way then: 1 is needed"
    elif choices.eviction == "fail":
        why = "preemption_mode fail says nothing of the batches on other stages: 1 is needed"
    if why:
        raise ScenarioError(f"deployment.pipeline_parallel_size is {scenario.deployment.pipeline_parallel_size}; {why}")
