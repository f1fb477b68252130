"""Which layout a trace file has: the list that every reader joins."""

from collections.abc import Mapping
from typing import Protocol

from sim.errors import DataError
from sim.workload.readers import (
    alpaca,
    apex,
    azure,
    bailian,
    burstgpt,
    lengths_csv,
    llmservingsim,
    mooncake,
    plain,
    servegen,
    ssjf,
)
from sim.workload.readers.text import NO_OTHERS, Source, TextFile, text_file
from sim.workload.trace import Trace


class Reader(Protocol):
    """A module that reads one layout."""

    LAYOUT: str  # its name, with what it looks like

    def recognises(self, file: TextFile) -> bool:
        """Whether the file claims to have this layout; decided by its beginning."""

    def read(self, file: TextFile) -> Trace:
        """The trace in a file that is recognised."""


# The first that recognises a file reads it: strict layouts first.
READERS: tuple[Reader, ...] = (
    *(azure, burstgpt, ssjf, servegen),
    *(bailian, mooncake, apex, llmservingsim, alpaca),
    *(lengths_csv, plain),
)
LAYOUTS = tuple(reader.LAYOUT for reader in READERS)


def read_trace(source: Source, name: str | None = None, *, others: Mapping[str, bytes] = NO_OTHERS) -> Trace:
    """Read a trace of real requests, whatever its layout; gzip is unpacked.

    Rows are put in order of arrival, and time is counted from the first. Blank lines are skipped. Where a layout
    has two files (ServeGen), either will do: the other is taken from `others` or from the same folder.

    Parameters
    ----------
    source : path or bytes
        Where the file is, or what is in it.
    name : str, optional
        How sentences and results call it; else the path's last part.
    others : mapping from name to bytes, optional
        Files that came with it.

    Raises
    ------
    DataError
        In one sentence that names file, line or key, value and what is wanted.
    """
    file = text_file(source, name, others=others)
    if not file.begins():
        raise DataError(f"{file.name} is empty; at least one request is needed")
    trace = trace_if_any(file)
    if trace is not None:
        return trace
    raise file.of_no_layout(LAYOUTS)


def trace_if_any(file: TextFile) -> Trace | None:
    """The trace in a file; None where no reader recognises it."""
    return next((reader.read(file) for reader in READERS if reader.recognises(file)), None)
