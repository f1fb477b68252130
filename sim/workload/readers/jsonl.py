"""Text files with a JSON object a line, and the columns that their keys make."""

import json
from typing import Any, NamedTuple

from sim.errors import DataError, shown
from sim.workload.readers.columns import TraceColumns
from sim.workload.readers.table import Column
from sim.workload.readers.text import TextFile


class Records(NamedTuple):
    """Objects of a file and where each stands."""

    file: str
    places: tuple[int, ...]
    objects: tuple[dict[str, Any], ...]
    place: str = "line"  # what `places` counts

    def values(self, key: str) -> list[Any]:
        """What every object has under `key`.

        Raises
        ------
        DataError
            An object without it.
        """
        try:
            return [each[key] for each in self.objects]
        except KeyError:
            i = next(i for i, each in enumerate(self.objects) if key not in each)
            raise DataError(f"{self.file} {self.place} {self.places[i]}: {key} is missing; it is needed") from None

    def column(self, key: str) -> Column:
        """The values of a key as a table would have them: text, but only numbers look like numbers."""
        cells = tuple(str(v) if type(v) in {int, float} else _text(v) for v in self.values(key))
        return Column(self.file, key, self.places, cells, self.place)

    def labels(self, key: str) -> Column:
        """The values of a key that holds text.

        Raises
        ------
        DataError
            An object without it, or with something else.
        """
        values = self.values(key)
        column = Column(self.file, key, self.places, tuple(map(str, values)), self.place)
        for i, value in enumerate(values):
            if not isinstance(value, str):
                raise column.refuse(i, "a text is needed")
        return column

    def chunk(self, columns: TraceColumns[str]) -> list[Column]:
        """The columns of a trace, for `rows_of`."""
        return [self.labels(key) if key == columns.type else self.column(key) for key in columns.wanted()]


def records_of(file: TextFile) -> Records:
    """All lines that are not blank.

    Raises
    ------
    DataError
        A line that is not a JSON object.
    """
    places, objects = [], []
    for place, line in enumerate(file.lines(), start=1):
        if line.strip():
            record = _object(line)
            if record is None:
                raise DataError(f"{file.name} line {place}: {shown(line.strip())} is no JSON object; one is needed")
            places.append(place)
            objects.append(record)
    return Records(file.name, tuple(places), tuple(objects))


def first_record(file: TextFile) -> dict[str, Any]:
    """The object in the first line that is not blank; empty where the file does not begin with one."""
    line = file.begins()
    return (_object(line) or {}) if line.startswith("{") else {}


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(value: object) -> str:
    """As JSON would write it, so that "12" and true are no numbers."""
    return json.dumps(value, ensure_ascii=False)
