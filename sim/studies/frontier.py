"""Throughput against interactivity: what each user feels, and what each GPU earns, as one knob moves.

Every point is the server when it never lacks work, so that the knob alone decides how many requests share a step.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.deployment import resolve
from sim.errors import ScenarioError
from sim.metrics import percentile
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.saturated import plateau_tokens_per_s, replayed, saturated
from sim.workload import Trace

SEATS = "scheduler.max_num_seqs"
SEAT_VALUES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
REQUESTS_A_SEAT, FEWEST_REQUESTS, MAX_REQUESTS = 16, 300, 10_000  # a point


class FrontierPoint(NamedTuple):
    """The saturated server at one value of the knob."""

    value: int  # of the knob
    tokens_per_s_user: float  # 1 / median TPOT; NaN where nobody sees one token after another
    tokens_per_s_gpu: float  # output, between filling up and running empty; NaN without output
    preemptions: int


def seat_values(scenario: Scenario) -> tuple[int, ...]:
    """Values of `max_num_seqs` to run: powers of two that the scenario can have, and the one it has."""
    own = resolve(scenario).max_num_seqs
    return tuple(value for value in sorted({*SEAT_VALUES, own}) if _can_have(scenario, value))


def frontier_point(scenario: Scenario, value: int, trace: Trace | None = None, *, path: str = SEATS) -> FrontierPoint:
    """Run one value of a knob with every request waiting from the start.

    Parameters
    ----------
    scenario : Scenario
    value : int
        Of the knob; also how many requests may share the server, which sets the length of the run.
    trace : Trace, optional
        Its lengths are used.
    path : str
        The knob's field.

    Raises
    ------
    ScenarioError
        The scenario cannot run with this value.
    """
    requests = min(scenario.workload.num_requests, MAX_REQUESTS, max(FEWEST_REQUESTS, REQUESTS_A_SEAT * value))
    asked = with_values(saturated(scenario), {path: value, "workload.num_requests": requests})
    result = simulate(asked, replayed(asked, trace))
    tpot = percentile(result.tpot_s, 0.5)
    per_gpu = plateau_tokens_per_s(result) / scenario.deployment.gpus
    is_felt = tpot.m > 0 and not result.is_batch_delivery
    preemptions = int(result.run.counters["preemptions"])
    return FrontierPoint(value, 1 / float(tpot.value) if is_felt else float("nan"), float(per_gpu), preemptions)


def frontier(
    scenario: Scenario, values: Iterable[int] | None = None, trace: Trace | None = None
) -> list[FrontierPoint]:
    """All points, in order of the knob."""
    chosen = seat_values(scenario) if values is None else values
    return [frontier_point(scenario, value, trace) for value in chosen]


def is_dominated(points: Sequence[FrontierPoint]) -> NDArray[np.bool_]:
    """Which points another one beats in one figure without losing in the other.

    Returns
    -------
    (k,) bool
        Points without a figure count as beaten.
    """
    user = np.array([point.tokens_per_s_user for point in points])
    gpu = np.array([point.tokens_per_s_gpu for point in points])
    as_good = (user[None, :] >= user[:, None]) & (gpu[None, :] >= gpu[:, None])
    better = (user[None, :] > user[:, None]) | (gpu[None, :] > gpu[:, None])
    found: NDArray[np.bool_] = (as_good & better).any(axis=1) | np.isnan(user) | np.isnan(gpu)
    return found


def _can_have(scenario: Scenario, seats: int) -> bool:
    try:
        resolve(with_values(scenario, {SEATS: seats}))
    except ScenarioError:
        return False
    return True
