"""From the columns of a table to a `Trace`."""

from typing import NamedTuple

import numpy as np

from sim.errors import DataError
from sim.workload.readers.cells import instants_ns, token_counts
from sim.workload.readers.table import column_chunks
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of


class TraceColumns(NamedTuple):
    """Where a table has what a trace needs; positions from 0."""

    arrival: int
    ns_per_unit: int  # nanoseconds in one unit of the arrival column
    prompt: int
    output: int
    type: int | None  # None: the file names no task types


def trace_of_columns(file: TextFile, layout: str, columns: TraceColumns) -> Trace:
    """Read the rows below the header.

    Raises
    ------
    DataError
        No rows, or a row that cannot be right; the sentence names its line.
    """
    wanted = [columns.arrival, columns.prompt, columns.output]
    if columns.type is not None:
        wanted.append(columns.type)
    instants, prompts, outputs, types = [], [], [], []
    for arrival, prompt, output, *labels in column_chunks(file, wanted):
        instants.append(instants_ns(arrival, ns_per_unit=columns.ns_per_unit))
        prompts.append(token_counts(prompt, least=1))
        outputs.append(token_counts(output, least=0))
        types += [label.strip() for column in labels for label in column.cells]
    if not instants:
        raise DataError(f"{file.name} has a header and no rows; at least one request is needed")
    return trace_of(
        file.name,
        file.sha256,
        layout,
        instant_ns=np.concatenate(instants),
        prompt_len=np.concatenate(prompts),
        output_len=np.concatenate(outputs),
        types=types,
    )
