"""Up to which error and which delay a predictor is better than none."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

from sim.scenario import Scenario
from sim.studies.predictor.error_map import Found, Objective
from sim.studies.predictor.uses import Measured, Use, run, served, with_error
from sim.studies.saturated import saturated
from sim.workload import Trace

WORTH = 0.01  # relative: a smaller gain counts as none
SPREADS = (0.0, 0.3, 0.6, 1.0, 1.6, 2.5)
DELAYS_MS = (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
E2E_PER_TOKEN = Objective("norm_latency_mean_s", False)  # what ordering is for: short answers do not wait for long ones


class Trial(NamedTuple):
    """One run: a use, and the predictor's error or its delay."""

    use: Use
    spread: float
    delay_ms: float
    has_full_queue: bool  # all requests wait from the start; else they come as the scenario says


NO_PREDICTOR = Trial(Use.NONE, 0.0, 0.0, False)
NO_ORDER = Trial(Use.NONE, 0.0, 0.0, True)


def trials(own_spread: float) -> list[Trial]:
    """The server without a predictor, delays of a reservation, then both uses with a full queue.

    An order makes a difference only where requests queue.
    """
    reservation = [Trial(Use.RESERVE, own_spread, delay, False) for delay in DELAYS_MS]
    by_spread = [Trial(Use.ORDER, spread, 0.0, True) for spread in sorted({*SPREADS, own_spread})]
    by_delay = [Trial(Use.ORDER, own_spread, delay, True) for delay in DELAYS_MS]
    every = [NO_PREDICTOR, *reservation, NO_ORDER, *by_spread, *by_delay, Trial(Use.RESERVE, own_spread, 0.0, True)]
    return list(dict.fromkeys(every))


def run_trial(scenario: Scenario, trial: Trial, bias: float, trace: Trace | None = None) -> Measured:
    """Run one trial; `bias` is that of a reservation, an order does not care.

    The scheduler stands still for each prediction: one that comes meanwhile costs nothing before it takes seconds.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    if trial.has_full_queue:
        scenario = saturated(scenario)
    if trial.use is Use.NONE:
        return run(served(scenario, Use.NONE), trace)
    own = bias if trial.use is Use.RESERVE else 0.0
    asked = with_error(scenario, trial.use, own, trial.spread, delay_ms=trial.delay_ms, is_synchronous=True)
    return run(asked, trace)


def break_even(x: Sequence[float], gain: Sequence[float]) -> float:
    """Up to which `x` there is a gain.

    Parameters
    ----------
    x : sequence of float
        Ascending.
    gain : sequence of float
        How much better than without, relative.

    Returns
    -------
    float
        Where the gain falls to `WORTH`, on a straight line between two known points of the falling curve that lies
        nearest to the gains: a P99 has noise. NaN if there is no gain at the first, infinite if it never falls so far.
    """
    if len(gain) == 0 or np.isnan(gain).any():
        return math.nan
    over = (isotonic_regression(gain, increasing=False).x - WORTH).tolist()
    if not over[0] > 0:
        return math.nan
    for i in range(1, len(x)):
        if not over[i] > 0:
            return float(x[i - 1] + (x[i] - x[i - 1]) * over[i - 1] / (over[i - 1] - over[i]))
    return math.inf


def gain(now: Measured, without: Measured, objective: Objective) -> float:
    """How much better a run is than the one without a predictor, relative to the latter."""
    value, base = objective.of(now), objective.of(without)
    better = value - base if objective.is_higher_better else base - value
    return better / abs(base) if base else better


def gains_by_spread(
    tried: Mapping[Trial, Measured], found: Found, use: Use, objective: Objective
) -> tuple[list[float], list[float]]:
    """Spreads and gains so far; a reservation may choose its bias at every spread."""
    without = tried.get(without_of(use))
    if without is None:
        return [], []
    if use is Use.ORDER:
        runs = [(trial.spread, now) for trial, now in tried.items() if trial.use is use and trial.delay_ms == 0]
    else:
        runs = [(cell.spread, now) for cell, now in found.items()]
    by_spread: dict[float, list[float]] = {}
    for spread, now in runs:
        by_spread.setdefault(spread, []).append(gain(now, without, objective))
    spreads = sorted(by_spread)
    return spreads, [float(np.max(by_spread[spread])) for spread in spreads]


def gains_by_delay(
    tried: Mapping[Trial, Measured], use: Use, own_spread: float, objective: Objective
) -> tuple[list[float], list[float]]:
    """Delays in ms and gains so far, at the scenario's own spread."""
    without = tried.get(without_of(use))
    if without is None:
        return [], []
    delays = [delay for delay in DELAYS_MS if Trial(use, own_spread, delay, without_of(use).has_full_queue) in tried]
    runs = [tried[Trial(use, own_spread, delay, without_of(use).has_full_queue)] for delay in delays]
    return delays, [gain(now, without, objective) for now in runs]


def without_of(use: Use) -> Trial:
    """The run that a use is compared with."""
    return NO_ORDER if use is Use.ORDER else NO_PREDICTOR


def within_factor_of_two(spread: float) -> float:
    """Share of predictions that are at most twice too long and no less than half as long, for a log-normal error."""
    return float(2 * ndtr(math.log(2) / spread) - 1) if spread > 0 else 1.0
