"""Fewer requests than a scenario has: what a study of many runs makes of it."""

from sim.scenario import Scenario, with_values


def shortened(scenario: Scenario, most: int) -> Scenario:
    """The scenario with at most so many requests drawn; a trace is replayed whole all the same."""
    return with_values(scenario, {"workload.num_requests": min(scenario.workload.num_requests, most)})
