"""Azure's LLM inference traces of 2023 and 2024: a date with seven decimals, then two token counts.

Source: github.com/Azure/AzurePublicDataset.
"""

from sim.workload.readers.columns import TraceColumns, trace_of_table
from sim.workload.readers.table import header_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace

HEADER = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"]
LAYOUT = f"Azure CSV ({','.join(HEADER)})"
COLUMNS = TraceColumns(arrival=0, prompt=1, output=2)


def recognises(file: TextFile) -> bool:
    """Whether the header is Azure's, letter by letter."""
    return header_of(file)[1] == HEADER


def read(file: TextFile) -> Trace:
    """The trace in such a file.

    Raises
    ------
    DataError
        A row that cannot be right.
    """
    return trace_of_table(file, LAYOUT, COLUMNS)
