"""Throughput, latency and preemptions over direction and size of the prediction error."""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

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

    def of(self, now: Measured) -> float:
        """Its value in a run."""
        return float(getattr(now, self.field))


OBJECTIVES = {
    "throughput": Objective("output_tokens_per_s", True),
    "p99 TPOT": Objective("tpot_p99_s", False),
    "goodput": Objective("goodput_rps", True),
    "preemptions": Objective("preemptions", False),
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
    bias, value = curve(found, spread, objective)
    at = dict(zip(bias.tolist(), value.tolist(), strict=True))
    if not {0.0, TWICE, -TWICE} <= set(at) or np.isnan(value).any():
        return None
    good = bias[_losses(value, objective) <= NEAR_BEST * float(np.abs(value).max())].tolist()
    best_bias = min(good, key=abs)  # of those as good as the best: nobody would bias a predictor for nothing
    return Direction(
        unbiased=at[0.0],
        over=at[TWICE],
        under=at[-TWICE],
        best_bias=best_bias,
        best=at[best_bias],
        least_bias=min(good),
        most_bias=max(good),
        quantile=float(ndtr(best_bias / spread)) if spread > 0 else None,
    )


def _losses(value: np.ndarray, objective: Objective) -> np.ndarray:
    """How far each value is from the best, (k,) float64, 0 or more."""
    losses: np.ndarray = value.max() - value if objective.is_higher_better else value - value.min()
    return losses


def differs(found: Iterable[Measured], objective: Objective) -> bool:
    """Whether the error makes any difference to the objective."""
    values = np.array([objective.of(now) for now in found], np.float64)
    values = values[~np.isnan(values)]
    return bool(len(values)) and float(np.ptp(values)) > NEAR_BEST * max(float(np.abs(values).max()), 1e-12)
