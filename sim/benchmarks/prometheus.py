"""Prometheus text of one scrape: the samples of one program, and the histograms among them.

Source: prometheus.io/docs/instrumenting/exposition_formats.
"""

import math
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.errors import DataError, shown
from sim.workload.readers.text import TextFile

Floats = NDArray[np.float64]

SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)\s*(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?")
LABEL = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:\\.|[^"\\])*)"\s*(?:,|$)')
LARGEST = 1e18
MOST_BUCKETS = 400


class Sample(NamedTuple):
    """A number and where it stands."""

    line: int
    labels: Mapping[str, str]
    value: float


class Samples(NamedTuple):
    """All samples of one program, by metric; names without what stands before the program's own."""

    file: str
    of: Mapping[str, tuple[Sample, ...]]

    def total(self, metric: str) -> float | None:
        """Sum over all sets of labels; None where there is no such metric."""
        found = self.of.get(metric)
        return None if found is None else math.fsum(sample.value for sample in found)

    def mean(self, metric: str) -> float | None:
        """Mean over all sets of labels; None where there is no such metric."""
        found = self.of.get(metric)
        return None if found is None else math.fsum(sample.value for sample in found) / len(found)

    def label_values(self, label: str) -> list[str]:
        """Different values of a label, in order of appearance."""
        every = (sample.labels.get(label) for found in self.of.values() for sample in found)
        return list(dict.fromkeys(value for value in every if value is not None))


class Histogram(NamedTuple):
    """Counts between edges, all sets of labels together."""

    edges: Floats  # (k,) upper edges, ascending; the last may be infinite
    counts: Floats  # (k,) values above the edge before and up to this one
    mean: float | None

    @property
    def total(self) -> float:
        """All values."""
        return float(self.counts.sum())


def samples_of(file: TextFile, program: str) -> Samples:
    """The samples whose names belong to a program.

    Parameters
    ----------
    file : TextFile
        One scrape.
    program : str
        What its metrics begin with, such as `vllm:`; what stands before it is left out (`ray_vllm:`).

    Raises
    ------
    DataError
        A line of that program that is no sample, or none at all.
    """
    found: dict[str, list[Sample]] = {}
    for line, text in enumerate(file.lines(), start=1):
        stripped = text.strip()
        if stripped and not stripped.startswith("#") and program in stripped.partition("{")[0]:
            name, sample = _sample(file, line, stripped)
            found.setdefault(name.partition(program)[2], []).append(sample)
    if not found:
        raise DataError(f"{file.name} has no metric that begins with {program}; those of one scrape are needed")
    return Samples(file.name, {name: tuple(samples) for name, samples in found.items()})


def histogram_of(samples: Samples, metric: str) -> Histogram | None:
    """A histogram; None where there is none, or nothing in it.

    Raises
    ------
    DataError
        Buckets without edges, with falling counts, or that end before infinity.
    """
    buckets = samples.of.get(f"{metric}_bucket")
    if buckets is None:
        return None
    series: dict[tuple[tuple[str, str], ...], list[tuple[float, Sample]]] = {}
    for bucket in buckets:
        labels = tuple(sorted((key, value) for key, value in bucket.labels.items() if key != "le"))
        series.setdefault(labels, []).append((_edge(samples, metric, bucket), bucket))
    for pairs in series.values():
        _check(samples, metric, pairs)
    if len({tuple(edge for edge, _ in pairs) for pairs in series.values()}) > 1:
        raise DataError(f"{samples.file}: the buckets of {metric} differ between engines; equal ones are needed")
    edges = np.array([edge for edge, _ in next(iter(series.values()))])
    if len(edges) > MOST_BUCKETS:
        raise DataError(f"{samples.file}: {metric} has {len(edges)} buckets; at most {MOST_BUCKETS} are allowed")
    cumulative = np.array([[bucket.value for _, bucket in pairs] for pairs in series.values()]).sum(axis=0)
    counts = np.diff(cumulative, prepend=0.0)
    if not counts.sum():
        return None
    total = samples.total(f"{metric}_sum")
    return Histogram(edges, counts, None if total is None else total / float(counts.sum()))


def _sample(file: TextFile, line: int, text: str) -> tuple[str, Sample]:
    match = SAMPLE.fullmatch(text)
    if match is None:
        raise DataError(f"{file.name} line {line}: {shown(text)} is no sample; name{{labels}} value is needed")
    labels, position = {}, 0
    inside = match[2] or ""
    while position < len(inside):
        label = LABEL.match(inside, position)
        if label is None:
            raise DataError(f'{file.name} line {line}: {shown(inside[position:])} is no label; name="value" is needed')
        labels[label[1]], position = label[2], label.end()
    try:
        value = float(match[3])
    except ValueError:
        value = math.nan
    if not 0 <= value <= LARGEST:
        raise DataError(
            f"{file.name} line {line}: {match[1]} is {shown(match[3])}; a number from 0 to {LARGEST:g} is needed"
        )
    return match[1], Sample(line, labels, value)


def _edge(samples: Samples, metric: str, bucket: Sample) -> float:
    text = bucket.labels.get("le", "")
    try:
        edge = float(text)
    except ValueError:
        edge = math.nan
    if not edge >= 0:
        raise DataError(
            f"{samples.file} line {bucket.line}: le of {metric}_bucket is {shown(text)}; a number from 0 on is needed"
        )
    return edge


def _check(samples: Samples, metric: str, pairs: list[tuple[float, Sample]]) -> None:
    """Refuse buckets of one series that are no cumulative counts up to infinity."""
    for (edge, before), (next_edge, after) in pairwise(pairs):
        if not next_edge > edge or after.value < before.value:
            raise DataError(
                f"{samples.file} line {after.line}: {metric}_bucket is {after.value:g} up to {next_edge:g} after "
                f"{before.value:g} up to {edge:g}; both must rise"
            )
    edge, last = pairs[-1]
    if not math.isinf(edge):
        raise DataError(f"{samples.file} line {last.line}: {metric}_bucket is last up to {edge:g}; +Inf is needed")
