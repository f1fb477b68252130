"""Plain CSV: `arrival_s, prompt_tokens, output_tokens[, type]` under these names or under others in use."""

from collections.abc import Iterable

from sim.errors import DataError
from sim.workload.readers.columns import TraceColumns, trace_of_columns
from sim.workload.readers.table import header_of
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace

LAYOUT = "plain CSV (arrival_s, prompt_tokens, output_tokens[, type])"

# Headers without case, spaces and punctuation; of several in one file the first listed counts.
NS_PER_UNIT = {"s": 10**9, "": 10**9, "sec": 10**9, "seconds": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
ARRIVAL = {
    name + unit: ns_per_unit
    for name in ("arrival", "arrivaltime", "arrivaltimestamp", "arrivedat", "timestamp", "starttime", "time")
    for unit, ns_per_unit in NS_PER_UNIT.items()
}
PROMPT = (
    *("prompttokens", "prompttoks", "promptlen", "promptlength", "numprompttokens"),
    *("inputtokens", "inputtoks", "inputlen", "inputlength", "numinputtokens"),
    *("prefilltokens", "numprefilltokens", "contexttokens", "requesttokens", "isl"),
)
OUTPUT = (
    *("outputtokens", "outputtoks", "outputlen", "outputlength", "numoutputtokens"),
    *("completiontokens", "numcompletiontokens", "generatedtokens"),
    *("decodetokens", "numdecodetokens", "responsetokens", "osl"),
)
TYPE = ("type", "tasktype", "task", "requesttype", "category", "class", "logtype")


def recognises(file: TextFile) -> bool:
    """Whether the header names a column of prompt or output tokens."""
    header = _header(file)
    return any(name in header for name in (*PROMPT, *OUTPUT))


def read(file: TextFile) -> Trace:
    """The trace in such a file.

    Raises
    ------
    DataError
        A column that is missing or there twice, or a row that cannot be right.
    """
    header = _header(file)
    arrival = _needed(file, header, "arrival_s", ARRIVAL)
    columns = TraceColumns(
        arrival=arrival,
        ns_per_unit=ARRIVAL[header[arrival]],
        prompt=_needed(file, header, "prompt_tokens", PROMPT),
        output=_needed(file, header, "output_tokens", OUTPUT),
        type=_position(file, header, TYPE),
    )
    return trace_of_columns(file, LAYOUT, columns)


def _header(file: TextFile) -> list[str]:
    """The header's cells, lower case, letters and digits only."""
    _, cells = header_of(file)
    return ["".join(filter(str.isalnum, cell.lower())) for cell in cells]


def _position(file: TextFile, header: list[str], names: Iterable[str]) -> int | None:
    for name in names:
        if header.count(name) > 1:
            line, cells = header_of(file)
            label = cells[header.index(name)]
            raise DataError(
                f"{file.name} line {line}: the header has '{label}' {header.count(name)} times; 1 is needed"
            )
        if name in header:
            return header.index(name)
    return None


def _needed(file: TextFile, header: list[str], wanted: str, names: Iterable[str]) -> int:
    position = _position(file, header, names)
    if position is None:
        line, cells = header_of(file)
        found = ", ".join(cell.strip() for cell in cells)
        raise DataError(f"{file.name} line {line}: the header ({found}) has no column {wanted}, which is needed")
    return position
