"""Broken variants of good files, made by rule, each with what the refusal must name."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from sim.errors import DataError

Variants = dict[str, tuple[str, str]]  # the text, and a pattern at the beginning of the sentence after the file's name

WRONG_NUMBERS = {
    "null": None,
    "text": "many",
    "number in quotes": "12",
    "true": True,
    "list": [1],
    "negative": -1,
    "not a number": float("nan"),
    "giant": 1e300,
}
WRONG_CELLS = ("many", "", "-1", "nan", "inf", "1e300")


def refused(read: Callable[..., Any], content: str, name: str, pattern: str, **given: Any) -> None:
    """Reading such a file is refused in one sentence that begins with its name and then says where."""
    with pytest.raises(DataError, match=f"^{re.escape(name)}{pattern}") as caught:
        read(content.encode(), name, **given)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert " is " in sentence or " are " in sentence


def broken_lines(text: str, keys: Iterable[str], *, line: int = 3) -> Variants:
    """JSON lines: every key is missing or holds what it cannot, and the line itself is damaged."""
    lines = text.splitlines()
    record = json.loads(lines[line - 1])

    def with_line(new: str) -> str:
        return "\n".join([*lines[: line - 1], new, *lines[line:]]) + "\n"

    variants = {
        "cut short": (with_line(lines[line - 1][:-5]), f" line {line}: "),
        "a list": (with_line("[1, 2]"), f" line {line}: "),
        "no JSON": (with_line("timestamp: 3"), f" line {line}: "),
        "nested too deeply": (with_line("[" * 100_000), f" line {line}: "),
    }
    for key in keys:
        where = f" line {line}: {re.escape(key)} is "
        without = {k: v for k, v in record.items() if k != key}
        variants[f"{key} missing"] = (with_line(json.dumps(without)), where)
        for label, wrong in WRONG_NUMBERS.items():
            variants[f"{key} {label}"] = (with_line(json.dumps({**record, key: wrong})), where)
    return variants


def broken_rows(text: str, columns: Mapping[str, int], *, line: int = 4, separator: str = ",") -> Variants:
    """A table: every column holds what it cannot, and the row itself is damaged."""
    lines = text.splitlines()
    cells = lines[line - 1].split(separator)

    def with_cells(new: list[str]) -> str:
        return "\n".join([*lines[: line - 1], separator.join(new), *lines[line:]]) + "\n"

    variants = {
        "a cell too few": (with_cells(cells[:-1]), f" line {line}: "),
        "a cell too many": (with_cells([*cells, "1"]), f" line {line}: "),
        "open quote": (with_cells([*cells[:-1], '"' + cells[-1]]), f" line {line}: "),
        "cut short": ("\n".join(lines)[: -len(lines[-1])] + lines[-1][:1], f" line {len(lines)}: "),
    }
    for label, position in columns.items():
        for wrong in WRONG_CELLS:
            new = [*cells[:position], wrong, *cells[position + 1 :]]
            variants[f"{label} {wrong or 'empty'}"] = (with_cells(new), f" line {line}: {re.escape(label)} is ")
    return variants


def broken_values(text: str, keys: Iterable[tuple[str | int, ...]], *, optional: bool = False) -> Variants:
    """A JSON document: every value at the end of a way is missing or is what it cannot be.

    Values that need not be there are fine when missing or null.
    """
    variants = {}
    for way in keys:
        where = f": {re.escape('.'.join(map(str, way)))} (is|has) "
        for label, wrong in WRONG_NUMBERS.items():
            if not (optional and wrong is None):
                variants[f"{way[-1]} of {way[:-1]} {label}"] = (with_value(text, way, wrong), where)
        if not optional:
            variants[f"{way[-1]} of {way[:-1]} missing"] = (with_value(text, way), where)
    return variants


MISSING = object()


def with_value(text: str, way: tuple[str | int, ...], value: object = MISSING) -> str:
    """A JSON document with another value at the end of a way, or none."""
    document = json.loads(text)
    here = document
    for key in way[:-1]:
        here = here[key]
    if value is MISSING:
        del here[way[-1]]
    else:
        here[way[-1]] = value
    return json.dumps(document)
