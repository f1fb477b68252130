"""BurstGPT: ChatGPT and GPT-4 calls at a university, in seconds from the first day's midnight.

Source: github.com/HPMLL/BurstGPT.
"""

import numpy as np

from sim.errors import DataError
from sim.workload.readers.columns import TraceColumns, rows_of
from sim.workload.readers.names import header_names, needed_position
from sim.workload.readers.table import column_chunks
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

LAYOUT = "BurstGPT CSV (Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type)"


def recognises(file: TextFile) -> bool:
    """Whether the header has the model and the log type that BurstGPT's files have."""
    return {"model", "logtype"} <= set(header_names(file))


def read(file: TextFile) -> Trace:
    """The trace in such a file; requests that failed are left out.

    Raises
    ------
    DataError
        A column that is missing, a row that cannot be right, or nothing but failures.
    """
    columns = TraceColumns(
        arrival=needed_position(file, "Timestamp", ["timestamp"]),
        prompt=needed_position(file, "Request tokens", ["requesttokens"]),
        output=needed_position(file, "Response tokens", ["responsetokens"]),
        type=needed_position(file, "Log Type", ["logtype"]),
    )
    rows = rows_of(file, columns, column_chunks(file, columns.wanted()))
    # Its authors: "failures" are the requests with 0 response tokens.
    (answered,) = np.nonzero(rows.output_len)
    if not len(answered):
        raise DataError(f"{file.name}: Response tokens is 0 in every row; at least one answered request is needed")
    n = len(rows.output_len)
    left_out = f"{n - len(answered)} of {n} requests were left out: they failed (0 response tokens)."
    return trace_of(
        file.name,
        file.sha256,
        LAYOUT,
        instant_ns=None if rows.instant_ns is None else rows.instant_ns[answered],
        prompt_len=None if rows.prompt_len is None else rows.prompt_len[answered],
        output_len=rows.output_len[answered],
        types=None if rows.types is None else [rows.types[i] for i in answered],
        notes=[left_out] if len(answered) < n else [],
    )
