"""The jobs of Capacity: the search itself, replication by replication, and what else the service could be."""

from collections.abc import Callable

from ui.job import Job, kept, start, task
from ui.pool import page_waits

from sim.scenario import Scenario
from sim.studies.alternatives import Alternative, WhatIf, light_search, tried, what_ifs
from sim.studies.capacity import replications
from sim.studies.capacity_search import Searched, Server, search_long_enough
from sim.studies.deployments import fitting, named
from sim.workload import Trace

LIGHT = "light"  # the base once more, as alternatives are searched
PATIENCE_S = 0.3  # of a page for its verdict: drawing the page again would take longer


@kept()
def base_job(scenario: Scenario, trace: Trace | None, share: float) -> Job[int | str, Searched]:
    """The chosen deployment, started where it is new; by replication, and `LIGHT`."""
    server = Server(scenario, trace, share)
    tasks: dict[int | str, Callable[[], Searched]] = {
        i: task(search_long_enough, server, i) for i in range(replications(scenario))
    }
    return start(tasks | {LIGHT: task(light_search, scenario, trace, share)}, head_start_s=0)


def searched(job: Job[int | str, Searched]) -> list[Searched]:
    """Replications of the chosen deployment that are there, in order."""
    return [each for name, each in sorted(job.found.items(), key=str) if name != LIGHT]


def is_found(job: Job[int | str, Searched]) -> bool:
    """Whether every replication of the chosen deployment has been searched; a moment's wait for that."""
    with page_waits():
        return job.wait(PATIENCE_S)


@kept()
def what_if_job(
    scenario: Scenario, trace: Trace | None, share: float, cap: int, factor: float
) -> Job[str, Alternative]:
    """Other answers, by name."""
    changed: list[WhatIf] = what_ifs(scenario, trace, cap=cap, factor=factor)
    return start({each.name: task(tried, each.scenario, each.trace, share, each.without) for each in changed})


@kept()
def deployment_job(
    scenario: Scenario, trace: Trace | None, share: float, gpus: tuple[str, ...]
) -> Job[str, Alternative]:
    """Other deployments, by name."""
    return start({named(each): task(tried, each, trace, share) for each in fitting(scenario, gpus)[1:]})
