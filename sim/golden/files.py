"""Reading and writing golden files, and the checks that every format shares."""

import gzip
import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

GZIP_MAGIC = b"\x1f\x8b"


class GoldenError(ValueError):
    """A golden file that cannot be replayed; `str(error)` is the one sentence that says why."""


def read_golden(path: Path) -> dict[str, Any]:
    """The JSON object in a file, gzip-compressed or plain.

    Raises
    ------
    GoldenError
        No such file, a file cut short or damaged, or no JSON object in it.
    """
    try:
        data = path.read_bytes()
        if data.startswith(GZIP_MAGIC):
            data = gzip.decompress(data)
        golden = json.loads(data, parse_constant=_refuse_constant)
    except OSError as error:  # also what gzip raises for a broken header or a wrong checksum
        raise GoldenError(f"the file cannot be read: {error.strerror or error}") from error
    except (EOFError, zlib.error) as error:
        raise GoldenError("the file is cut short or damaged: its compressed data end too early") from error
    except UnicodeDecodeError as error:
        raise GoldenError(f"the file is no text: byte {error.start} is not UTF-8") from error
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise GoldenError(f"the file is cut short or no JSON: {error.msg} at {where}") from error
    if not isinstance(golden, dict):
        raise GoldenError("the file holds no JSON object")
    return golden


def write_table(path: Path, table: Mapping[str, Any]) -> None:
    """Write a table as a golden file; compressed if the name ends in `.gz`, byte for byte the same each time."""
    data = json.dumps(table, separators=(",", ":")).encode("ascii")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def need_keys(found: Any, keys: Sequence[str], where: str = "") -> None:
    """Refuse anything but an object that has all the keys."""
    if not isinstance(found, dict):
        raise GoldenError(f"{where or 'the file'} is {shown(found)}; an object with named values is needed")
    for key in keys:
        if key not in found:
            raise GoldenError(f"{where + '.' if where else ''}{key} is missing")


def need_choice(value: Any, allowed: Iterable[str], where: str) -> None:
    """Refuse anything but one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise GoldenError(f"{where} is {shown(value)}; allowed are {', '.join(allowed)}")


def need_table(golden: Mapping[str, Any], key: str, cells: Mapping[str, Callable[[Any], bool]]) -> list[list[Any]]:
    """The rows of `golden[key]`, once its columns and every cell are what they should be.

    Parameters
    ----------
    golden : mapping
    key : str
        Name of the table.
    cells : mapping
        For each column, in order, whether a value may stand in it.
    """
    table = golden[key]
    need_keys(table, ("columns", "rows"), key)
    columns, rows = table["columns"], table["rows"]
    if not (isinstance(columns, list) and isinstance(rows, list)):
        raise GoldenError(f"{key}.columns and {key}.rows are needed as lists")
    if columns != list(cells):
        missing = [name for name in cells if name not in columns]
        problem = f"column {missing[0]} is missing" if missing else f"the columns are {shown(columns)}"
        raise GoldenError(f"{key}: {problem}; needed are {', '.join(cells)}")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns):
            width = len(row) if isinstance(row, list) else "no"
            raise GoldenError(f"{key} row {number} has {width} values; {len(columns)} are needed")
        for name, value in zip(columns, row, strict=True):
            if not cells[name](value):
                raise GoldenError(f"{key} row {number}, column {name} is {shown(value)}; a number is needed there")
    return rows


def is_number(value: Any) -> bool:
    """A finite number; JSON's true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value: Any) -> bool:
    """A whole number that a float64 holds exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53


def is_count(value: Any) -> bool:
    """A whole number from 0 on."""
    return is_whole(value) and bool(value >= 0)


def is_count_or_null(value: Any) -> bool:
    """A whole number from 0 on, or null for "never"."""
    return value is None or is_count(value)


def is_list_of_counts(value: Any) -> bool:
    """A list of whole numbers."""
    return isinstance(value, list) and all(map(is_count, value))


def is_list_of_rows(width: int) -> Callable[[Any], bool]:
    """Whether a value is a list of lists of `width` whole numbers."""
    return lambda value: isinstance(value, list) and all(is_list_of_counts(row) and len(row) == width for row in value)


def shown(value: Any) -> str:
    """A value as it stands in the file, shortened."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse_constant(name: str) -> None:
    raise GoldenError(f"the file holds {name}; only finite numbers are JSON")
