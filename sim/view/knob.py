"""What a knob of the dashboard is: the field it moves, its stops, and what moving it does to the curves."""

from typing import Literal, NamedTuple, get_args

from sim.keys import value_text
from sim.part import Part

NONE = "none"  # no value: the system's own default, or no limit


class Knob(NamedTuple):
    """One field of the scenario as a widget."""

    path: str
    label: str  # with the unit
    help: str  # what it does to the curves
    widget: Literal["steps", "choice", "switch"]
    options: tuple[str, ...] = ()  # texts, as a link holds them


class Section(NamedTuple):
    """Knobs that belong together."""

    title: str
    knobs: tuple[Knob, ...]
    is_open: bool


def allowed(part: type[Part], field: str) -> tuple[str, ...]:
    """Texts of all values that a field of few values may take."""
    return tuple(value_text(value) for value in get_args(part.model_fields[field].annotation))
