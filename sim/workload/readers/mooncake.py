"""Mooncake traces: a JSON object a line, with a hash for every 512 tokens of the prompt.

Source: github.com/kvcache-ai/Mooncake, FAST25-release/traces. Two of its traces have their times rounded to bins
of 3 s (to within 1 ms): taken literally, all requests of a bin would arrive at once.
"""

import numpy as np
from numpy.typing import NDArray

from sim.workload.clock import NS_PER_S
from sim.workload.randomness import Purpose, RandomNumbers
from sim.workload.readers.blocks import shared_blocks
from sim.workload.readers.columns import TraceColumns, rows_of
from sim.workload.readers.jsonl import first_record, records_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

Ints = NDArray[np.int64]

LAYOUT = "Mooncake JSON lines (timestamp, input_length, output_length, hash_ids)"
COLUMNS = TraceColumns(arrival="timestamp", ns_per_unit=10**6, prompt="input_length", output="output_length")
BLOCK_TOKENS = 512
BIN_NS = 3 * NS_PER_S
ROUNDING_NS = NS_PER_S // 1000
SEED = 0  # always the same: a file is one trace


def recognises(file: TextFile) -> bool:
    """Whether the first object has a length or hashes."""
    return not {"input_length", "output_length", "hash_ids"}.isdisjoint(first_record(file))


def read(file: TextFile) -> Trace:
    """The trace in such a file. Without hashes no prompts share anything.

    Raises
    ------
    DataError
        A line that cannot be right.
    """
    records = records_of(file)
    rows = rows_of(file, COLUMNS, [records.chunk(COLUMNS)])
    assert rows.prompt_len is not None
    assert rows.instant_ns is not None
    has_hashes = any("hash_ids" in record for record in records.objects)
    instant_ns, notes = rows.instant_ns, []
    if _is_binned(instant_ns):
        instant_ns = _spread(instant_ns)
        notes.append(f"Arrivals were rounded to {BIN_NS // NS_PER_S} s; they were spread evenly over each bin.")
    return trace_of(
        file.name,
        file.sha256,
        LAYOUT,
        instant_ns=instant_ns,
        prompt_len=rows.prompt_len,
        output_len=rows.output_len,
        segments=shared_blocks(records, "hash_ids", rows.prompt_len, BLOCK_TOKENS) if has_hashes else None,
        notes=notes,
    )


def _is_binned(instant_ns: Ints) -> bool:
    """Whether all instants are multiples of the bin, and more than one of them."""
    off = (instant_ns + ROUNDING_NS) % BIN_NS
    return bool(np.all(off <= 2 * ROUNDING_NS) and np.ptp(instant_ns) > 2 * ROUNDING_NS)


def _spread(instant_ns: Ints) -> Ints:
    """Uniform instants in each row's bin, those of a bin in the order of its rows."""
    begin = (instant_ns + ROUNDING_NS) // BIN_NS * BIN_NS
    offset = np.floor(RandomNumbers(SEED).uniforms(Purpose.GAP, len(begin)) * BIN_NS).astype(np.int64)
    spread = np.empty_like(begin)
    spread[np.argsort(begin, kind="stable")] = np.sort(begin + offset)
    return spread
