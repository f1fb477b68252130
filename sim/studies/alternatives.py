"""What else the same service could be: another GPU, a cap, other answers; each beside the capacity already found.

An alternative is searched once, with the random numbers of the first replication and fewer requests, and so is the
base. Their ratio is applied to the base's rate and interval: the same customers on both sides leave little of
chance in it.
"""

from collections.abc import Callable
from typing import NamedTuple

from sim.lengths_spec import Constant
from sim.scenario import Scenario, with_values
from sim.studies.assumed_lengths import mean_of
from sim.studies.capacity import FEWEST_REQUESTS, Capacity, TooShortError, capacity
from sim.studies.output_lengths import Asked, capped, with_longer_tail, with_outputs
from sim.workload import Trace

LIGHT_REQUESTS = 4_000
LONGEST = 4  # times as many, where so few come within moments on a fast GPU
FACTORS_OF_LENGTH = (1, LONGEST)


class WhatIf(NamedTuple):
    """One change of what is asked for."""

    name: str
    scenario: Scenario
    trace: Trace | None


def what_ifs(scenario: Scenario, trace: Trace | None, *, cap: int, factor: float) -> list[WhatIf]:
    """A cap, a longer tail, and no variance at all.

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
        WhatIf("every answer of mean length", *without_variance(scenario, trace)),
    ]


def without_variance(scenario: Scenario, trace: Trace | None) -> Asked:
    """Every answer as long as its type's mean under its cap: what variance alone costs."""
    if trace is not None:
        mean = round(float(trace.output_len.mean()))
        return with_outputs(scenario, trace, Constant(tokens=mean), scenario.workload.types[0].cap)
    means = {
        f"workload.types.{i}.output": {"kind": "constant", "tokens": max(1, round(mean_of(task.output, task.cap)))}
        for i, task in enumerate(scenario.workload.types)
    }
    return with_values(scenario, means), None


def light_capacity(
    scenario: Scenario, trace: Trace | None, share: float, on_progress: Callable[[float], None] = lambda done: None
) -> Capacity:
    """One replication with fewer requests; with more where they are too few for this server.

    Raises
    ------
    ScenarioError
        As `capacity`.
    """
    asked = scenario.workload.num_requests
    for times in FACTORS_OF_LENGTH:
        fewer = min(asked, times * LIGHT_REQUESTS) if asked >= FEWEST_REQUESTS else asked
        shorter = with_values(scenario, {"workload.num_requests": fewer})
        try:
            return capacity(shorter, trace, share=share, replications=1, on_progress=on_progress)
        except TooShortError:
            if times == LONGEST or fewer == asked or trace is not None:
                raise
    raise AssertionError("unreachable")


def beside(base: Capacity, light_base: Capacity, other: Capacity) -> Capacity:
    """An alternative's capacity as the base's times the ratio of the two light searches."""
    ratio = other.sustained.rate_rps / light_base.sustained.rate_rps
    found = base.sustained
    scaled = found._replace(
        rate_rps=found.rate_rps * ratio, low_rps=found.low_rps * ratio, high_rps=found.high_rps * ratio
    )
    tokens = base.output_tokens * other.output_tokens / light_base.output_tokens
    return other._replace(sustained=scaled, output_tokens=tokens)
