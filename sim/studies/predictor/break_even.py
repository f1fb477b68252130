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
DELAYS_MS = {  # by whether the scheduler waits for a prediction; if not, it is late only where the queue is shorter
    True: (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0),
    False: (0.0, 10.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0, 30_000.0, 100_000.0),
}
E2E_PER_TOKEN = Objective("norm_latency_mean_s", False)  # what ordering is for: short answers do not wait for long ones


Gains = tuple[list[float], list[float]]  # spreads or delays in ms, ascending, and how much better than without


class Limits(NamedTuple):
    """What a use gains over no predictor, as far as it is known."""

    by_spread: Gains
    waits: Gains  # by delay, where the scheduler waits for each prediction ...
    meanwhile: Gains  # ... and where it goes on


class Trial(NamedTuple):
    """One run: a use, and the predictor's error or its delay."""

    use: Use
    spread: float
    delay_ms: float
    has_full_queue: bool  # all requests wait from the start; else they come as the scenario says
    is_synchronous: bool = True  # the scheduler waits for each prediction; else it goes on meanwhile


NO_PREDICTOR = Trial(Use.NONE, 0.0, 0.0, False)
NO_ORDER = Trial(Use.NONE, 0.0, 0.0, True)


def trials(own_spread: float) -> list[Trial]:
    """The server without a predictor, delays of a reservation, then both uses with a full queue.

    An order makes a difference only where requests queue.
    """
    by_spread = [Trial(Use.ORDER, spread, 0.0, True) for spread in sorted({*SPREADS, own_spread})]
    reserving, ordering = (
        [each for is_synchronous in DELAYS_MS for each in late(use, own_spread, is_synchronous=is_synchronous)]
        for use in (Use.RESERVE, Use.ORDER)
    )
    every = [NO_PREDICTOR, *reserving, NO_ORDER, *by_spread, *ordering, Trial(Use.RESERVE, own_spread, 0.0, True)]
    return list(dict.fromkeys(every))


def late(use: Use, spread: float, *, is_synchronous: bool) -> list[Trial]:
    """Trials of every delay; without one it is the same trial whether the scheduler waits or not."""
    has_full_queue = without_of(use).has_full_queue
    return [
        Trial(use, spread, delay_ms, has_full_queue, is_synchronous or delay_ms == 0)
        for delay_ms in DELAYS_MS[is_synchronous]
    ]


def run_trial(scenario: Scenario, trial: Trial, bias: float, trace: Trace | None = None) -> Measured:
    """Run one trial; `bias` is that of a reservation, an order does not care.

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
    when = {"delay_ms": trial.delay_ms, "is_synchronous": trial.is_synchronous}
    return run(with_error(scenario, trial.use, own, trial.spread, **when), trace)


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
    """How much better a run is than the one without a predictor, relative to the latter; none that chance explains."""
    if objective.counted and not objective.differs(now, without):
        return 0.0
    value, base = objective.of(now), objective.of(without)
    better = value - base if objective.is_higher_better else base - value
    return better / abs(base) if base else better


def limits_of(
    tried: Mapping[Trial, Measured], found: Found, use: Use, own_spread: float, objective: Objective
) -> Limits:
    """Gains of a use from the trials and the map of errors so far; by delay at the scenario's own spread."""
    waits, meanwhile = (
        gains_by_delay(tried, use, own_spread, objective, is_synchronous=is_synchronous)
        for is_synchronous in (True, False)
    )
    return Limits(gains_by_spread(tried, found, use, objective), waits, meanwhile)


def gains_by_spread(tried: Mapping[Trial, Measured], found: Found, use: Use, objective: Objective) -> Gains:
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
    tried: Mapping[Trial, Measured], use: Use, own_spread: float, objective: Objective, *, is_synchronous: bool
) -> Gains:
    """Delays in ms and gains so far, at the scenario's own spread; the scheduler waits for a prediction or goes on."""
    without = tried.get(without_of(use))
    if without is None:
        return [], []
    there = [each for each in late(use, own_spread, is_synchronous=is_synchronous) if each in tried]
    return [each.delay_ms for each in there], [gain(tried[each], without, objective) for each in there]


def without_of(use: Use) -> Trial:
    """The run that a use is compared with."""
    return NO_ORDER if use is Use.ORDER else NO_PREDICTOR


def within_factor_of_two(spread: float) -> float:
    """Share of predictions that are at most twice too long and no less than half as long, for a log-normal error."""
    return float(2 * ndtr(math.log(2) / spread) - 1) if spread > 0 else 1.0
