"""Throughput, latency and preemptions over direction and size of the prediction error."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from sim.metrics import CHANCE
from sim.scenario import Scenario
from sim.studies.predictor.uses import Measured, Use, run, with_error
from sim.workload import Trace

TWICE = math.log(2)
BIASES = tuple(steps * TWICE for steps in (-2, -1, -0.5, 0, 0.5, 1, 2))  # a quarter as long to four times too long
FINE_BIASES = tuple(steps * TWICE for steps in (-2, -1.5, -1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1, 1.5, 2))
SPREADS = (0.0, 0.25, 0.5, 0.9, 1.4)
NEAR_BEST = 0.01  # relative: as good as the best


class Objective(NamedTuple):
    """What the map is drawn for."""

    field: str  # of Measured
    is_higher_better: bool
    counted: str = ""  # field of Measured with the events that it counts, as many as chance makes them; else empty
    is_share: bool = False  # ... which are some of the requests: few can be missed by chance, too

    def of(self, now: Measured) -> float:
        """Its value in a run."""
        return float(getattr(now, self.field))

    def differs(self, one: Measured, other: Measured) -> bool:
        """Whether two runs differ in it by more than `NEAR_BEST` and, where it counts events, by more than chance.

        Chance is two standard deviations of the difference: of Poisson counts, or of counts out of all requests.
        """
        values = self.of(one), self.of(other)
        if not abs(values[0] - values[1]) > NEAR_BEST * max(abs(value) for value in values):
            return False
        if not self.counted:
            return True
        counts = [float(getattr(run, self.counted)) for run in (one, other)]
        kept = [
            1 - count / run.requests if self.is_share else 1.0 for count, run in zip(counts, (one, other), strict=True)
        ]
        return abs(counts[0] - counts[1]) > CHANCE * math.sqrt(sum(map(math.prod, zip(counts, kept, strict=True))))


OBJECTIVES = {
    "throughput": Objective("output_tokens_per_s", True),
    "p99 TPOT": Objective("tpot_p99_s", False),
    "goodput": Objective("goodput_rps", True, "good", is_share=True),
    "preemptions": Objective("preemptions", False, "preemptions"),
}


class ErrorCell(NamedTuple):
    """One error, log units."""

    bias: float
    spread: float


Found = Mapping[ErrorCell, Measured]


class Direction(NamedTuple):
    """Which way to err, where the spread is given; the objective in its own unit."""

    unbiased: float  # without bias
    over: float  # everything is predicted twice as long
    under: float  # ... half as long
    is_over_apart: bool  # from without bias, by more than `Objective.differs` takes for none
    is_under_apart: bool
    is_over_from_under: bool  # the two from each other
    best_bias: float  # log units
    best: float
    least_bias: float  # from here ...
    most_bias: float  # ... to here it is as good as the best
    quantile: float | None  # of the truth that the best bias reserves, 0 to 1; None without spread


def cells(own_spread: float) -> list[ErrorCell]:
    """All errors of the map, those of the curve at the scenario's own spread first."""
    curve = [ErrorCell(bias, own_spread) for bias in FINE_BIASES]
    return curve + [ErrorCell(bias, spread) for spread in SPREADS for bias in BIASES if spread != own_spread]


def run_cell(scenario: Scenario, use: Use, cell: ErrorCell, trace: Trace | None = None) -> Measured:
    """Run one error.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    return run(with_error(scenario, use, *cell), trace)


def curve(found: Found, spread: float, objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """Biases in order and the objective there, each (k,) float64, at one spread and as far as they are known."""
    points = sorted((cell.bias, objective.of(now)) for cell, now in found.items() if cell.spread == spread)
    columns = np.array(points, np.float64).reshape(-1, 2)
    return columns[:, 0], columns[:, 1]


def grid(found: Found, objective: Objective) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The map: spreads (r,), biases (c,) and the objective (r, c), NaN where it is not known."""
    spreads = sorted({cell.spread for cell in found})
    values = [[_at(found, ErrorCell(bias, spread), objective) for bias in BIASES] for spread in spreads]
    return np.array(spreads), np.array(BIASES), np.array(values, np.float64).reshape(len(spreads), len(BIASES))


def _at(found: Found, cell: ErrorCell, objective: Objective) -> float:
    return objective.of(found[cell]) if cell in found else np.nan


def direction(found: Found, spread: float, objective: Objective) -> Direction | None:
    """Which way to err at a spread; None while the curve is not complete, or undefined."""
    runs = {cell.bias: now for cell, now in sorted(found.items()) if cell.spread == spread}
    at = {bias: objective.of(now) for bias, now in runs.items()}
    if not {0.0, TWICE, -TWICE} <= set(at) or np.isnan(list(at.values())).any():
        return None
    unbiased, over, under = runs[0.0], runs[TWICE], runs[-TWICE]
    peak = runs[(max if objective.is_higher_better else min)(at, key=lambda bias: at[bias])]
    is_good = {bias: not objective.differs(now, peak) for bias, now in runs.items()}
    best_bias = min((bias for bias in runs if is_good[bias]), key=abs)  # nobody would bias a predictor for nothing
    return Direction(
        unbiased=at[0.0],
        over=at[TWICE],
        under=at[-TWICE],
        is_over_apart=objective.differs(over, unbiased),
        is_under_apart=objective.differs(under, unbiased),
        is_over_from_under=objective.differs(over, under),
        best_bias=best_bias,
        best=at[best_bias],
        least_bias=_last_good(is_good, best_bias, -1),
        most_bias=_last_good(is_good, best_bias, 1),
        quantile=float(ndtr(best_bias / spread)) if spread > 0 else None,
    )


def _last_good(is_good: Mapping[float, bool], start: float, step: int) -> float:
    """How far one can go from a bias, down or up, without meeting one that is worse; biases ascend."""
    biases = list(is_good)
    at = biases.index(start)
    while 0 <= at + step < len(biases) and is_good[biases[at + step]]:
        at += step
    return biases[at]


def differs(found: Iterable[Measured], objective: Objective) -> bool:
    """Whether the error makes any difference to the objective."""
    known = sorted((now for now in found if not math.isnan(objective.of(now))), key=objective.of)
    return bool(known) and objective.differs(known[0], known[-1])
