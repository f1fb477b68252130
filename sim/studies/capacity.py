"""The largest load that one replica sustains.

Source: metrics.md, section 2.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sim import metrics
from sim.errors import ScenarioError
from sim.metrics import percentile
from sim.result import Result
from sim.scenario import Scenario
from sim.simulate import simulate
from sim.steady import FEWEST_TURNS
from sim.studies.load_curve import at_load, load_of
from sim.studies.rate_search import SustainedRate, sustained_rate
from sim.studies.saturated import replayed, saturated, saturated_rps
from sim.summary import flags
from sim.workload import Trace

ATTAINMENT = 0.9  # share of requests within the limits; 0.95 and 0.99 are asked for as well
MAX_MEDIAN_QUEUE_DELAY_S = 2.0
FEWEST_REQUESTS = 1_000  # a shorter run says nothing about a P99
START_SHARE = 0.85  # of the saturated rate: where the search begins

Criterion = Callable[[Result], bool]


class TooShortError(ScenarioError):
    """A run in which filling and draining outweigh what lies between."""


class Capacity(NamedTuple):
    """What one replica sustains, and what its requests were like there."""

    scenario: Scenario  # at that rate
    sustained: SustainedRate
    attainment: float  # share of requests within the limits at that rate, over all replications
    output_tokens: float  # mean delivered tokens of a request
    truncated: float  # share of answers that a cap or the context cut


class Server(NamedTuple):
    """A deployment as a search asks for it: by rate and replication."""

    scenario: Scenario
    trace: Trace | None
    is_sustained: Criterion

    def run(self, rate_rps: float, replication: int) -> Result:
        """The run at a rate; in one replication the same requests at every rate."""
        asked = at_load(self.scenario, rate_rps, self.trace)
        return simulate(asked, replayed(asked, self.trace), replication=replication)

    def passes(self, rate_rps: float, replication: int) -> bool:
        """Whether it keeps up with a rate and meets the criterion there."""
        result = self.run(rate_rps, replication)
        return not flags(result)["unstable"] and self.is_sustained(result)

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
    replications: int | None = None,
    on_progress: Callable[[float], None] = lambda share: None,
) -> Capacity:
    """Largest arrival rate that one replica of a scenario sustains.

    Parameters
    ----------
    scenario : Scenario
        Its own rate does not matter.
    trace : Trace, optional
    is_sustained : callable, optional
        What a run must meet besides a queue that does not grow; the scenario's limits, for `share` of the requests,
        if left out.
    share : float
        0 to 1.
    replications : int, optional
        The scenario's if left out; a trace with arrivals of its own has nothing random, so one.
    on_progress : callable
        Called with the share done, and may raise to stop.

    Raises
    ------
    ScenarioError
        No rate to search, no limit to meet, too few requests, a limit that no rate meets, or a run at the rate found
        that is too short to speak of.
    """
    _check(scenario, trace, has_limits=is_sustained is None)
    server = Server(scenario, trace, is_sustained or within_slo(share))
    first_ceiling = server.ceiling_rps(0)
    if not first_ceiling > 0:
        raise ScenarioError("workload is all rejected: no request fits the server")
    rounds = 1 if scenario.workload.arrivals.kind == "trace" else replications or scenario.replications
    found = sustained_rate(
        server.passes,
        START_SHARE * first_ceiling,
        rounds,
        ceiling_rps=lambda i: server.ceiling_rps(i) if i else first_ceiling,
        on_progress=on_progress,
    )
    if not found.is_settled:
        raise ScenarioError(_nothing_found(server, first_ceiling, share))
    return _described(server, found, rounds)


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


def _nothing_found(server: Server, ceiling_rps: float, share: float) -> str:
    """Why no rate passes: at light load it is the limits themselves, or a queue that grows all the same."""
    light = server.run(ceiling_rps / 10, 0)
    limits = ", ".join(
        f"{name} {value:g}"
        for name in ("ttft_ms", "tpot_ms", "e2e_ms")
        if (value := getattr(server.scenario.slo, name))
    )
    if flags(light)["unstable"]:
        return f"workload is unstable at every rate tried, down to {ceiling_rps / 10:.3g} requests/s: the queue grows"
    return (
        f"slo is out of reach ({limits}): at {ceiling_rps / 10:.3g} requests/s, a tenth of what the server can do, "
        f"{light.attainment.share:.1%} of requests are within it; {share:.0%} is needed"
    )


def _described(server: Server, found: SustainedRate, rounds: int) -> Capacity:
    runs = [server.run(found.rate_rps, replication) for replication in range(rounds)]
    _check_length(runs[0], found.rate_rps)
    good, counted = (sum(getattr(run.attainment, name) for run in runs) for name in ("good", "counted"))
    return Capacity(
        runs[0].scenario,
        found,
        good / counted if counted else math.nan,
        float(np.mean([run.run.outcome.emitted.mean() for run in runs])),
        float(np.mean([run.is_truncated.mean() for run in runs])),
    )


def _check_length(result: Result, rate_rps: float) -> None:
    """Refuse a run whose filling and draining outweigh what lies between."""
    if not flags(result)["too_short"]:
        return
    span_s = float(np.nanmax(result.run.outcome.arrival_s))
    service_s = percentile(result.e2e_s - result.queue_delay_s, 0.5).value
    requests = result.is_finished.size
    needed = math.ceil(requests * FEWEST_TURNS * service_s / span_s / 100) * 100
    raise TooShortError(
        f"workload.num_requests is {requests}; at {rate_rps:.3g} requests/s they come within {span_s:.3g} s, less than "
        f"{FEWEST_TURNS} median times of service ({service_s:.3g} s), so at least {needed} are needed"
    )
