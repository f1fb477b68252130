"""Alpaca lengths of Sequence-Scheduling: five output lengths of every prompt; no prompts, no arrivals.

Source: github.com/zhengzangw/Sequence-Scheduling, data.
"""

import json

from sim.errors import DataError, shown
from sim.workload.readers.columns import TraceColumns, rows_of
from sim.workload.readers.jsonl import Records
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

LAYOUT = "Alpaca lengths JSON (id, L_gt, L_t0.7, ...)"
COLUMNS = TraceColumns(output="L_t0.7")
LOOKED_AT = 1000  # characters


def recognises(file: TextFile) -> bool:
    """Whether it begins like a list of lengths."""
    beginning = file.text[:LOOKED_AT].lstrip()
    return beginning.startswith("[") and '"L_' in beginning


def read(file: TextFile) -> Trace:
    """One output of each prompt; prompts and arrivals come from the scenario.

    Raises
    ------
    DataError
        No list of objects, or a length that cannot be right.
    """
    rows = rows_of(file, COLUMNS, [_records(file).chunk(COLUMNS)])
    notes = ["Outputs are those that Vicuna sampled at temperature 0.7 (L_t0.7)."]
    return trace_of(file.name, file.sha256, LAYOUT, **rows._asdict(), notes=notes)


def _records(file: TextFile) -> Records:
    try:
        items = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise DataError(f"{file.name} line {line}: this is no JSON; a list of objects is needed") from None
    for i, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise DataError(f"{file.name} item {i} is {shown(item)}; an object with {COLUMNS.output} is needed")
    return Records(file.name, tuple(range(1, len(items) + 1)), tuple(items), "item")
