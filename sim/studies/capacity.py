"""The largest load a deployment sustains.

Source: metrics.md, section 2: bisection to 2.5 %, at most 20 evaluations, the same random numbers at every rate.
"""

from collections.abc import Callable
from typing import NamedTuple

from sim import metrics
from sim.errors import ScenarioError
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate

WIDTH = 0.025
MAX_EVALUATIONS = 20
MAX_MEDIAN_QUEUE_DELAY_S = 2.0
FEWEST_REQUESTS = 1_000  # a shorter run says nothing about a P99


class LargestRate(NamedTuple):
    """What a search found."""

    rate_rps: float  # largest rate seen to pass; 0 if none did
    evaluations: int
    is_settled: bool  # a rate at most `WIDTH` above it was seen to fail


def capacity(scenario: Scenario, tbt_p99_limit_s: float) -> LargestRate:
    """Largest rate with P99 time between tokens within the limit and a median queue delay of at most 2 s.

    Raises
    ------
    ScenarioError
        If the arrivals have no rate, or the requests are too few.
    """
    return search(scenario, lambda result: sustains(result, tbt_p99_limit_s))


def goodput_capacity(scenario: Scenario, attainment: float = 0.9) -> LargestRate:
    """Largest rate at which such a share of requests meets all limits, over the number of GPUs.

    Raises
    ------
    ScenarioError
        If the arrivals have no rate, or the requests are too few.
    """
    found = search(scenario, lambda result: result.attainment.share >= attainment)
    return found._replace(rate_rps=found.rate_rps / scenario.deployment.tensor_parallel_size)


def search(scenario: Scenario, is_sustained: Callable[[Result], bool]) -> LargestRate:
    """Largest arrival rate of a scenario whose result passes, starting at the scenario's own."""
    rate_rps = getattr(scenario.workload.arrivals, "rate_rps", None)
    if rate_rps is None:
        raise ScenarioError(f"workload.arrivals.kind is '{scenario.workload.arrivals.kind}'; one with a rate is needed")
    if scenario.workload.num_requests < FEWEST_REQUESTS:
        raise ScenarioError(
            f"workload.num_requests is {scenario.workload.num_requests}; at least {FEWEST_REQUESTS} are needed"
        )
    return largest_rate(
        lambda rate: is_sustained(simulate(with_values(scenario, {"workload.arrivals.rate_rps": rate}))), rate_rps
    )


def sustains(result: Result, tbt_p99_limit_s: float) -> bool:
    """Whether a run keeps up: pooled gaps and queue within their limits."""
    delay = metrics.percentile(result.queue_delay_s, 0.5)
    if not delay.m or delay.value > MAX_MEDIAN_QUEUE_DELAY_S:
        return False
    tbt = result.gaps.percentile(0.99)
    return not tbt.m or tbt.value <= tbt_p99_limit_s  # without a second token nobody waits for one


def largest_rate(passes: Callable[[float], bool], start_rps: float) -> LargestRate:
    """Largest rate that passes: doubled or halved until bracketed, then bisected.

    Parameters
    ----------
    passes : callable
        Whether a rate in requests/s is sustained; taken to hold up to some rate and nowhere above.
    start_rps : float
        First rate tried.
    """
    low, high, rate = 0.0, float("inf"), start_rps
    for evaluation in range(1, MAX_EVALUATIONS + 1):
        if passes(rate):
            low = rate
        else:
            high = rate
        if high - low <= WIDTH * high < float("inf"):
            return LargestRate(low, evaluation, True)
        rate = 2 * low if high == float("inf") else (low + high) / 2
    return LargestRate(low, MAX_EVALUATIONS, False)
