"""A service-level target and the output lengths it assumes: who meets it then, who meets it now, and what breaks it.

Source: metrics.md, section 7.
"""

from typing import NamedTuple

from sim.errors import ScenarioError
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.assumed_lengths import assumed_lengths
from sim.studies.length_profile import Profile, profile_of
from sim.studies.output_lengths import with_longer_tail, with_outputs
from sim.studies.saturated import replayed
from sim.studies.shortened import shortened
from sim.summary import flags
from sim.workload import Trace

MAX_REQUESTS = 10_000
LONGEST_TAIL = 64.0  # times; beyond it nothing is tried
SHORTEST_TAIL = 0.0  # every answer above the 90th percentile cut to it
WIDTH = 0.02
ASSUMED, AS_IS = "as assumed", "as it is"


class Attained(NamedTuple):
    """One distribution of output lengths and how the target fares under it."""

    name: str
    lengths: Profile  # of the answers as produced, caps applied
    attainment: float  # share of requests within all limits
    within: dict[str, float]  # share within each limit by itself: ttft_ms, tpot_ms, e2e_ms where set
    is_unstable: bool
    warnings: tuple[str, ...]  # of `flags`: heavy_tail, longer_than_assumed


class Breaking(NamedTuple):
    """How long a tail the target stands."""

    factor: float | None  # smallest factor of the tail that breaks it; None: none of those tried does
    holds: float | None  # largest factor at which it holds; None: at none
    at: Attained | None  # the distribution that breaks it
    last: Attained | None  # the last one that does not


def attained(scenario: Scenario, name: str, trace: Trace | None = None, *, factor: float = 1.0) -> Attained:
    """The target under the scenario's own lengths, their tail `factor` times as long.

    Raises
    ------
    ScenarioError
        No limit to meet, or a scenario that cannot run.
    """
    return _attained(*with_longer_tail(_asked(scenario), trace, factor), name)


def attained_as_assumed(scenario: Scenario, trace: Trace | None = None) -> Attained:
    """The target under the lengths that it assumes: `slo.assumed`, its cap in place of the scenario's.

    Raises
    ------
    ScenarioError
        The target assumes nothing, or what cannot be.
    """
    assumed = scenario.slo.assumed
    if assumed is None:
        raise ScenarioError("slo.assumed is none; mean and p99 of the answers that the limits are for are needed")
    cap = assumed.cap
    return _attained(*with_outputs(_asked(scenario), trace, assumed_lengths(assumed), cap), ASSUMED)


def breaking(scenario: Scenario, target: float, trace: Trace | None = None) -> Breaking:
    """The tail that breaks the target, by bisection of its length; the same requests at every length.

    Parameters
    ----------
    scenario : Scenario
    target : float
        Share of requests that must be within the limits, 0 to 1.
    trace : Trace, optional
    """
    tried: dict[float, Attained] = {}

    def holds(factor: float) -> bool:
        tried[factor] = attained(scenario, f"tail x {factor:.3g}", trace, factor=factor)
        return tried[factor].attainment >= target and not tried[factor].is_unstable

    low, high = (1.0, LONGEST_TAIL) if holds(1.0) else (SHORTEST_TAIL, 1.0)
    if low == 1.0 and holds(LONGEST_TAIL):
        return Breaking(None, LONGEST_TAIL, None, tried[LONGEST_TAIL])
    if high == 1.0 and not holds(SHORTEST_TAIL):
        return Breaking(SHORTEST_TAIL, None, tried[SHORTEST_TAIL], None)
    while high - low > WIDTH * high:
        middle = (low * high) ** 0.5 if low >= 1 else (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return Breaking(high, low, tried[high], tried[low])


def _asked(scenario: Scenario) -> Scenario:
    if not scenario.slo.limits_ms:
        raise ScenarioError("slo is without a limit; ttft_ms, tpot_ms or e2e_ms is needed")
    return shortened(scenario, MAX_REQUESTS)


def _attained(scenario: Scenario, trace: Trace | None, name: str) -> Attained:
    result = simulate(scenario, replayed(scenario, trace))
    found = flags(result)
    return Attained(
        name,
        profile_of(name, result.answer_len),
        result.attainment.share,
        {field: _within(result, field) for field in result.scenario.slo.limits_ms},
        bool(found["unstable"]),
        tuple(each for each in ("heavy_tail", "longer_than_assumed") if found[each]),
    )


def _within(result: Result, field: str) -> float:
    """Share of requests within one limit, the others lifted."""
    others = {f"slo.{each}": None for each in result.scenario.slo.limits_ms if each != field}
    alone = Result(with_values(result.scenario, others), result.resolved, result.inputs, result.info, result.run)
    return alone.attainment.share
