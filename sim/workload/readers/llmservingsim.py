"""LLMServingSim workloads, and what its benchmark records of a real vLLM: a JSON object a line.

Source: github.com/casys-kaist/LLMServingSim, workloads and bench.
"""

from dataclasses import replace

from sim.workload.readers.columns import TraceColumns, rows_of
from sim.workload.readers.jsonl import first_record, records_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

LAYOUT = "LLMServingSim JSON lines (input_toks, output_toks, arrival_time_ns)"
WORKLOAD = TraceColumns(arrival="arrival_time_ns", ns_per_unit=1, prompt="input_toks", output="output_toks")
MEASURED = replace(WORKLOAD, arrival="arrival_time", ns_per_unit=10**9)  # seconds since 1970


def recognises(file: TextFile) -> bool:
    """Whether the first object has `toks`."""
    return not {"input_toks", "output_toks"}.isdisjoint(first_record(file))


def read(file: TextFile) -> Trace:
    """The trace in such a file.

    Raises
    ------
    DataError
        A line that cannot be right.
    """
    columns = MEASURED if "arrival_time" in first_record(file) else WORKLOAD
    rows = rows_of(file, columns, [records_of(file).chunk(columns)])
    return trace_of(file.name, file.sha256, LAYOUT, **rows._asdict())
