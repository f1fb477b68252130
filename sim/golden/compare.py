"""The first place where two tables differ."""

from collections.abc import Mapping
from typing import Any

from sim.golden.files import shown


def first_difference(golden: Mapping[str, Any], own: Mapping[str, Any]) -> str | None:
    """Where the own table departs from the golden first: steps, then requests, then the totals.

    Returns
    -------
    str or None
        Step, column, golden value and own value; None if the tables are identical.
    """
    for key in ("steps", "requests"):
        difference = _rows_difference(key, golden[key], own[key])
        if difference:
            return difference
    for name, value in golden["summary"].items():
        if value != own["summary"][name]:
            return f"summary, {name}: golden {value}, own {own['summary'][name]}"
    if golden["status"] != own["status"]:
        return f"status: golden {golden['status']}, own {own['status']}"
    return None


def values(value: Any, own_value: Any) -> str:
    """Both values, to be put behind the name of a field; of two lists only the first entries that differ."""
    if isinstance(value, list) and isinstance(own_value, list):
        for index in range(max(len(value), len(own_value))):
            entry, own_entry = (shown(each[index]) if index < len(each) else "nothing" for each in (value, own_value))
            if entry != own_entry:
                return f"[{index}]: golden {entry}, own {own_entry}"
    return f": golden {shown(value)}, own {shown(own_value)}"


def _rows_difference(key: str, golden: Mapping[str, Any], own: Mapping[str, Any]) -> str | None:
    for number, (row, own_row) in enumerate(zip(golden["rows"], own["rows"], strict=False)):
        if row == own_row:
            continue
        for column, value, own_value in zip(golden["columns"], row, own_row, strict=True):
            if value != own_value:
                return f"{_row_name(key, number, row)}, {column}{values(value, own_value)}"
    common = min(len(golden["rows"]), len(own["rows"]))
    if len(golden["rows"]) > common:
        return f"{_row_name(key, common, golden['rows'][common])}: only in the golden, own ends after {common} rows"
    if len(own["rows"]) > common:
        return f"{_row_name(key, common, own['rows'][common])}: only in the own table, golden ends after {common} rows"
    return None


def _row_name(key: str, number: int, row: list[Any]) -> str:
    """Requests are named by their row; steps also by the clock value in their first column."""
    return f"request {number}" if key == "requests" else f"step {row[0]} (row {number})"
