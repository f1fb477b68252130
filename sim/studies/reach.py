"""How far each scheduler gets within the limits, and the loads to compare schedulers at."""

import math
from collections.abc import Iterable

from sim.errors import ScenarioError
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.capacity_search import (
    ATTAINMENT,
    FEWEST_REQUESTS,
    LEAST_SHARE,
    NOTHING_KNOWN,
    Known,
    OutOfReachError,
    Server,
    search_long_enough,
)
from sim.studies.compare import Compared, Contender, at
from sim.studies.load_curve import MAX_REQUESTS, USERS, at_load, is_closed, without_load
from sim.studies.rate_search import LARGEST_FACTOR, largest_rate
from sim.studies.saturated import replayed, saturated_rps
from sim.workload import Trace

TARGET = ATTAINMENT  # share of requests within all limits that a load is held to
CLEARLY_LESS = TARGET - 0.05  # by chance a run with fewer requests is a percent or two off
SHARES = (0.1, 0.35, 0.6, 0.87, 1.02, 1.35)  # of what one takes in: loads to compare at
CLEARLY = 1.1  # times the highest load of the own curve: nearer ones say nothing new
FIRST_USERS = 32.0  # that the search begins with


def ceiling(one: Contender) -> float:
    """Load beyond which the queue of one scheduler grows without end; NaN where it cannot run.

    However many are within the limits until then. Users of a closed loop wait instead: there it is infinite.
    """
    if is_closed(one.scenario):
        return math.inf
    try:
        return saturated_rps(without_load(one.asked), one.trace)
    except ScenarioError:
        return math.nan


def loads_of_all(own: tuple[float, ...], ceilings: Iterable[float]) -> tuple[float, ...]:
    """Loads to compare at: those of the scenario's own load curve, and beyond them those of the one that gets furthest.

    Parameters
    ----------
    own : tuple of float
        Ascending.
    ceilings : iterable of float
        Of the schedulers; NaN is left out, and so is the infinity of a closed loop.
    """
    most = max((each for each in ceilings if math.isfinite(each)), default=0.0)
    every = (float(f"{share * most:.3g}") for share in SHARES)
    return own + tuple(load for load in every if load > CLEARLY * max(own, default=math.inf))


def reach(
    one: Contender, *, points: Iterable[Compared] = (), full_load: float = math.inf, ceiling_rps: float = 0.0
) -> float:
    """Largest load at which one scheduler keeps a share `TARGET` of requests within all limits; 0 where it is none.

    A rate is searched as `capacity` searches it, in the first replication; users of a closed loop likewise. NaN where
    there is no limit, or the scheduler cannot run.

    Parameters
    ----------
    one : Contender
    points : iterable of Compared
        Its runs at other loads, as of `at`: the search begins between those that are kept and those that are not.
    full_load : float
        From which on they have all requests.
    ceiling_rps : float
        As of `ceiling`; 0 where it is not known.
    """
    try:
        asked, trace = without_load(one.asked), one.trace
        if is_closed(asked):
            return _most_users(asked, trace)
        known, requests = NOTHING_KNOWN, asked.workload.num_requests
        if trace is None and FEWEST_REQUESTS <= requests <= MAX_REQUESTS:
            points = list(points)
            if ceiling_rps and points and _is_out_of_reach(one, points, full_load, ceiling_rps):
                return 0.0
            known = _known(points, full_load)._replace(ceiling_rps=ceiling_rps)
        elif trace is None:
            asked = with_values(asked, {"workload.num_requests": max(requests, FEWEST_REQUESTS)})
        return search_long_enough(Server(asked, trace, TARGET), known=known).search.rate_rps
    except OutOfReachError:
        return 0.0
    except ScenarioError:
        return math.nan


def _known(points: Iterable[Compared], full_load: float) -> Known:
    """Between which loads the answer lies; a run with fewer requests may show that a load is too much, no more."""
    passed, failed = 0.0, math.inf
    for point in sorted(points, key=lambda each: each.load):
        if point.is_unstable or point.attainment < TARGET:
            failed = point.load
            break
        if point.load >= full_load:
            passed = point.load
    return Known(passed, failed)


def _is_out_of_reach(one: Contender, points: Iterable[Compared], full_load: float, ceiling_rps: float) -> bool:
    """Whether every load that a search would go down to is clearly too much, by runs with fewer requests.

    At light load few requests share a step, so runs take the longest there.
    """
    load = min(point.load for point in points)
    is_too_much = all(point.attainment < CLEARLY_LESS for point in points)  # not a number where there is no limit
    while is_too_much and load > LEAST_SHARE * ceiling_rps:
        load /= LARGEST_FACTOR
        point = at(one, load, full_load=full_load)
        is_too_much = point is not None and point.attainment < CLEARLY_LESS
    return is_too_much


def most_users(scenario: Scenario) -> float:
    """Users beyond which a closed loop is not tried."""
    return float(min(USERS[-1], scenario.workload.num_requests))


def _most_users(scenario: Scenario, trace: Trace | None) -> float:
    """Most users of a closed loop that one scheduler serves within the limits; NaN without a limit."""
    share: dict[int, float] = {}

    def passes(load: float) -> bool:
        users = max(round(load), 1)
        if users not in share:
            result = simulate(at_load(scenario, users), replayed(scenario, trace))
            share[users] = math.nan if result.limits.is_empty else result.attainment.share
        return share[users] >= TARGET

    if not passes(1):
        return math.nan if math.isnan(share[1]) else 0.0
    most = most_users(scenario)
    largest_rate(passes, min(FIRST_USERS, most), ceiling_rps=most)
    return float(max(users for users, each in share.items() if each >= TARGET))
