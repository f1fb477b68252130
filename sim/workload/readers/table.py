"""Text files of rows and columns: separators, blank lines, quotes, and the line each row stands in."""

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from sim.errors import DataError, shown
from sim.workload.readers.text import TextFile

SEPARATORS = ",;\t"
CHUNK_ROWS = 20_000  # rows held as text at a time

Row = tuple[int, list[str]]  # line number from 1, cells


class Column(NamedTuple):
    """Some cells of one column, with all that a sentence about one of them needs."""

    file: str
    label: str  # as the header has it
    lines: tuple[int, ...]
    cells: tuple[str, ...]
    place: str = "line"  # what `lines` counts

    def picked(self, rows: Sequence[int]) -> "Column":
        """Only some cells."""
        return self._replace(lines=tuple(self.lines[i] for i in rows), cells=tuple(self.cells[i] for i in rows))

    def refuse(self, i: int, wanted: str) -> DataError:
        """The sentence about cell `i`."""
        return DataError(f"{self.file} {self.place} {self.lines[i]}: {self.label} is {shown(self.cells[i])}; {wanted}")


def header_of(file: TextFile) -> Row:
    """The first line that is not blank; line 0 and no cells where the file does not begin like a table."""
    try:
        return next(table_rows(file), (0, []))
    except DataError:
        return 0, []


def table_rows(file: TextFile) -> Iterator[Row]:
    """Rows that are not blank, with the line each begins in.

    Raises
    ------
    DataError
        At unmatched quotes.
    """
    separator = _separator(file)
    reader = csv.reader(file.lines(), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cells) and (len(cells) > 1 or not cells[0].isspace()):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{file.name} line {line}: {error}; cells separated by '{separator}' are needed") from None


def column_chunks(
    file: TextFile, positions: Sequence[int], labels: Sequence[str] | None = None
) -> Iterator[list[Column]]:
    """The wanted columns, some thousand rows at a time.

    Parameters
    ----------
    file : TextFile
        A table.
    positions : sequence of int
        Which columns, from 0.
    labels : sequence of str, optional
        What the columns hold, for a table without header; otherwise its first row says so.

    Raises
    ------
    DataError
        At a line with more or fewer cells than the header, or with unmatched quotes.
    """
    rows = table_rows(file)
    header_line, header = next(rows) if labels is None else (0, list(labels))
    pattern = f", as in line {header_line}" if header_line else f" ({', '.join(header)})"
    while chunk := list(islice(rows, CHUNK_ROWS)):
        for line, cells in chunk:
            if len(cells) != len(header):
                raise DataError(
                    f"{file.name} line {line}: {shown(' '.join(cells))} has {_cells(len(cells))}; "
                    f"{len(header)} are needed{pattern}"
                )
        lines, cells_by_row = zip(*chunk, strict=True)
        cells_by_column = list(zip(*cells_by_row, strict=True))
        yield [Column(file.name, header[i].strip(), lines, cells_by_column[i]) for i in positions]


def _separator(file: TextFile) -> str:
    """The separator that the first line with anything in it uses most."""
    first_line = next((line for line in file.lines() if line.strip()), "")
    return max(SEPARATORS, key=first_line.count)


def _cells(n: int) -> str:
    return "1 cell" if n == 1 else f"{n} cells"
