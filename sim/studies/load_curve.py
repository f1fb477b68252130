"""Latency and throughput against load: one scenario at a row of loads, from light to beyond its capacity."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.metrics import p99, per_second
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.saturated import asked, patient, plateau_tokens_per_s, replayed, saturated
from sim.studies.shortened import shortened
from sim.summary import flags
from sim.workload import Trace

Floats = NDArray[np.float64]

SHARES_OF_CAPACITY = (0.1, 0.35, 0.6, 0.75, 0.87, 0.95, 1.02, 1.15, 1.35)
FULL_SHARE = 0.6  # of capacity; from here on a point has all requests, as rare queues shape its P99
SLOWEST = 0.001  # speed of a replay
USERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 384, 512, 768, 1024, 2048)
FULL_USERS = 256
MAX_REQUESTS, FEWEST_REQUESTS = 10_000, 1_500  # a point


class LoadPoint(NamedTuple):
    """One run of the curve."""

    load: float  # requests/s, or users in a closed loop
    p99_tpot_s: float  # NaN where too few values
    output_tokens_per_s: float
    is_unstable: bool  # the queue grew: latencies depend on the length of the run


class LoadCurve(NamedTuple):
    """Points in order of load."""

    load: Floats  # (k,)
    p99_tpot_s: Floats  # (k,)
    output_tokens_per_s: Floats  # (k,)
    is_unstable: NDArray[np.bool_]  # (k,)


def without_load(scenario: Scenario) -> Scenario:
    """The scenario at a load of 1 request/s or 1 user: scenarios that differ in load alone become equal.

    Arrivals that have no rate (all at once) become Poisson. At most `MAX_REQUESTS` requests are drawn.
    """
    kind = scenario.workload.arrivals.kind
    shorter = shortened(scenario, MAX_REQUESTS)
    if kind == "all_at_once":
        return with_values(shorter, {"workload.arrivals": {"kind": "poisson", "rate_rps": 1.0}})
    return at_load(shorter, 1)


def with_rate(scenario: Scenario) -> Scenario:
    """`without_load` for a question about rates: what has none, users of a closed loop among them, becomes Poisson."""
    if is_closed(scenario):
        scenario = with_values(scenario, {"workload.arrivals": {"kind": "all_at_once"}})
    return without_load(scenario)


def is_closed(scenario: Scenario) -> bool:
    """Whether load is a number of users."""
    return scenario.workload.arrivals.kind == "closed_loop"


def load_of(scenario: Scenario, trace: Trace | None = None) -> float | None:
    """Where a scenario stands on the load axis; None where all requests come at once."""
    arrivals = scenario.workload.arrivals
    if arrivals.kind == "closed_loop":
        return float(arrivals.concurrency)
    if arrivals.kind == "trace":
        return None if trace is None else arrivals.speed * mean_rate_rps(trace)
    return None if arrivals.kind == "all_at_once" else arrivals.rate_rps


def mean_rate_rps(trace: Trace) -> float:
    """Requests a second of a trace at its own speed; 1 where it has no arrivals or all at one instant."""
    last_s = 0.0 if trace.arrival_s is None else float(trace.arrival_s[-1])
    return len(trace) / last_s if last_s > 0 else 1.0


def full_load(scenario: Scenario, every_load: Sequence[float]) -> float:
    """From which of the loads on a point has all requests: the one nearest to `FULL_SHARE` of capacity."""
    if is_closed(scenario):
        return float(FULL_USERS)
    full = max(every_load, default=1.0) * FULL_SHARE / SHARES_OF_CAPACITY[-1]
    return min(every_load, key=lambda load: abs(load - full), default=full)


def at_load(scenario: Scenario, load: float, trace: Trace | None = None) -> Scenario:
    """The scenario at another load; requests, lengths and the order of gaps stay the same."""
    kind = scenario.workload.arrivals.kind
    if kind == "closed_loop":
        return with_values(scenario, {"workload.arrivals.concurrency": round(load)})
    if kind == "trace":
        speed = load if trace is None else load / mean_rate_rps(trace)
        return with_values(scenario, {"workload.arrivals.speed": max(speed, SLOWEST)})  # who fails there fails below
    return with_values(scenario, {"workload.arrivals.rate_rps": float(load)})


def loads(
    scenario: Scenario, trace: Trace | None = None, shares: Sequence[float] = SHARES_OF_CAPACITY
) -> tuple[float, ...]:
    """Loads to run: users in powers of two, or shares of the rate that the server sustains when saturated."""
    if is_closed(scenario):
        return tuple(float(users) for users in USERS if users <= max(scenario.workload.num_requests, 1))
    full = patient(saturated(scenario))
    result = simulate(full, replayed(full, trace))
    tokens = float(result.run.outcome.emitted.sum())
    capacity_rps = plateau_tokens_per_s(result) / tokens * asked(result) if tokens else 0.0
    return tuple(float(f"{share * capacity_rps:.3g}") for share in shares if capacity_rps > 0)


def point(scenario: Scenario, load: float, trace: Trace | None = None, *, full_load: float = 1.0) -> LoadPoint:
    """Run one load.

    Parameters
    ----------
    scenario : Scenario
    load : float
        Requests/s, or users.
    trace : Trace, optional
    full_load : float
        Below it the run has fewer requests in proportion, at least `FEWEST_REQUESTS`: every point then spans
        about the same time and costs about the same.
    """
    asked = with_enough(at_load(scenario, load, trace), load, full_load)
    return point_of(simulate(asked, replayed(asked, trace)), load)


def with_enough(scenario: Scenario, load: float, full_load: float) -> Scenario:
    """The scenario with as many requests as its point needs: all of them, up to `MAX_REQUESTS`, from `full_load` on."""
    requests = min(scenario.workload.num_requests, MAX_REQUESTS)
    enough = min(requests, max(FEWEST_REQUESTS, round(requests * load / full_load)))
    return with_values(scenario, {"workload.num_requests": enough})


def point_of(result: Result, load: float) -> LoadPoint:
    """What a run puts on the curve."""
    tokens_per_s = per_second(result.delivered_tokens, result.run.duration_s)
    return LoadPoint(load, p99(result.tpot_s), tokens_per_s, bool(flags(result)["unstable"]))


def load_points(
    scenario: Scenario, trace: Trace | None = None, *, on_progress: Callable[[float], None] | None = None
) -> list[LoadPoint]:
    """All points of a scenario's curve, one after the other; `on_progress` is told the share that is done."""
    shape = without_load(scenario)
    every = loads(shape, trace)
    found = []
    for load in every:
        found.append(point(shape, load, trace, full_load=full_load(shape, every)))
        if on_progress is not None:
            on_progress(len(found) / len(every))
    return found


def curve(points: Iterable[LoadPoint]) -> LoadCurve:
    """Points put in order."""
    ordered = sorted(points)
    columns = np.array([each[:3] for each in ordered], np.float64).reshape(-1, 3).T
    load, p99_tpot_s, output_tokens_per_s = columns
    return LoadCurve(load, p99_tpot_s, output_tokens_per_s, np.array([each.is_unstable for each in ordered], np.bool_))
