"""Names that columns have in use, compared without case, spaces and punctuation."""

from collections.abc import Iterable

from sim.errors import DataError
from sim.workload.readers.table import header_of
from sim.workload.readers.text import TextFile

# Of several in one file the first listed counts.
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


def plain_name(name: str) -> str:
    """A name in lower case, letters and digits only."""
    return "".join(filter(str.isalnum, name.lower()))


def header_names(file: TextFile) -> list[str]:
    """The plain names in a table's header; empty where the file does not begin like a table."""
    return [plain_name(cell) for cell in header_of(file)[1]]


def position_of(file: TextFile, names: Iterable[str]) -> int | None:
    """Which column has the first of these plain names that the header has; None: it has none of them.

    Raises
    ------
    DataError
        That name is there twice.
    """
    header = header_names(file)
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


def needed_position(file: TextFile, wanted: str, names: Iterable[str]) -> int:
    """As `position_of`, for a column that must be there.

    Parameters
    ----------
    wanted : str
        How the sentence calls it.

    Raises
    ------
    DataError
        It is not there, or twice.
    """
    position = position_of(file, names)
    if position is None:
        line, cells = header_of(file)
        found = ", ".join(cell.strip() for cell in cells)
        raise DataError(f"{file.name} line {line}: the header ({found}) has no column {wanted}, which is needed")
    return position
