"""Plain CSV: `arrival_s, prompt_tokens, output_tokens[, type]` under these names or under others in use."""

from sim.workload.readers.columns import TraceColumns, trace_of_table
from sim.workload.readers.names import ARRIVAL, OUTPUT, PROMPT, TYPE, header_names, needed_position, position_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace

LAYOUT = "plain CSV (arrival_s, prompt_tokens, output_tokens[, type])"


def recognises(file: TextFile) -> bool:
    """Whether the header names a column of prompt or output tokens."""
    header = header_names(file)
    return any(name in header for name in (*PROMPT, *OUTPUT))


def read(file: TextFile) -> Trace:
    """The trace in such a file.

    Raises
    ------
    DataError
        A column that is missing or there twice, or a row that cannot be right.
    """
    arrival = needed_position(file, "arrival_s", ARRIVAL)
    columns = TraceColumns(
        arrival=arrival,
        ns_per_unit=ARRIVAL[header_names(file)[arrival]],
        prompt=needed_position(file, "prompt_tokens", PROMPT),
        output=needed_position(file, "output_tokens", OUTPUT),
        type=position_of(file, TYPE),
    )
    return trace_of_table(file, LAYOUT, columns)
