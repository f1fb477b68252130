"""What else the same service could be: another GPU, a cap, other answers; each beside the capacity already found.

An alternative is searched once, with the random numbers of the first replication and fewer requests, and so is the
base. Their ratio is applied to the base's rate and interval: the same customers on both sides leave little of
chance in it. A scheduler that is told lengths is held against the one that differs from it in that alone.
"""

from typing import NamedTuple

import numpy as np

from sim.deployment import resolve
from sim.errors import ScenarioError
from sim.lengths_spec import Constant
from sim.scenario import Scenario, with_values
from sim.studies.assumed_lengths import mean_of
from sim.studies.capacity import Capacity
from sim.studies.capacity_search import Searched, Server, search_long_enough
from sim.studies.output_lengths import Asked, capped, with_longer_tail, with_outputs
from sim.studies.predictor.uses import UNNAMED, without_predictor
from sim.studies.saturated import replayed
from sim.studies.shortened import shortened
from sim.systems import reads_predictor
from sim.workload import Trace, make_requests
from sim.workload.retries import Retry

LIGHT_REQUESTS = 4_000
PREDICTED = {
    "predictor: shortest first": {"scheduler.order": "predicted"},
    "predictor: reserve its quantile": {"scheduler.reserve": "quantile"},
}


class WhatIf(NamedTuple):
    """One change of what is asked for."""

    name: str
    scenario: Scenario
    trace: Trace | None
    without: Scenario | None = None  # what it is held against, where that is not the base itself


class Alternative(NamedTuple):
    """One alternative and what its light search found; or why it cannot serve this."""

    scenario: Scenario
    searched: Searched | None
    refusal: str = ""
    without: Searched | None = None  # what it is held against, where that is not the base itself


def what_ifs(scenario: Scenario, trace: Trace | None, *, cap: int, factor: float) -> list[WhatIf]:
    """A cap, a longer tail, no variance at all, and schedulers that are told how long answers will be.

    Parameters
    ----------
    scenario : Scenario
    trace : Trace, optional
    cap : int
        Tokens; answers that reach it are cut, and nobody asks again.
    factor : float
        How many times as far answers above the 90th percentile lie beyond it.
    """
    return [
        WhatIf(f"cap of {cap:,} tokens", capped(scenario, cap), trace),
        WhatIf(f"tail {factor:g} x longer", *with_longer_tail(scenario, trace, factor)),
        WhatIf("every answer of mean length", *with_mean_lengths(scenario, trace)),
        *(WhatIf(name, each, trace, without_predictor(scenario)) for name, each in with_predictor(scenario).items()),
    ]


def with_predictor(scenario: Scenario) -> dict[str, Scenario]:
    """The scheduler told predicted lengths, to order by or to reserve for; only what it can be combined with.

    The scenario's own predictor is asked, or else one that errs by the default spread.
    """
    if reads_predictor(scenario.scheduler.choices):
        return {}
    predictor = UNNAMED if scenario.predictor.in_use.kind == "none" else {}
    found = {}
    for name, choice in PREDICTED.items():
        try:
            found[name] = with_values(scenario, predictor | choice)
        except ScenarioError:  # a system that takes no other choices than its own
            continue
    return found


def with_mean_lengths(scenario: Scenario, trace: Trace | None) -> Asked:
    """Every answer as long as its type's mean: what variance alone costs.

    The mean is that of what clients get: under the cap, unless they ask again for what it cuts.
    """
    is_cut_for_good = scenario.workload.client_retry == Retry.NEVER.value
    if trace is not None:
        cap = scenario.workload.types[0].cap
        got = trace.output_len if cap is None or not is_cut_for_good else np.minimum(trace.output_len, cap)
        return with_outputs(scenario, trace, Constant(tokens=max(1, round(float(got.mean())))), cap)
    means = {
        f"workload.types.{i}.output": {
            "kind": "constant",
            "tokens": max(1, round(mean_of(task.output, task.cap if is_cut_for_good else None))),
        }
        for i, task in enumerate(scenario.workload.types)
    }
    return with_values(scenario, means), None


def light_search(scenario: Scenario, trace: Trace | None, share: float) -> Searched:
    """The first replication with fewer requests; with more where they are too few for this server.

    The share of answers that are cut is that of all requests: fewer of them would say something else than Operate.

    Raises
    ------
    ScenarioError
        As `search`.
    """
    found = search_long_enough(Server(shortened(scenario, LIGHT_REQUESTS), trace, share))
    return found._replace(truncated=share_cut(scenario, trace))


def tried(scenario: Scenario, trace: Trace | None, share: float, without: Scenario | None = None) -> Alternative:
    """`light_search` of an alternative, and of what it is held against; a refusal is an answer like any other."""
    try:
        found = light_search(scenario, trace, share)
        beside_it = None if without is None else light_search(without, trace, share)
        return Alternative(scenario, found, without=beside_it)
    except ScenarioError as error:
        return Alternative(scenario, None, str(error))


def share_cut(scenario: Scenario, trace: Trace | None) -> float:
    """Share of all first answers that a cap or the context cuts; a prompt without room for an answer has none."""
    _, info = make_requests(scenario, replayed(scenario, trace), max_model_len=resolve(scenario).max_model_len)
    return float(info.is_truncated.sum() / max((~info.is_rejected).sum(), 1))


def beside(base: Capacity, light_base: Searched, other: Alternative) -> Capacity | None:
    """An alternative's capacity as the base's times the ratio of the two light searches; None where it was refused."""
    if other.searched is None:
        return None
    light_base = other.without or light_base
    ratio = other.searched.search.rate_rps / light_base.search.rate_rps
    found = base.sustained
    scaled = found._replace(
        rate_rps=found.rate_rps * ratio, low_rps=found.low_rps * ratio, high_rps=found.high_rps * ratio
    )
    tokens = base.output_tokens * other.searched.output_tokens / light_base.output_tokens
    return Capacity(other.scenario, scaled, other.searched.attainment, tokens, other.searched.truncated)
