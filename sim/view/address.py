"""What an address says besides the knobs on the page: fields without a knob, keys nobody knows, texts out of place."""

from collections.abc import Collection, Sequence

from sim.errors import closest, shown
from sim.keys import BASE, EDITS, KEYS, LINK_VERSION, MEETING, MIX, OPERATING_POINT, PAGE_KEYS, PINS, PRESET
from sim.scenario import Scenario
from sim.view.form import Texts, has_field, kind_at
from sim.view.steps import is_number

FRAME = (PRESET, LINK_VERSION, MIX, EDITS, BASE, MEETING, OPERATING_POINT, *PINS)
FEW = 8  # options that are all named
FIRST = 3  # of more, where they are numbers


def without_knob(query: Texts, knobs: Collection[str], base: Scenario, texts: Texts) -> dict[str, str]:
    """Texts for fields that the scenario has and no knob on the page shows.

    Parameters
    ----------
    query : mapping
        The address.
    knobs : collection of str
        Keys that have a knob on the page, or had one a moment ago.
    base : Scenario
        What the knobs depart from.
    texts : mapping
        Text of each knob shown, by its key.
    """
    return {
        key: text
        for key, text in query.items()
        if text and key in KEYS and key not in PAGE_KEYS and key not in knobs and has_field(KEYS[key], base, texts)
    }


def notes(query: Texts, knobs: Collection[str], base: Scenario, texts: Texts) -> list[str]:
    """A sentence for each part of an address that changes nothing."""
    found = []
    for key, text in query.items():
        if key in KEYS and key not in PAGE_KEYS and key not in knobs and not has_field(KEYS[key], base, texts):
            parent, _, field = KEYS[key].rpartition(".")
            kind = kind_at(parent, base, texts)
            found.append(
                f"{key} is {shown(text)} in the address and changes nothing: {parent} is {kind}, without {field}."
            )
        elif key not in KEYS and key not in PAGE_KEYS and key not in FRAME:
            known = [*KEYS, *PAGE_KEYS, *FRAME]
            found.append(f"{shown(key)} in the address is not a known key{_near(key, known)}.")
    if query.get(BASE, PINS[0]) not in ("", *PINS):
        found.append(f"{BASE} is {shown(query[BASE])} in the address; allowed are {', '.join(PINS)}.")
    if query.get(MEETING, "1") not in ("", "1"):
        found.append(f"{MEETING} is {shown(query[MEETING])} in the address; 1 is needed.")
    return found


def number_problem(key: str, text: str, low: float, high: float) -> str:
    """Why a text is no value for a field between two numbers; empty where it is one."""
    if not is_number(text):
        return f"{key} is {shown(text)}; a number is needed"
    if float(text) < low:
        return f"{key} is {text}; at least {low:g} is needed"
    return f"{key} is {text}; at most {high:g} is allowed" if float(text) > high else ""


def choice_problem(key: str, text: str, options: Sequence[str]) -> str:
    """Why a text is none of the options; empty where it is one."""
    if text in options:
        return ""
    if len(options) <= FEW:
        return f"{key} is {shown(text)}; allowed are {', '.join(options)}"
    if all(map(is_number, options)):
        return f"{key} is {shown(text)}; allowed are {', '.join(options[:FIRST])}, … {options[-1]}"
    return f"{key} is {shown(text)}, which is none of the {len(options)} there are{_near(text, options)}"


def choices_problem(key: str, texts: Sequence[str], options: Sequence[str], most: int) -> str:
    """Why some texts cannot all be chosen; empty where they can."""
    if len(texts) > most:
        return f"{key} is given {len(texts)} times; at most {most} are allowed"
    return next((problem for text in texts if (problem := choice_problem(key, text, options))), "")


def _near(name: str, known: Sequence[str]) -> str:
    """End of a sentence: the names that look most like one, where some do."""
    near = closest(name, known)
    return f"; closest are {near}" if near.count(",") < FEW else ""
