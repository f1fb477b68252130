"""What the frame hands to the pages."""

from dataclasses import dataclass

from sim.scenario import Scenario
from sim.workload import Trace


@dataclass(frozen=True)
class Asked:
    """What the user asks for at this moment."""

    preset_name: str
    scenario: Scenario | None  # None: refused
    refusal: str  # why, in one sentence; empty where it is not
    trace: Trace | None  # to replay, where the scenario names a file
    is_saturated: bool
    pinned: Scenario | None
    pin_refusal: str
