"""What the frame hands to the pages."""

import time
from dataclasses import dataclass, field

from sim.scenario import Scenario
from sim.workload import Trace


@dataclass(frozen=True)
class Pin:
    """A pinned run, as the link names it."""

    key: str  # of the link: p1 to p4
    name: str  # of its lines
    dash: str
    label: str  # what sets it apart
    scenario: Scenario | None  # None: refused
    refusal: str


@dataclass(frozen=True)
class Asked:
    """What the user asks for at this moment."""

    preset_name: str
    scenario: Scenario | None  # None: refused
    refusal: str  # why, in one sentence; empty where it is not
    trace: Trace | None  # to replay, where the scenario names a file
    is_saturated: bool
    pins: tuple[Pin, ...]
    base: str  # key of the pin that numbers are compared with; empty where nothing is pinned
    at_s: float = field(default_factory=time.monotonic, compare=False)  # by the monotonic clock

    @property
    def base_pin(self) -> Pin | None:
        """The pin that numbers are compared with."""
        return next((pin for pin in self.pins if pin.key == self.base), None)

    @property
    def base_name(self) -> str:
        """What sentences call it; alone it needs no number."""
        return "the pinned run" if self.base_pin is None or len(self.pins) == 1 else self.base_pin.name

    @property
    def pinned(self) -> Scenario | None:
        """Its scenario, unless it was refused."""
        return self.base_pin.scenario if self.base_pin else None
