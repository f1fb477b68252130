"""The largest load that one replica sustains.

Source: metrics.md, section 2.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

import numpy as np

from sim import metrics
from sim.errors import ScenarioError
from sim.metrics import percentile
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.steady import FEWEST_TURNS
from sim.studies.load_curve import at_load, load_of
from sim.studies.rate_search import LARGEST_FACTOR, LargestRate, SustainedRate, largest_rate, summarised
from sim.studies.saturated import replayed, saturated, saturated_rps
from sim.summary import flags, period_s
from sim.workload import Trace

ATTAINMENT = 0.9  # share of requests within the limits; 0.95 and 0.99 are asked for as well
MAX_MEDIAN_QUEUE_DELAY_S = 2.0
FEWEST_REQUESTS = 1_000  # a shorter run says nothing about a P99
MOST_REQUESTS = 400_000  # of a run that is lengthened
GROWTH = 1.1  # of its requests, at least
OUT_OF_REACH = "slo is out of reach"
START_SHARE = 0.85  # of the saturated rate: where the search begins
FIRST_FACTOR = 1.25  # from there to the second rate
LEAST_SHARE = 1e-2  # of the saturated rate: where it ends; whoever passes at less serves nobody

Criterion = Callable[[Result], bool]


class OutOfReachError(ScenarioError):
    """No rate that was tried is sustained; the reason takes a run, which is made when somebody reads it."""

    def __init__(self, reason: Callable[[], str]) -> None:
        super().__init__()
        self._reason = reason

    def __str__(self) -> str:
        return self._reason()


class TooShortError(ScenarioError):
    """A run in which filling and draining outweigh what lies between, or that ends before a period of arrivals does."""

    def __init__(self, sentence: str, needed: int) -> None:
        super().__init__(sentence)
        self.needed = needed  # requests


class Known(NamedTuple):
    """What is known before a search: rates up to one are sustained, none from another on, and what full seats serve."""

    passed_rps: float = 0.0
    failed_rps: float = math.inf
    ceiling_rps: float = 0.0  # 0: not known


NOTHING_KNOWN = Known()


class Searched(NamedTuple):
    """What one replication found, and what its requests were like at the largest rate that passed."""

    search: LargestRate
    attainment: float  # share of requests within the limits
    output_tokens: float  # mean delivered tokens of a request
    truncated: float  # share of answers that a cap or the context cut


class Capacity(NamedTuple):
    """What one replica sustains; means over the replications."""

    scenario: Scenario  # at any rate
    sustained: SustainedRate
    attainment: float
    output_tokens: float
    truncated: float


class Server(NamedTuple):
    """A deployment as a search asks for it: by rate and replication."""

    scenario: Scenario
    trace: Trace | None
    is_sustained: Criterion

    def run(self, rate_rps: float, replication: int) -> Result:
        """The run at a rate; in one replication the same requests at every rate."""
        asked = at_load(self.scenario, rate_rps, self.trace)
        return simulate(asked, replayed(asked, self.trace), replication=replication)

    def ceiling_rps(self, replication: int) -> float:
        """What it serves when it never lacks work: no higher rate can be sustained."""
        full = saturated(self.scenario)
        return saturated_rps(simulate(full, replayed(full, self.trace), replication=replication))


def within_slo(share: float = ATTAINMENT) -> Criterion:
    """So many requests meet all limits of the scenario."""
    return lambda result: bool(result.attainment.share >= share)


def within_gaps(tbt_p99_limit_s: float) -> Criterion:
    """P99 time between tokens within the limit, pooled over all requests, and a median queue delay of at most 2 s."""

    def is_sustained(result: Result) -> bool:
        delay = metrics.percentile(result.queue_delay_s, 0.5)
        if not delay.m or delay.value > MAX_MEDIAN_QUEUE_DELAY_S:
            return False
        tbt = result.gaps.percentile(0.99)
        return not tbt.m or tbt.value <= tbt_p99_limit_s  # without a second token nobody waits for one

    return is_sustained


def capacity(
    scenario: Scenario,
    trace: Trace | None = None,
    *,
    is_sustained: Criterion | None = None,
    share: float = ATTAINMENT,
    on_progress: Callable[[float], None] = lambda done: None,
) -> Capacity:
    """Largest arrival rate that one replica of a scenario sustains.

    Parameters
    ----------
    scenario : Scenario
        Its own rate does not matter.
    trace, is_sustained, share
        As in `search`.
    on_progress : callable
        Called with the share done.

    Raises
    ------
    ScenarioError
        As `search`.
    """
    found: list[Searched] = []
    rounds = replications(scenario)
    for replication in range(rounds):
        found.append(
            search_long_enough(scenario, trace, is_sustained=is_sustained, share=share, replication=replication)
        )
        on_progress((replication + 1) / rounds)
    return combined(scenario, found)


def replications(scenario: Scenario) -> int:
    """Searches to make: the scenario's replications, or one where a trace with arrivals leaves nothing to chance."""
    return 1 if scenario.workload.arrivals.kind == "trace" else scenario.replications


def combined(scenario: Scenario, found: Sequence[Searched]) -> Capacity:
    """One answer from the searches of several replications."""
    return Capacity(
        scenario,
        summarised([each.search for each in found]),
        fmean(each.attainment for each in found),
        fmean(each.output_tokens for each in found),
        fmean(each.truncated for each in found),
    )


def search_long_enough(
    scenario: Scenario,
    trace: Trace | None = None,
    *,
    is_sustained: Criterion | None = None,
    share: float = ATTAINMENT,
    replication: int = 0,
    known: Known = NOTHING_KNOWN,
) -> Searched:
    """`search`, with more requests where the scenario's are too few for the rate that its server sustains."""
    while True:
        try:
            return search(scenario, trace, is_sustained=is_sustained, share=share, replication=replication, known=known)
        except TooShortError as error:
            if trace is not None or error.needed > MOST_REQUESTS:
                raise
            more = max(error.needed, math.ceil(GROWTH * scenario.workload.num_requests))
            scenario, known = with_values(scenario, {"workload.num_requests": more}), NOTHING_KNOWN


def search(
    scenario: Scenario,
    trace: Trace | None = None,
    *,
    is_sustained: Criterion | None = None,
    share: float = ATTAINMENT,
    replication: int = 0,
    known: Known = NOTHING_KNOWN,
) -> Searched:
    """Search one replication.

    Parameters
    ----------
    scenario : Scenario
    trace : Trace, optional
    is_sustained : callable, optional
        What a run must meet besides a queue that does not grow; the scenario's limits, for `share` of the requests,
        if left out.
    share : float
        0 to 1.
    replication : int
    known : Known, optional
        From runs of the same requests, which are not made again.

    Raises
    ------
    ScenarioError
        No rate to search, no limit to meet, too few requests, a limit that no rate meets, or a run at the rate found
        that is too short to speak of.
    """
    _check(scenario, trace, has_limits=is_sustained is None)
    server = Server(scenario, trace, is_sustained or within_slo(share))
    ceiling_rps = known.ceiling_rps or server.ceiling_rps(replication)
    if not ceiling_rps > 0:
        raise ScenarioError("workload is all rejected: no request fits the server")
    best: dict[float, Result] = {}

    def passes(rate_rps: float) -> bool:
        if rate_rps <= known.passed_rps or rate_rps >= known.failed_rps:
            return rate_rps <= known.passed_rps
        result = server.run(rate_rps, replication)
        if flags(result)["unstable"] or not server.is_sustained(result):
            return False
        best.clear()
        best[rate_rps] = result
        return True

    highest_rps, start_rps, factor = min(known.failed_rps, ceiling_rps), START_SHARE * ceiling_rps, FIRST_FACTOR
    if known.passed_rps:
        start_rps = (known.passed_rps + highest_rps) / 2
    elif known.failed_rps < math.inf:
        start_rps, factor = highest_rps / LARGEST_FACTOR, LARGEST_FACTOR
    floor_rps = LEAST_SHARE * ceiling_rps
    found = largest_rate(passes, start_rps, floor_rps=floor_rps, ceiling_rps=highest_rps, factor=factor)
    if not found.is_settled:
        raise OutOfReachError(partial(_nothing_found, server, ceiling_rps, share, replication))
    result = best.get(found.rate_rps) or server.run(found.rate_rps, replication)
    _check_length(result, found.rate_rps)
    return Searched(
        found, result.attainment.share, float(result.run.outcome.emitted.mean()), float(result.is_truncated.mean())
    )


def _check(scenario: Scenario, trace: Trace | None, *, has_limits: bool) -> None:
    """Refuse what cannot be searched."""
    kind = scenario.workload.arrivals.kind
    if kind in ("closed_loop", "all_at_once") or load_of(scenario, trace) is None:
        raise ScenarioError(f"workload.arrivals.kind is '{kind}'; one with a rate is needed, such as poisson")
    slo = scenario.slo
    if has_limits and slo.ttft_ms is None and slo.tpot_ms is None and slo.e2e_ms is None:
        raise ScenarioError("slo is without a limit; ttft_ms, tpot_ms or e2e_ms is needed, or any rate would do")
    requests = scenario.workload.num_requests if trace is None else len(trace)
    if requests < FEWEST_REQUESTS:
        raise ScenarioError(f"workload.num_requests is {requests}; at least {FEWEST_REQUESTS} are needed for a P99")


def _nothing_found(server: Server, ceiling_rps: float, share: float, replication: int) -> str:
    """Why no rate passes: at light load it is the limits themselves, or a queue that grows all the same."""
    light = server.run(ceiling_rps / 10, replication)
    limits = ", ".join(
        f"{name} {value:g}"
        for name in ("ttft_ms", "tpot_ms", "e2e_ms")
        if (value := getattr(server.scenario.slo, name))
    )
    if flags(light)["unstable"]:
        return f"workload is unstable at every rate tried, down to {ceiling_rps / 10:.3g} requests/s: the queue grows"
    within = light.attainment.share
    if math.isnan(within):
        return (
            f"{OUT_OF_REACH} ({limits}): at {ceiling_rps / 10:.3g} requests/s no answer is complete when the run stops"
        )
    return (
        f"{OUT_OF_REACH} ({limits}): at {ceiling_rps / 10:.3g} requests/s, a tenth of what the server can do, "
        f"{math.floor(1000 * within) / 10:.1f} % of requests are within it; {100 * share:.0f} % are "
        "needed"
    )


def _check_length(result: Result, rate_rps: float) -> None:
    """Refuse a run whose filling and draining outweigh what lies between."""
    if not flags(result)["too_short"]:
        return
    span_s = float(np.nanmax(result.run.outcome.arrival_s))
    service_s = percentile(result.e2e_s - result.queue_delay_s, 0.5).value
    period = period_s(result.scenario)
    requests, shortest_s = result.is_finished.size, max(FEWEST_TURNS * service_s, period)
    what = f"{FEWEST_TURNS} median times of service ({service_s:.3g} s)"
    if period == shortest_s:
        what = f"a period of arrivals ({period:g} s)"
    needed = math.ceil(requests * shortest_s / span_s / 100) * 100
    raise TooShortError(
        f"workload.num_requests is {requests}; at {rate_rps:.3g} requests/s they come within {span_s:.3g} s, less than "
        f"{what}, so at least {needed} are needed",
        needed,
    )
