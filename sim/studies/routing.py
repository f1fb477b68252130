"""Task types apart or together: the same replicas as one pool, or some of them for each type.

Replicas that share a load evenly and at random are alike, so one of each kind is run. The whole load is as many times
the scenario's as there are replicas.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sim import metrics
from sim.errors import ScenarioError
from sim.metrics import p99
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.load_curve import at_load, load_of
from sim.studies.shortened import shortened

MAX_REQUESTS = 10_000
MOST_SPLITS = 12


class Pool(NamedTuple):
    """Replicas that serve the same types."""

    name: str
    replicas: int
    rate_rps: float  # of each
    output_cv: float  # of the output lengths within
    tpot_p99_s: float  # NaN where too few
    ttft_p99_s: float
    attainment: float  # NaN without limits
    preempted: float  # share of requests
    is_unstable: bool
    requests: int  # in the run


class Split(NamedTuple):
    """Pools that serve the whole load together."""

    pools: tuple[Pool, ...]

    @property
    def attainment(self) -> float:
        """Share of all requests within the limits."""
        load = [pool.replicas * pool.rate_rps for pool in self.pools]
        return float(np.average([pool.attainment for pool in self.pools], weights=load))

    @property
    def variance(self) -> float:
        """Of that share, by chance: each pool's is one of so many requests."""
        load = np.array([pool.replicas * pool.rate_rps for pool in self.pools])
        each = [pool.attainment * (1 - pool.attainment) / pool.requests for pool in self.pools]
        return float(((load / load.sum()) ** 2 * each).sum())


def check(scenario: Scenario) -> None:
    """Refuse what cannot be split.

    Raises
    ------
    ScenarioError
        One task type only, or arrivals without a rate.
    """
    types = scenario.workload.types
    if len(types) < 2:
        raise ScenarioError(f"workload.types is one type ('{types[0].name}'); at least two are needed to part them")
    if scenario.workload.trace_file is not None or getattr(scenario.workload.arrivals, "rate_rps", None) is None:
        kind = scenario.workload.arrivals.kind
        raise ScenarioError(f"workload.arrivals.kind is '{kind}'; one with a rate is needed, such as poisson")


def splits(scenario: Scenario, replicas: int) -> list[tuple[int, ...]]:
    """Ways to deal replicas to the types, each type at least one; those nearest to the types' work if there are many.

    Returns
    -------
    list of tuple of int
        Replicas of each type, in the scenario's order.
    """
    types = len(scenario.workload.types)
    borders = combinations(range(1, replicas), types - 1)
    every = [tuple(np.diff([0, *each, replicas]).tolist()) for each in borders]
    work = _work(scenario)
    ideal = work / work.sum() * replicas
    return sorted(every, key=lambda dealt: float(np.abs(np.log(np.array(dealt) / ideal)).sum()))[:MOST_SPLITS]


def together(scenario: Scenario, replicas: int) -> Split:
    """One pool for all types."""
    return Split((_pool(shortened(scenario, MAX_REQUESTS), "all types", replicas),))


def apart(scenario: Scenario, dealt: Sequence[int]) -> Split:
    """A pool for each type."""
    load = load_of(scenario)
    assert load is not None
    types = scenario.workload.types
    whole = sum(task.share for task in types)
    pools = []
    for task, replicas in zip(types, dealt, strict=True):
        rate_rps = load * sum(dealt) * task.share / whole / replicas
        alone = with_values(shortened(scenario, MAX_REQUESTS), {"workload.types": [task.model_dump(mode="json")]})
        pools.append(_pool(at_load(alone, rate_rps), task.name, replicas))
    return Split(tuple(pools))


def _pool(scenario: Scenario, name: str, replicas: int) -> Pool:
    result = simulate(scenario)
    load = load_of(scenario)
    assert load is not None
    return Pool(
        name,
        replicas,
        load,
        metrics.cv(result.answer_len),
        p99(result.tpot_s),
        p99(result.ttft_s),
        float("nan") if result.limits.is_empty else result.attainment.share,
        float((result.run.outcome.num_preemptions > 0).mean()),
        bool(result.summary()["flags"]["unstable"]),
        result.is_finished.size,
    )


def _work(scenario: Scenario) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Time of each type's requests in an own run, (types,) float64: how much of a pool it would take."""
    result: Result = simulate(shortened(scenario, MAX_REQUESTS))
    service_s = result.e2e_s - result.queue_delay_s
    return np.array(
        [max(float(np.nansum(service_s[result.info.type_id == i])), 1e-9) for i in range(len(result.info.type_names))]
    )
