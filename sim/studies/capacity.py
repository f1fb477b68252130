"""The largest load that one replica sustains, over the scenario's replications."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

from sim.scenario import Scenario
from sim.studies.capacity_search import ATTAINMENT, Criterion, Searched, Server, search_long_enough
from sim.studies.rate_search import SustainedRate, summarised
from sim.workload import Trace


class Capacity(NamedTuple):
    """What one replica sustains; means over the replications."""

    scenario: Scenario  # at any rate
    sustained: SustainedRate
    attainment: float
    output_tokens: float
    truncated: float


def capacity(
    scenario: Scenario,
    trace: Trace | None = None,
    *,
    share: float = ATTAINMENT,
    criterion: Criterion | None = None,
    on_progress: Callable[[float], None] = lambda done: None,
) -> Capacity:
    """Largest arrival rate that one replica of a scenario sustains.

    Parameters
    ----------
    scenario : Scenario
        Its own rate does not matter.
    trace : Trace, optional
        Replayed at other speeds.
    share : float
        Of requests that must meet all limits of the scenario, 0 to 1.
    criterion : callable, optional
        What a run must meet instead, such as `within_gaps`. The queue may not grow either way.
    on_progress : callable
        Called with the share done.

    Raises
    ------
    ScenarioError
        As `search`.
    """
    found: list[Searched] = []
    rounds, server = replications(scenario), Server(scenario, trace, share, criterion)
    for replication in range(rounds):
        found.append(search_long_enough(server, replication))
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
