"""The largest load that one replica sustains in one replication: what a search asks, and why it may find nothing.

Source: metrics.md, section 2.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from sim.errors import ScenarioError
from sim.metrics import percentile
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.steady import FEWEST_TURNS, FILLINGS, filling_s
from sim.studies.load_curve import at_load, load_of
from sim.studies.rate_search import LARGEST_FACTOR, WIDTH, LargestRate, largest_rate
from sim.studies.saturated import by_arrival, intake_rps, replayed, saturated_rps
from sim.summary import flags, period_s
from sim.workload import Trace

ATTAINMENT = 0.9  # share of requests within the limits; 0.95 and 0.99 are asked for as well
MAX_MEDIAN_QUEUE_DELAY_S = 2.0
FEWEST_REQUESTS = 1_000  # a shorter run says nothing about a P99
MOST_REQUESTS = 400_000  # of a run that is lengthened
MOST_FOR_A_TAIL = 40_000  # of one that is lengthened for its longest answers: beyond, the rate found changes little
GROWTH = 1.1  # of its requests, at least; less is not worth another search
AHEAD = 1.3  # a longer run fills the memory with more long answers, and is then to be longer still
OUT_OF_REACH = "slo is out of reach"
START_SHARE = 0.85  # of the saturated rate: where the search begins
FIRST_FACTOR = 1.25  # from there to the second rate
NEAR_FACTOR = 1.025  # ... where a search with fewer requests has ended nearby: two runs may then be all
WORTH_TELLING = 0.01  # share of requests that miss the limits at any rate
TOO_MUCH = 1.25  # times what it serves with full seats: at such a rate it never lacks work either
CLEARLY_MORE = 1.05  # times what it serves with full seats: then that was no bound
LEAST_SHARE = 1e-2  # of the saturated rate: where it ends; whoever passes at less serves nobody

Criterion = Callable[[Result], bool]


class Known(NamedTuple):
    """What is known before a search: rates up to one are sustained, none from another on, and what full seats serve.

    Of another number of requests it is known but nearly: `near_rps` is where to begin, and no bound.
    """

    passed_rps: float = 0.0
    failed_rps: float = math.inf
    ceiling_rps: float = 0.0  # 0: not known
    near_rps: float = 0.0  # largest at which fewer requests were seen to pass; 0: not known


NOTHING_KNOWN = Known()


class OutOfReachError(ScenarioError):
    """No rate that was tried is sustained; the reason takes a run, which is made when somebody reads it."""

    def __init__(self, reason: Callable[[], str]) -> None:
        super().__init__()
        self._reason = reason

    def __str__(self) -> str:
        return self._reason()


class TooShortError(ScenarioError):
    """A run in which filling and draining outweigh what lies between, or that ends before a period of arrivals does."""

    def __init__(self, sentence: str, needed: int, rate_rps: float) -> None:
        super().__init__(sentence)
        self.needed = needed  # requests
        self.rate_rps = rate_rps  # at which these pass


class Searched(NamedTuple):
    """What one replication found, and what its requests were like at the largest rate that passed."""

    search: LargestRate
    attainment: float  # share of requests within the limits
    output_tokens: float  # delivered, of a request and all that its client asks after it
    truncated: float  # share of answers that a cap or the context cut
    enough: int  # requests that come in `FILLINGS` times what the server takes to fill


class Server(NamedTuple):
    """One replica, and what it has to keep besides a queue that does not grow."""

    scenario: Scenario  # its own rate does not matter
    trace: Trace | None = None
    share: float = ATTAINMENT  # of requests within the scenario's limits, 0 to 1
    criterion: Criterion | None = None  # what a run must meet instead

    def run(self, rate_rps: float, replication: int) -> Result:
        """The run at a rate; in one replication the same requests at every rate."""
        asked = at_load(self.scenario, rate_rps, self.trace)
        return simulate(asked, replayed(asked, self.trace), replication=replication)

    def ceiling_rps(self, replication: int) -> float:
        """What it serves when it never lacks work: mostly no higher rate can be sustained.

        A server that learns how much memory to set aside may do worse where all come at once: equal answers then end
        together, it starts anew each time, and has learnt nothing.
        """
        return saturated_rps(self.scenario, self.trace, replication)

    def intake_rps(self, rate_rps: float, replication: int) -> float:
        """What it takes in at a rate that may be too high, requests/s, first come, first served."""
        return intake_rps(self._replace(scenario=by_arrival(self.scenario)).run(rate_rps, replication))

    def is_sustained(self, result: Result) -> bool:
        """Whether a run kept what it had to, and its queue did not grow."""
        if flags(result)["unstable"]:
            return False
        return self.criterion(result) if self.criterion else bool(result.attainment.share >= self.share)


def within_gaps(tbt_p99_limit_s: float) -> Criterion:
    """P99 time between tokens within the limit, pooled over all requests, and a median queue delay of at most 2 s."""

    def is_met(result: Result) -> bool:
        delay = percentile(result.queue_delay_s, 0.5)
        if not delay.m or delay.value > MAX_MEDIAN_QUEUE_DELAY_S:
            return False
        tbt = result.gaps.percentile(0.99)
        return not tbt.m or tbt.value <= tbt_p99_limit_s  # without a second token nobody waits for one

    return is_met


def search_long_enough(server: Server, replication: int = 0, known: Known = NOTHING_KNOWN) -> Searched:
    """`search`, with more requests where the scenario's are too few for the rate that its server sustains."""
    while True:
        requests = server.scenario.workload.num_requests
        try:
            found = search(server, replication, known)
        except TooShortError as error:
            if server.trace is not None or error.needed > MOST_REQUESTS:
                raise
            needed, near_rps = error.needed, error.rate_rps
        else:
            needed, near_rps = min(found.enough, MOST_FOR_A_TAIL), found.search.rate_rps
            if server.trace is not None or needed <= GROWTH * requests:
                return found
            needed = min(math.ceil(AHEAD * needed), MOST_FOR_A_TAIL)
        longer = with_values(server.scenario, {"workload.num_requests": max(needed, math.ceil(GROWTH * requests))})
        server, known = server._replace(scenario=longer), Known(near_rps=near_rps)


def search(server: Server, replication: int = 0, known: Known = NOTHING_KNOWN) -> Searched:
    """Search one replication.

    Parameters
    ----------
    server : Server
    replication : int
        Which of the scenario's.
    known : Known
        From runs of the same requests, which are not made again.

    Raises
    ------
    ScenarioError
        No rate to search, no limit to meet, too few requests, a limit that no rate meets, or a run at the rate found
        that is too short to speak of.
    """
    _check(server)
    ceiling_rps = known.ceiling_rps or server.ceiling_rps(replication)
    if not ceiling_rps > 0:
        raise ScenarioError("workload is all rejected: no request fits the server")
    best: dict[float, Result] = {}

    def passes(rate_rps: float) -> bool:
        if rate_rps <= known.passed_rps or rate_rps >= known.failed_rps:
            return rate_rps <= known.passed_rps
        result = server.run(rate_rps, replication)
        if not server.is_sustained(result):
            return False
        best.clear()
        best[rate_rps] = result
        return True

    while True:
        start_rps, factor = _start(known, ceiling_rps)
        highest_rps, floor_rps = min(known.failed_rps, ceiling_rps), LEAST_SHARE * ceiling_rps
        found = largest_rate(passes, start_rps, floor_rps=floor_rps, ceiling_rps=highest_rps, factor=factor)
        if not found.is_settled:
            raise OutOfReachError(partial(_nothing_found, server, ceiling_rps, replication))
        if known.failed_rps <= TOO_MUCH * ceiling_rps or found.rate_rps < (1 - WIDTH) * ceiling_rps:
            break
        more_rps = server.intake_rps(TOO_MUCH * ceiling_rps, replication)
        if not more_rps > CLEARLY_MORE * ceiling_rps:
            break
        known, ceiling_rps = known._replace(passed_rps=found.rate_rps, near_rps=0.0), more_rps
    result = best.get(found.rate_rps) or server.run(found.rate_rps, replication)
    _check_length(result, found.rate_rps)
    output_tokens = _tokens(result) / int(result.is_first_try.sum())
    truncated = float(result.is_truncated.mean())
    return Searched(found, result.attainment.share, output_tokens, truncated, _enough(result))


def _tokens(result: Result) -> int:
    """Output tokens that users get; whole answers of those whom the end of the run cut short."""
    outcome = result.run.outcome
    delivered = np.where(np.isnan(outcome.first_token_s), 0, outcome.emitted)
    is_cut_short = ~(result.is_finished | result.is_rejected | result.is_aborted)
    return int(np.where(is_cut_short, result.inputs.output_len, delivered).sum())


def _start(known: Known, ceiling_rps: float) -> tuple[float, float]:
    """The first rate to try, and the factor from there to the second."""
    if known.near_rps:
        return known.near_rps, NEAR_FACTOR
    highest_rps = min(known.failed_rps, ceiling_rps)
    if known.passed_rps:
        return (known.passed_rps + highest_rps) / 2, FIRST_FACTOR
    if known.failed_rps < math.inf:
        return highest_rps / LARGEST_FACTOR, LARGEST_FACTOR
    return START_SHARE * ceiling_rps, FIRST_FACTOR


def _check(server: Server) -> None:
    """Refuse what cannot be searched."""
    scenario, trace = server.scenario, server.trace
    kind = scenario.workload.arrivals.kind
    if kind in ("closed_loop", "all_at_once") or load_of(scenario, trace) is None:
        raise ScenarioError(f"workload.arrivals.kind is '{kind}'; one with a rate is needed, such as poisson")
    if server.criterion is None and not scenario.slo.limits_ms:
        raise ScenarioError("slo is without a limit; ttft_ms, tpot_ms or e2e_ms is needed, or any rate would do")
    requests = scenario.workload.num_requests if trace is None else len(trace)
    if requests < FEWEST_REQUESTS:
        raise ScenarioError(f"workload.num_requests is {requests}; at least {FEWEST_REQUESTS} are needed for a P99")


def _nothing_found(server: Server, ceiling_rps: float, replication: int) -> str:
    """Why no rate passes: at light load it is the limits themselves, or a queue that grows all the same."""
    light_rps = ceiling_rps / 10
    light = server.run(light_rps, replication)
    if flags(light)["unstable"]:
        return f"workload is unstable at every rate tried, down to {light_rps:.3g} requests/s: the queue grows"
    where = f"at {light_rps:.3g} requests/s, a tenth of what the server can do,"
    if server.criterion is not None:
        return f"{OUT_OF_REACH}: {where} a run meets it no more than at any other rate"
    limits = ", ".join(f"{field} {limit:g}" for field, limit in server.scenario.slo.limits_ms.items())
    within = light.attainment.share
    if math.isnan(within):
        return f"{OUT_OF_REACH} ({limits}): at {light_rps:.3g} requests/s no answer is complete when the run stops"
    return (
        f"{OUT_OF_REACH} ({limits}): {where} {math.floor(1000 * within) / 10:.1f} % of requests are within it; "
        f"{100 * server.share:.0f} % are needed{_missed(light)}"
    )


def _missed(result: Result) -> str:
    """Who is never within a limit, at whatever rate; empty where there is hardly anybody."""
    longest, patience_s = result.resolved.max_model_len, result.scenario.workload.client_timeout_s
    whose = (
        (result.is_rejected, f"could never fit (max_model_len is {longest:,} tokens)"),
        (result.is_aborted, f"give up after {patience_s:g} s" if patience_s is not None else ""),
    )
    told = [f"{100 * float(who.mean()):.3g} % {why}" for who, why in whose if who.mean() >= WORTH_TELLING]
    return f", and {' and '.join(told)}, and count as misses" if told else ""


def _enough(result: Result) -> int:
    """Requests whose arrivals would span `FILLINGS` times what the server takes to fill."""
    span_s = float(np.nanmax(result.asked_s))
    turns = FILLINGS * filling_s(result.e2e_s - result.queue_delay_s) / span_s
    return math.ceil(result.scenario.workload.num_requests * turns)


def _check_length(result: Result, rate_rps: float) -> None:
    """Refuse a run whose filling and draining outweigh what lies between."""
    if not flags(result)["too_short"]:
        return
    span_s = float(np.nanmax(result.asked_s))
    service_s = percentile(result.e2e_s - result.queue_delay_s, 0.5).value
    period = period_s(result.scenario)
    requests, shortest_s = result.is_finished.size, max(FEWEST_TURNS * service_s, period)
    what = f"{FEWEST_TURNS} median times of service ({service_s:.3g} s)"
    if period == shortest_s:
        what = f"a period of arrivals ({period:g} s)"
    needed = math.ceil(requests * shortest_s / span_s / 100) * 100
    raise TooShortError(
        f"workload.num_requests is {requests}; at {rate_rps:.3g} requests/s they come within {span_s:.3g} s, less "
        f"than {what}, so at least {needed} are needed",
        needed,
        rate_rps,
    )
