"""A trace: requests that were really sent, as every reader hands them over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sim.workload.clock import NS_PER_S
from sim.workload.prefixes import Segments

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trace:
    """Requests in order of arrival. Two traces are the same if `sha256` is.

    Parameters
    ----------
    name : str
        File name, without folders.
    sha256 : str
        Of the file's bytes, as they are on the disk; of a pair of files, of the one after the other.
    layout : str
        Name of the layout that was recognised.
    arrival_s : (n,) float64 or None
        Seconds after the first arrival, ascending, whole nanoseconds. None: lengths only, to arrive as a scenario says.
    prompt_len : (n,) int64 or None
        Tokens, at least 1. None: the file has outputs only, and prompts come from the scenario.
    output_len : (n,) int64
        Tokens, at least 1.
    type_names : tuple of str
        Task types in order of appearance; empty where the file names none.
    type_id : (n,) int64
        Index into `type_names`; all 0 where the file names none.
    segments : Segments or None
        Texts that prompts share, if the file says.
    notes : tuple of str
        What the reader had to decide, one sentence each.
    """

    name: str
    sha256: str
    layout: str
    arrival_s: Floats | None
    prompt_len: Ints | None
    output_len: Ints
    type_names: tuple[str, ...]
    type_id: Ints
    segments: Segments | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.output_len)

    def without_arrivals(self) -> "Trace":
        """The same lengths in the same order, to arrive as a scenario says."""
        return replace(self, arrival_s=None)

    def head(self, n: int) -> "Trace":
        """The first `n` requests, as another trace."""
        if n >= len(self):
            return self
        return replace(
            self,
            sha256=f"{self.sha256}:{n}",
            arrival_s=None if self.arrival_s is None else self.arrival_s[:n],
            prompt_len=None if self.prompt_len is None else self.prompt_len[:n],
            output_len=self.output_len[:n],
            type_id=self.type_id[:n],
            segments=None if self.segments is None else _taken(self.segments, np.arange(n)),
        )


def trace_of(
    name: str,
    sha256: str,
    layout: str,
    *,
    output_len: Ints,
    prompt_len: Ints | None = None,
    instant_ns: Ints | None = None,
    types: Sequence[str] | None = None,
    segments: Segments | None = None,
    notes: Sequence[str] = (),
) -> Trace:
    """Put a file's rows in order of arrival and count its time from the first.

    Parameters
    ----------
    name, sha256, layout : str
        As in `Trace`.
    output_len : (n,) int64
        Tokens. An output of 0 counts as 1: whoever served the request has delivered something.
    prompt_len : (n,) int64, optional
        Tokens.
    instant_ns : (n,) int64, optional
        Arrivals in nanoseconds, from any origin, in any order. Rows of the same instant keep the file's order.
    types : (n,) sequence of str, optional
        Task types.
    segments : Segments, optional
        Texts that prompts share, by row of the file.
    notes : sequence of str
        What the reader has decided so far.
    """
    n = len(output_len)
    notes = list(notes)
    if empty := int(np.count_nonzero(output_len == 0)):
        notes.append(f"{empty} of {n} requests have 0 output tokens; they count as 1.")
    order = np.arange(n)
    if instant_ns is not None and np.any(instant_ns[1:] < instant_ns[:-1]):
        notes.append("Rows were not in order of arrival; they were sorted.")
        order = np.argsort(instant_ns, kind="stable")
    type_index = {label: i for i, label in enumerate(dict.fromkeys(types or ()))}
    type_id = np.array([type_index[label] for label in types], dtype=np.int64) if types else np.zeros(n, np.int64)
    return Trace(
        name=name,
        sha256=sha256,
        layout=layout,
        arrival_s=None if instant_ns is None else (instant_ns[order] - instant_ns[order[0]]) / NS_PER_S,
        prompt_len=None if prompt_len is None else prompt_len[order],
        output_len=np.maximum(output_len[order], 1),
        type_names=tuple(type_index),
        type_id=type_id[order],
        segments=None if segments is None else _taken(segments, order),
        notes=tuple(notes),
    )


def _taken(segments: Segments, order: Ints) -> Segments:
    """The segments of the requests `order`, one after the other."""
    count = np.diff(segments.start)[order]
    start = np.concatenate(([0], np.cumsum(count)))
    rows = np.arange(start[-1]) + np.repeat(segments.start[order] - start[:-1], count)
    return Segments(start, segments.content[rows], segments.length[rows])
