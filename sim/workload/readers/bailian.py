"""Qwen-Bailian usage traces: a JSON object a line, with a hash for every 16 tokens of the prompt.

Source: github.com/alibaba-edu/qwen-bailian-usagetraces-anon.
"""

from sim.workload.readers.blocks import shared_blocks
from sim.workload.readers.columns import TraceColumns, rows_of
from sim.workload.readers.jsonl import first_record, records_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

LAYOUT = "Bailian JSON lines (chat_id, timestamp, input_length, output_length, type, hash_ids)"
COLUMNS = TraceColumns(arrival="timestamp", prompt="input_length", output="output_length", type="type")
BLOCK_TOKENS = 16


def recognises(file: TextFile) -> bool:
    """Whether the first object belongs to a chat."""
    return not {"chat_id", "parent_chat_id"}.isdisjoint(first_record(file))


def read(file: TextFile) -> Trace:
    """The trace in such a file.

    Raises
    ------
    DataError
        A line that cannot be right.
    """
    records = records_of(file)
    rows = rows_of(file, COLUMNS, [records.chunk(COLUMNS)])
    assert rows.prompt_len is not None
    segments = shared_blocks(records, "hash_ids", rows.prompt_len, BLOCK_TOKENS)
    return trace_of(file.name, file.sha256, LAYOUT, **rows._asdict(), segments=segments)
