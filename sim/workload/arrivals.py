"""When requests arrive: gaps at rate 1 first, then divided by the rate."""

from typing import assert_never

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sim.arrivals_spec import (
    AllAtOnce,
    Arrivals,
    ClosedLoop,
    Deterministic,
    Diurnal,
    GammaGaps,
    Poisson,
    TraceArrivals,
)
from sim.errors import ScenarioError
from sim.workload.clock import rounded_to_ns
from sim.workload.randomness import Purpose, RandomNumbers

Floats = NDArray[np.float64]

GRID = 2.0**38  # steps of a unit gap: whole numbers add up alike everywhere, and 3e7 unit gaps fit int64
HALVINGS = 50  # of a period: a day to less than a nanosecond


def arrival_times_s(arrivals: Arrivals, numbers: RandomNumbers, n: int) -> Floats:
    """Arrival times of an open loop, think times of a closed one.

    Parameters
    ----------
    arrivals : Arrivals
        As a scenario names them; not a trace, which brings its own times.
    numbers : RandomNumbers
        Purposes GAP and THINK_TIME are used.
    n : int
        Requests.

    Returns
    -------
    (n,) float64
        Seconds, rounded to 1 ns. Open loop: ascending, the first after a gap of its own. Closed loop: think
        time before each request; the first request of every user is moved so that the earliest comes at 0.

    Raises
    ------
    ScenarioError
        If a trace is asked for: there is none here.
    """
    match arrivals:
        case Poisson() | GammaGaps() | Deterministic():
            return rounded_to_ns(_unit_times(arrivals, numbers, n) / arrivals.rate_rps)
        case Diurnal():
            periods = _unit_times(arrivals, numbers, n) / (arrivals.rate_rps * arrivals.period_s)
            return rounded_to_ns(_with_swing(periods, arrivals.swing) * arrivals.period_s)
        case AllAtOnce():
            return np.zeros(n)
        case ClosedLoop():
            return _think_times_s(arrivals, numbers, n)
        case TraceArrivals():
            raise ScenarioError("workload.arrivals.kind is 'trace'; a trace file with arrival times is needed")
        case _:
            assert_never(arrivals)


def num_users(arrivals: Arrivals) -> int:
    """Users of a closed loop; 0 in an open one."""
    return arrivals.concurrency if isinstance(arrivals, ClosedLoop) else 0


def _unit_times(arrivals: Poisson | GammaGaps | Deterministic | Diurnal, numbers: RandomNumbers, n: int) -> Floats:
    """Arrival times at rate 1."""
    return np.cumsum(np.rint(_unit_gaps(arrivals, numbers, n) * GRID).astype(np.int64)) / GRID


def _with_swing(periods: Floats, swing: float) -> Floats:
    """When a rate of 1 - swing cos(2 pi x) has brought as many arrivals as a rate of 1 by `periods`.

    The integral of the rate, x - swing sin(2 pi x) / 2 pi, only rises, so it is inverted by halving.
    """
    whole = np.floor(periods)
    low, high, wanted = np.zeros(len(periods)), np.ones(len(periods)), periods - whole
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_late = middle - swing * np.sin(2 * np.pi * middle) / (2 * np.pi) >= wanted
        low, high = np.where(is_late, low, middle), np.where(is_late, middle, high)
    return whole + (low + high) / 2


def _unit_gaps(arrivals: Poisson | GammaGaps | Deterministic | Diurnal, numbers: RandomNumbers, n: int) -> Floats:
    """Gaps with mean 1."""
    if isinstance(arrivals, Deterministic):
        return np.ones(n)
    u = numbers.uniforms(Purpose.GAP, n)
    if isinstance(arrivals, Poisson | Diurnal):
        return -np.log1p(-u)
    gaps: Floats = gammaincinv(arrivals.burstiness, u) / arrivals.burstiness
    return gaps


def _think_times_s(arrivals: ClosedLoop, numbers: RandomNumbers, n: int) -> Floats:
    if arrivals.think_time == "constant":
        think_s = np.full(n, arrivals.think_time_s)
    else:
        think_s = -np.log1p(-numbers.uniforms(Purpose.THINK_TIME, n)) * arrivals.think_time_s
    first = think_s[: arrivals.concurrency]
    first -= first.min()
    return rounded_to_ns(think_s)
