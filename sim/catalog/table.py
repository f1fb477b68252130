"""CSV tables next to this file, read once."""

import csv
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from sim.errors import ScenarioError, closest, shown


@lru_cache
def rows(table: str) -> tuple[dict[str, str], ...]:
    """All rows of `table`.csv as texts by column."""
    with (Path(__file__).parent / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def unknown(field: str, name: str, known: Iterable[str]) -> ScenarioError:
    """The refusal of a name that is not in the catalogue."""
    return ScenarioError(f"{field} is {shown(name)}; the catalogue's closest are {closest(name, known)}")
