"""Values in a JSON object, or a sentence that names the key, the value and what is wanted."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy.typing import NDArray

from sim.errors import DataError, shown
from sim.part import MAX_TOKENS
from sim.workload.readers.text import TextFile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LARGEST = 1e12  # of any number that is measured


class Fields(NamedTuple):
    """A JSON object in a file."""

    where: str  # the file, and the line in it if it has several objects
    path: str  # keys that lead to the object, each followed by a point
    values: Mapping[str, Any]

    def refuse(self, key: str, wanted: str) -> DataError:
        """The sentence about the value of a key."""
        value = self.values.get(key)
        kind = {list: "a list", dict: "an object", type(None): "null", bool: str(value).lower()}.get(type(value))
        found = "missing" if key not in self.values else kind or shown(value)
        return DataError(f"{self.where}: {self.path}{key} is {found}; {wanted}")

    def number(self, key: str, *, least: float = 0.0, most: float = LARGEST) -> float:
        """A number that must be there.

        Raises
        ------
        DataError
            Missing, no number, or outside the limits.
        """
        value = self.values.get(key)
        if not _is_number(value) or not least <= value <= most:
            raise self.refuse(key, f"a number from {least:.10g} to {most:.10g} is needed")
        return float(value)

    def number_if_any(self, key: str, *, least: float = 0.0, most: float = LARGEST) -> float | None:
        """A number, or None where it is missing or null."""
        return None if self.values.get(key) is None else self.number(key, least=least, most=most)

    def whole(self, key: str) -> int:
        """A whole number of at least 1 that must be there."""
        value = self.number(key, least=1)
        if not value.is_integer():
            raise self.refuse(key, "a whole number is needed")
        return int(value)

    def whole_if_any(self, key: str) -> int | None:
        """A whole number of at least 1, or None where it is missing or null."""
        return None if self.values.get(key) is None else self.whole(key)

    def text_if_any(self, key: str) -> str | None:
        """A text, or None where it is missing or null."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, str):
            raise self.refuse(key, "a text is needed")
        return value

    def numbers(self, key: str, *, least: float = 0.0, most: float = LARGEST) -> Floats:
        """A list of numbers that must be there."""
        values = self.values.get(key)
        if not isinstance(values, list):
            raise self.refuse(key, "a list of numbers is needed")
        return self.checked(key, values, least, most)

    def checked(self, key: str, values: Sequence[object], least: float = 0.0, most: float = LARGEST) -> Floats:
        """Members of a list under a key as numbers within limits."""
        if set(map(type, values)) <= {int, float}:
            numbers = np.array(values, dtype=np.float64)
            if np.all((numbers >= least) & (numbers <= most)):
                return numbers
        for i, value in enumerate(values):
            if not _is_number(value) or not least <= value <= most:
                raise DataError(
                    f"{self.where}: {self.path}{key} has {shown(value)} as number {i + 1}; "
                    f"numbers from {least:.10g} to {most:.10g} are needed"
                )
        raise AssertionError("every member is a number within the limits")

    def lists_of_numbers(self, key: str) -> list[Floats]:
        """A list of lists of numbers that must be there."""
        values = self.values.get(key)
        if not isinstance(values, list) or not all(isinstance(each, list) for each in values):
            raise self.refuse(key, "a list of lists of numbers is needed")
        return [self.checked(key, each) for each in values]

    def token_counts(self, key: str, least: int) -> Ints:
        """A list of whole numbers of tokens that must be there."""
        tokens = self.numbers(key, least=least, most=MAX_TOKENS)
        if not np.array_equal(tokens, np.floor(tokens)):
            raise DataError(f"{self.where}: {self.path}{key} has half a token; whole numbers are needed")
        return tokens.astype(np.int64)

    def part(self, key: str) -> "Fields":
        """The object under a key; without any values where it is missing or null."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            raise self.refuse(key, "an object is needed")
        return Fields(self.where, f"{self.path}{key}.", value or {})

    def at(self, *keys: str) -> "Fields":
        """The object at the end of a way."""
        here = self
        for key in keys:
            here = here.part(key)
        return here

    def setting(self, *keys: str) -> "Fields":
        """The object at the end of a way that only some versions have; else one without any values."""
        here: Any = self.values
        for key in keys:
            here = here.get(key) if isinstance(here, dict) else None
        return Fields(self.where, f"{self.path}{'.'.join(keys)}.", here if isinstance(here, dict) else {})

    def parts(self, key: str) -> list["Fields"]:
        """The objects in the list under a key; none where it is missing or null."""
        values = self.values.get(key)
        if values is None:
            return []
        if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
            raise self.refuse(key, "a list of objects is needed")
        return [Fields(self.where, f"{self.path}{key}.{i}.", each) for i, each in enumerate(values)]


def objects_of(file: TextFile) -> tuple[Fields, ...]:
    """All JSON objects in a file, one after the other: a document, or a line each.

    Raises
    ------
    DataError
        The text is no JSON, or something in it is no object.
    """
    decoder, text = json.JSONDecoder(), file.text
    found: list[tuple[int, Any]] = []
    position, line, counted = 0, 1, 0
    while (position := _past_space(text, position)) < len(text):
        line, counted = line + text.count("\n", counted, position), position
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            raise DataError(f"{file.name} line {error.lineno}: {error.msg.lower()}; JSON is needed") from None
        except (ValueError, RecursionError):
            raise DataError(f"{file.name} line {line}: this cannot be read; JSON is needed") from None
        if not isinstance(value, dict):
            raise DataError(f"{file.name} line {line}: {shown(value)} is no object; one is needed")
        found.append((line, value))
    if len(found) == 1:
        return (Fields(file.name, "", found[0][1]),)
    return tuple(Fields(f"{file.name} line {line}", "", value) for line, value in found)


def _past_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether JSON had a number there: true and false are none."""
    return type(value) in {int, float}
