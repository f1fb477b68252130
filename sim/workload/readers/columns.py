"""From the columns of a file to the rows of a `Trace`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sim.errors import DataError
from sim.workload.readers.cells import instants_ns, token_counts
from sim.workload.readers.table import Column, column_chunks
from sim.workload.readers.text import TextFile
from sim.workload.trace import Trace, trace_of

Ints = NDArray[np.int64]
Place = TypeVar("Place", int, str)  # position in a table, from 0, or key of a JSON object


@dataclass(frozen=True)
class TraceColumns(Generic[Place]):
    """Where a file has what a trace needs; None: it does not say."""

    output: Place
    prompt: Place | None = None
    arrival: Place | None = None
    ns_per_unit: int = 10**9  # nanoseconds in one unit of the arrival column
    type: Place | None = None

    def wanted(self) -> list[Place]:
        """Places of all columns that there are, in the order in which `rows_of` takes them."""
        return [each for each in (self.output, self.prompt, self.arrival, self.type) if each is not None]


class Rows(NamedTuple):
    """What a file says about n requests, in its own order; None: nothing."""

    instant_ns: Ints | None
    prompt_len: Ints | None
    output_len: Ints
    types: list[str] | None


def rows_of(
    file: TextFile, columns: TraceColumns[Place], chunks: Iterable[Sequence[Column]], *, least_output: int = 0
) -> Rows:
    """Check and join the columns of a file, given some rows at a time.

    Parameters
    ----------
    file : TextFile
        For the sentences.
    columns : TraceColumns
        Which columns there are.
    chunks : iterable of sequences of Column
        Those columns, in the order of `columns.wanted()`.
    least_output : int
        Fewest output tokens allowed.

    Raises
    ------
    DataError
        No rows, or a row that cannot be right; the sentence names its line.
    """
    outputs, prompts, instants, types = [], [], [], []
    for chunk in chunks:
        column = iter(chunk)
        outputs.append(token_counts(next(column), least=least_output))
        if columns.prompt is not None:
            prompts.append(token_counts(next(column), least=1))
        if columns.arrival is not None:
            instants.append(instants_ns(next(column), ns_per_unit=columns.ns_per_unit))
        if columns.type is not None:
            types += [label.strip() for label in next(column).cells]
    if not outputs:
        raise DataError(f"{file.name} has a header and no rows; at least one request is needed")
    return Rows(
        instant_ns=np.concatenate(instants) if instants else None,
        prompt_len=np.concatenate(prompts) if prompts else None,
        output_len=np.concatenate(outputs),
        types=types if columns.type is not None else None,
    )


def trace_of_table(file: TextFile, layout: str, columns: TraceColumns[int]) -> Trace:
    """Read the rows below the header of a table.

    Raises
    ------
    DataError
        No rows, or a row that cannot be right; the sentence names its line.
    """
    rows = rows_of(file, columns, column_chunks(file, columns.wanted()))
    return trace_of(file.name, file.sha256, layout, **rows._asdict())
