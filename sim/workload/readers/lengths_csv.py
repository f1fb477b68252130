"""CSV with lengths and no arrivals, such as the ShareGPT and arXiv lengths of Sarathi-Serve and Vidur.

Source: github.com/microsoft/vidur, data/processed_traces (num_prefill_tokens, num_decode_tokens, ...).
"""

from sim.workload.readers.columns import TraceColumns, trace_of_table
from sim.workload.readers.names import OUTPUT, PROMPT, TYPE, header_names, needed_position, position_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace

LAYOUT = "lengths CSV (prompt_tokens, output_tokens)"
NOT_NEEDED = ("", "id", "requestid", "totaltokens", "numtotaltokens", "pdratio")


def recognises(file: TextFile) -> bool:
    """Whether all columns are known and none of them is an arrival.

    A column of another name might be the arrivals, and those must not be lost in silence.
    """
    header = header_names(file)
    return any(name in header for name in OUTPUT) and set(header) <= {*PROMPT, *OUTPUT, *TYPE, *NOT_NEEDED}


def read(file: TextFile) -> Trace:
    """The lengths in such a file, to arrive as a scenario says.

    Raises
    ------
    DataError
        A column that is missing or there twice, or a row that cannot be right.
    """
    columns = TraceColumns(
        output=needed_position(file, "output_tokens", OUTPUT),
        prompt=needed_position(file, "prompt_tokens", PROMPT),
        type=position_of(file, TYPE),
    )
    return trace_of_table(file, LAYOUT, columns)
