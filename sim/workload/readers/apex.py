"""APEX traces: a JSON object a line, arrivals as nanoseconds from the start.

Source: github.com/microsoft/apex_plus, traces.
"""

from sim.workload.readers.columns import TraceColumns, rows_of
from sim.workload.readers.jsonl import first_record, records_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

LAYOUT = "APEX JSON lines (ContextTokens, GeneratedTokens, StartTimeOffset)"
COLUMNS = TraceColumns(arrival="StartTimeOffset", ns_per_unit=1, prompt="ContextTokens", output="GeneratedTokens")


def recognises(file: TextFile) -> bool:
    """Whether the first object has an offset or a context."""
    return not {"StartTimeOffset", "ContextTokens"}.isdisjoint(first_record(file))


def read(file: TextFile) -> Trace:
    """The trace in such a file.

    Raises
    ------
    DataError
        A line that cannot be right.
    """
    rows = rows_of(file, COLUMNS, [records_of(file).chunk(COLUMNS)])
    return trace_of(file.name, file.sha256, LAYOUT, **rows._asdict())
