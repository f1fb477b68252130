"""Which layout a trace file has: the list that every reader joins."""

import os
from typing import Protocol

from sim.errors import DataError, shown
from sim.workload.readers import azure, plain
from sim.workload.readers.text import TextFile, text_file
from sim.workload.trace import Trace


class Reader(Protocol):
    """A module that reads one layout."""

    LAYOUT: str  # its name, with what it looks like

    def recognises(self, file: TextFile) -> bool:
        """Whether the file claims to have this layout; decided by its beginning."""

    def read(self, file: TextFile) -> Trace:
        """The trace in a file that is recognised."""


READERS: tuple[Reader, ...] = (azure, plain)  # the first that recognises a file reads it: strict layouts first
LAYOUTS = tuple(reader.LAYOUT for reader in READERS)


def read_trace(source: str | os.PathLike[str] | bytes, name: str | None = None) -> Trace:
    """Read a trace of real requests, whatever its layout; gzip is unpacked.

    Rows are put in order of arrival, and time is counted from the first. Blank lines are skipped.

    Parameters
    ----------
    source : path or bytes
        Where the file is, or what is in it.
    name : str, optional
        How sentences and results call it; else the path's last part.

    Raises
    ------
    DataError
        In one sentence that names file, line, value and what is wanted.
    """
    file = text_file(source, name)
    first_line = next((line.strip() for line in file.lines() if line.strip()), None)
    if first_line is None:
        raise DataError(f"{file.name} is empty; at least one request is needed")
    for reader in READERS:
        if reader.recognises(file):
            return reader.read(file)
    raise DataError(f"{file.name} begins with {shown(first_line)}; known layouts are {' and '.join(LAYOUTS)}")
