"""The ways in which unknown lengths cost a server, as steps from everything there was to what was of use.

Source: metrics.md, section 8.4.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sim.engine.accounts import MEMORY_ROWS, TIME_ROWS, Bin
from sim.ledger import PATHS
from sim.view import theme
from sim.view.memory import MEMORY_STYLE
from sim.view.time_use import TIME_STYLE

Summary = Mapping[str, Any]


class PathStyle(NamedTuple):
    """Name and look of a path."""

    label: str
    color: str
    hatch: str
    definition: str


PATH_STYLE = {
    "early_completion": PathStyle(
        "early completion",
        theme.SKY,
        "/",
        "nobody takes the place of answers that have ended: a batch is closed or, at low load too, nobody waits",
    ),
    "straggler_occupancy": PathStyle(
        "straggler occupancy", theme.VERMILION, "", "long answers hold memory, and what is left is too little"
    ),
    "conservative_batch": PathStyle(
        "conservative batch", theme.ORANGE, "x", "set aside or kept free in case answers grow"
    ),
    "price_of_reacting": PathStyle("price of reacting", theme.VERMILION, "\\", "tokens computed again"),
}
NO_PATH = "no path"
USEFUL = {Bin.HELD_TYPICAL, Bin.DECODE, Bin.PREFILL}


class Step(NamedTuple):
    """One bar of a waterfall."""

    label: str
    share: float  # of the whole, 0 to 1
    color: str
    hatch: str
    definition: str
    is_useful: bool


def memory_steps(summary: Summary) -> list[Step]:
    """Paths, then the rows of no path, then the KV of typical answers; they add up to the whole."""
    return _steps(summary["memory_ledger"]["rows"], summary["memory_ledger"]["blocks_x_duration"], MEMORY_ROWS, 0)


def time_steps(summary: Summary) -> list[Step]:
    """The same of the time ledger; last what went into wanted tokens."""
    return _steps(summary["time_ledger"]["rows"], summary["time_ledger"]["stages_x_duration"], TIME_ROWS, 1)


def _steps(rows: Mapping[str, float], whole: float, ledger: tuple[Bin, ...], side: int) -> list[Step]:
    """`side` 0: memory rows of the paths; 1: time rows."""

    def share(members: tuple[Bin, ...]) -> float:
        return sum(rows[row.name.lower()] for row in members) / (whole or 1.0)

    in_paths = {name: path[side] for name, path in PATHS.items() if path[side]}
    named = {row for members in in_paths.values() for row in members}
    rest = tuple(row for row in ledger if row not in named and row not in USEFUL)
    useful = tuple(row for row in ledger if row in USEFUL)
    styles = TIME_STYLE if side else MEMORY_STYLE
    steps = [Step(*PATH_STYLE[name][:1], share(each), *PATH_STYLE[name][1:], False) for name, each in in_paths.items()]
    steps.append(Step(NO_PATH, share(rest), theme.GREY, ".", _names(rest, styles), False))
    label = "wanted tokens" if side else "typical answers"
    steps.append(Step(label, share(useful), theme.BLUE, "", _names(useful, styles), True))
    return steps


def _names(rows: tuple[Bin, ...], styles: Mapping[str, Any]) -> str:
    return ", ".join(styles[row.name.lower()].label for row in rows)
