"""Cells of a table as numbers, or a sentence that names the line, the value and what is wanted."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.part import MAX_TOKENS
from sim.workload.clock import NS_PER_S
from sim.workload.readers.table import Column

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_INSTANT_S = 9e9  # in nanoseconds still an int64; the year 2255 if counted from 1970

# Centuries whose nanoseconds since 1970 fit an int64.
ISO_DATE_TIME = re.compile(
    r"\s*((?:19|20|21)\d\d-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)\s*(Z|[+-]\d\d:?\d\d)?\s*"
)


def token_counts(column: Column, *, least: int) -> Ints:
    """Whole numbers of tokens.

    Parameters
    ----------
    column : Column
        n cells.
    least : int
        Smallest number allowed.

    Returns
    -------
    (n,) int64

    Raises
    ------
    DataError
        Not a number, not whole, below `least` or above `MAX_TOKENS`.
    """
    wanted = f"a whole number from {least} to {MAX_TOKENS} is needed"
    tokens = _numbers(column, wanted)
    _check(column, (tokens >= least) & (tokens <= MAX_TOKENS) & (tokens == np.floor(tokens)), wanted)
    return tokens.astype(np.int64)


def numbers(column: Column, *, least: float, most: float) -> Floats:
    """Numbers within limits.

    Returns
    -------
    (n,) float64

    Raises
    ------
    DataError
        Not a number, below `least` or above `most`.
    """
    wanted = f"a number from {least:.10g} to {most:.10g} is needed"
    values = _numbers(column, wanted)
    _check(column, (values >= least) & (values <= most), wanted)
    return values


def instants_ns(column: Column, *, ns_per_unit: int) -> Ints:
    """Instants in nanoseconds, from the origin of the file's own clock.

    Parameters
    ----------
    column : Column
        n cells: numbers, or ISO dates with a time of day.
    ns_per_unit : int
        What one unit of the numbers is; dates do not need it.

    Returns
    -------
    (n,) int64

    Raises
    ------
    DataError
        Neither, or a number below 0 or above `MAX_INSTANT_S`.
    """
    if ISO_DATE_TIME.fullmatch(column.cells[0]):
        return iso_instants_ns(column)
    limit = MAX_INSTANT_S * NS_PER_S / ns_per_unit
    wanted = f"a number from 0 to {limit:g}, or a date with time, is needed"
    units = _numbers(column, wanted)
    _check(column, (units >= 0) & (units <= limit), wanted)
    whole = np.floor(units)  # apart from the rest: nanoseconds since 1970 do not fit a float64
    return whole.astype(np.int64) * ns_per_unit + np.rint((units - whole) * ns_per_unit).astype(np.int64)


def iso_instants_ns(column: Column) -> Ints:
    """ISO dates with a time of day as nanoseconds since 1970: all decimals fit an int64, but not a float64.

    Returns
    -------
    (n,) int64

    Raises
    ------
    DataError
        A cell that is no such date.
    """
    if _is_uniform(column.cells):
        try:
            return _nanoseconds(column.cells)
        except ValueError:
            pass  # the loop below finds the cell to blame
    instants = np.empty(len(column.cells), dtype=np.int64)
    for i, cell in enumerate(column.cells):
        try:
            instants[i] = _instant_ns(cell)
        except ValueError:
            raise column.refuse(i, "a date with time, such as 2023-11-16 18:17:03.9799600, is needed") from None
    return instants


def _is_uniform(cells: Sequence[str]) -> bool:
    """Whether all look like the first and that is a date without time zone, so that NumPy reads them in one go."""
    first = ISO_DATE_TIME.fullmatch(cells[0])
    one_form = len({len(cell) for cell in cells}) == 1 and {cell[:2] for cell in cells} <= {"19", "20", "21"}
    return first is not None and first[2] is None and one_form


def _nanoseconds(dates: Sequence[str]) -> Ints:
    return np.array(dates, dtype="datetime64[ns]").astype(np.int64)


def _instant_ns(cell: str) -> int:
    """One date; without a time zone it counts as UTC."""
    match = ISO_DATE_TIME.fullmatch(cell)
    if match is None:
        raise ValueError(cell)
    zone = (match[2] or "Z").replace(":", "").replace("Z", "+0000")
    offset_s = int(zone[0] + "1") * (int(zone[1:3]) * 60 + int(zone[3:5])) * 60
    return int(_nanoseconds([match[1]])[0]) - offset_s * NS_PER_S


def _numbers(column: Column, wanted: str) -> Floats:
    try:
        return np.array([float(cell) for cell in column.cells])
    except ValueError:
        raise column.refuse(_first_not_a_number(column.cells), wanted) from None


def _first_not_a_number(cells: Sequence[str]) -> int:
    for i, cell in enumerate(cells):
        try:
            float(cell)
        except ValueError:
            return i
    raise AssertionError("every cell is a number")


def _check(column: Column, is_good: Bools, wanted: str) -> None:
    """Refuse the first cell that is not good; comparisons with NaN are false, so NaN never is."""
    if not is_good.all():
        raise column.refuse(int(np.argmin(is_good)), wanted)
