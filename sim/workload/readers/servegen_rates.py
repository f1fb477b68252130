"""The first file of a ServeGen chunk: how many requests come in each window, and how unevenly."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sim.errors import DataError
from sim.workload.randomness import Purpose, RandomNumbers
from sim.workload.readers.cells import numbers as numbers_of
from sim.workload.readers.table import Column, column_chunks
from sim.workload.readers.text import TextFile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LABELS = ("start", "rate", "cv", "family", "shape", "scale")
FAMILIES = ("Gamma", "Weibull")
WINDOW_S = 600.0  # where there is only one
DAY_S = 86_400.0
MOST_REQUESTS = 1_000_000  # more takes a page too long
LARGEST_RATE = 5_000.0
SHAPES = (0.01, 1e4)


class Rates(NamedTuple):
    """Windows with requests, one a row."""

    file: str
    start_s: Floats
    width_s: Floats
    num_requests: Ints
    is_gamma: Bools
    shape: Floats

    @property
    def total(self) -> int:
        """Requests in all windows."""
        return int(self.num_requests.sum())


def rates_of(file: TextFile) -> tuple[Rates, list[str]]:
    """The windows to draw from, and what they leave out: a day and `MOST_REQUESTS` at most, from the first request on.

    Raises
    ------
    DataError
        A line that cannot be right, or no requests.
    """
    chunks = column_chunks(file, range(len(LABELS)), LABELS)
    parts = [_windows(*chunk) for chunk in chunks]
    start, rate, is_gamma, shape = (np.concatenate(column) for column in zip(*parts, strict=True))
    width = np.diff(start, append=start[-1] + (start[-1] - start[-2] if len(start) > 1 else WINDOW_S))
    if not np.all(width > 0):
        late = start[np.argmax(width <= 0)]
        raise DataError(f"{file.name} has the window {late:g} before one no later; ascending ones are needed")
    num_requests = np.rint(rate * width).astype(np.int64)
    if not num_requests.any():
        raise DataError(f"{file.name}: rate is 0 in every window; at least one request is needed")
    begin = start[np.argmax(num_requests > 0)]
    is_early = (start < begin + DAY_S) & (np.cumsum(num_requests) <= MOST_REQUESTS)
    chosen = (num_requests > 0) & (is_early | (start == begin))
    rates = Rates(file.name, start[chosen], width[chosen], num_requests[chosen], is_gamma[chosen], shape[chosen])
    notes = [f"{rates.total} requests were drawn from rates and length distributions, with a fixed seed."]
    if left := int(num_requests.sum()) - rates.total:
        end = rates.start_s[-1] + rates.width_s[-1]
        notes.append(f"They are those from {begin:g} s to {end:g} s; {left} later ones were left out.")
    return rates, notes


def drawn_instants_s(rates: Rates, numbers: RandomNumbers) -> Floats:
    """Arrivals: gaps of each window's shape, scaled so that they fill it.

    Returns
    -------
    (rates.total,) float64
        Seconds, ascending.
    """
    u = numbers.uniforms(Purpose.GAP, rates.total + len(rates.start_s))
    instants, first = [], 0
    for start, width, n, is_gamma, shape in zip(*rates[1:], strict=True):
        rank = u[first : first + n + 1]  # the last gap reaches to the end of the window
        gaps = gammaincinv(shape, rank) if is_gamma else (-np.log1p(-rank)) ** (1 / shape)
        ends = np.cumsum(gaps)
        instants.append(start + width * ends[:-1] / ends[-1])
        first += n + 1
    return np.concatenate(instants)


def _windows(
    start: Column, rate: Column, _cv: Column, family: Column, shape: Column, _scale: Column
) -> tuple[Floats, Floats, Bools, Floats]:
    """Start, rate, whether the gaps are gamma, and their shape; CV and scale follow from rate and shape."""
    starts = numbers_of(start, least=0, most=1e9)
    rates = numbers_of(rate, least=0, most=LARGEST_RATE)
    busy = np.flatnonzero(rates).tolist()
    for i in busy:
        if family.cells[i] not in FAMILIES:
            raise family.refuse(i, f"{' or '.join(FAMILIES)} is needed")
    shapes = np.ones(len(rates))
    if busy:
        shapes[busy] = numbers_of(shape.picked(busy), least=SHAPES[0], most=SHAPES[1])
    return starts, rates, np.array(family.cells) == "Gamma", shapes
