"""Pinned runs as people tell them apart: a number, a dash, and what sets each of them apart from the others."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from sim.keys import EDITS, KEYS, LINK_VERSION, MIX, PRESET
from sim.presets import preset, preset_names
from sim.systems import SYSTEMS
from sim.view.knobs import KNOBS
from sim.view.scheduler_knobs import SYSTEM

Query = Mapping[str, str]

NOT_A_KNOB = (LINK_VERSION, PRESET, MIX, EDITS)
MOST_NAMED = 3  # departures in a label
ON_OFF = {"true": "on", "false": "off"}
KNOB_OF = {knob.path: knob for knob in KNOBS}
DASH_WORDS = {"dash": "dashed", "dot": "dotted", "11px,2px": "long dashes", "dashdot": "dash and dot"}


def names(count: int) -> list[str]:
    """Names of the lines: alone it needs no number."""
    return ["pinned"] if count == 1 else [f"pin {i + 1}" for i in range(count)]


def labels(pins: Sequence[Query], current: Query) -> list[str]:
    """What sets each pinned run apart.

    Parameters
    ----------
    pins : sequence of mapping
        The link's query of each.
    current : mapping
        The same of the run on screen.

    Returns
    -------
    list of str
        Departures from the preset that not all runs share, by the names of their knobs, such as `rate 6, batch limit
        64`; the preset's title where there are none, and before them where the presets differ.
    """
    every = [*pins, current]
    has_one_preset = len({query.get(PRESET) for query in every}) == 1
    return [_label(pin, _shared(every), with_title=not has_one_preset) for pin in pins]


def legend(pins: Iterable[tuple[str, str, str, bool]]) -> str:
    """Which dash is which run, as HTML: an element each, which shows its whole text at the pointer where it is cut off.

    Parameters
    ----------
    pins : iterable of tuple
        Name, dash and label of each, and whether numbers are compared with it.
    """
    return "".join(
        _legend_entry(name, f" ({DASH_WORDS[dash]}{', compared' if is_base else ''}): {label}")
        for name, dash, label, is_base in pins
    )


def _legend_entry(name: str, more: str) -> str:
    return f'<span title="{escape(name + more)}"><b>{escape(name)}</b>{escape(more)}</span>'


def _shared(every: Sequence[Query]) -> set[tuple[str, str]]:
    return set.intersection(*(set(query.items()) for query in every))


def _label(pin: Query, shared: set[tuple[str, str]], *, with_title: bool) -> str:
    own = [_departure(key, text) for key, text in pin.items() if key not in NOT_A_KNOB and (key, text) not in shared]
    if MIX in pin and (MIX, pin[MIX]) not in shared:
        own.append(f"mix {pin[MIX]}")
    if EDITS in pin and (EDITS, pin[EDITS]) not in shared:
        own.append("further edits")
    more = len(own) - MOST_NAMED
    words = ", ".join(own[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    title = _title(pin.get(PRESET, ""))
    if not words:
        return title
    return f"{title}: {words}" if with_title else words


def _departure(key: str, text: str) -> str:
    """A field and its value as the knob has them; its unit stands on the knob."""
    path = KEYS.get(key, key)
    if path not in KNOB_OF:
        return f"{key} {text}"
    name = KNOB_OF[path].label.partition(" (")[0]
    if not name[1].isupper():  # GPU stays as it is
        name = name[0].lower() + name[1:]
    if path == SYSTEM and text in SYSTEMS:
        return f"{name} {SYSTEMS[text].title}"
    return f"{name} {ON_OFF.get(text, text)}"


def _title(name: str) -> str:
    return preset(name).about.title if name in preset_names() else name
