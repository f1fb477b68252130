"""The same requests with other answers: capped, with a longer tail, or as long as a target assumes.

Every request keeps its rank among the lengths, so that two runs compare the same customers.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sim.lengths_spec import Lengths, Quantiles
from sim.part import MAX_TOKENS
from sim.scenario import Scenario
from sim.workload import Trace
from sim.workload.lengths import quantile, tokens_at
from sim.workload_spec import TaskType

Floats = NDArray[np.float64]

TAIL_FROM = 0.9  # quantile above which a tail is stretched
ENDS = 1e-6  # how near to 0 and 1 the quantiles of an unbounded distribution are read
GRID = np.unique(
    np.concatenate(
        [
            [0.0, 1.0],
            np.geomspace(ENDS, 0.05, 100),
            np.linspace(0.05, TAIL_FROM, 300),
            1 - np.geomspace(1 - TAIL_FROM, ENDS, 400),
        ]
    )
)  # dense where the tails are

Asked = tuple[Scenario, Trace | None]


def capped(scenario: Scenario, cap: int) -> Scenario:
    """No answer longer than `cap` tokens; a type with a lower cap keeps it."""
    return _with_types(scenario, lambda task: task.model_copy(update={"cap": min(cap, task.cap or cap)}))


def with_longer_tail(scenario: Scenario, trace: Trace | None, factor: float) -> Asked:
    """Answers above the 90th percentile lie `factor` times as far beyond it; the others stay. Caps stay as well.

    Parameters
    ----------
    scenario : Scenario
    trace : Trace, optional
    factor : float
        Above 0; 1 leaves everything as it is.
    """
    if factor == 1:
        return scenario, trace
    if trace is not None:
        start = float(np.quantile(trace.output_len, TAIL_FROM))
        return scenario, replace(trace, output_len=_whole(_stretched(trace.output_len, start, factor)))
    longer = _with_types(scenario, lambda task: task.model_copy(update={"output": longer_tail(task.output, factor)}))
    return longer, None


def longer_tail(lengths: Lengths, factor: float) -> Quantiles:
    """The distribution with its tail above the 90th percentile stretched."""
    values = quantile(lengths, "output", np.clip(GRID, ENDS, 1 - ENDS))
    start = float(quantile(lengths, "output", np.array([TAIL_FROM]))[0])
    return by_quantiles(_stretched(values, start, factor))


def by_quantiles(values: Floats) -> Quantiles:
    """A distribution by its values at `GRID`, ascending."""
    return Quantiles(points=tuple(zip(GRID.tolist(), np.clip(values, 1, MAX_TOKENS).tolist(), strict=True)))


def with_outputs(scenario: Scenario, trace: Trace | None, lengths: Lengths, cap: int | None) -> Asked:
    """Every answer from one distribution and under one cap, whatever its type."""
    other = _with_types(scenario, lambda task: task.model_copy(update={"output": lengths, "cap": cap}))
    if trace is None:
        return other, None
    rank = np.empty(len(trace))
    rank[np.argsort(trace.output_len, kind="stable")] = (np.arange(len(trace)) + 0.5) / len(trace)
    return other, replace(trace, output_len=tokens_at(lengths, "output", rank))


def _with_types(scenario: Scenario, change: Callable[[TaskType], TaskType]) -> Scenario:
    types = tuple(change(task) for task in scenario.workload.types)
    return scenario.model_copy(update={"workload": scenario.workload.model_copy(update={"types": types})})


def _stretched(values: "NDArray[np.float64] | NDArray[np.int64]", start: float, factor: float) -> Floats:
    lengths = np.asarray(values, np.float64)
    return np.where(lengths > start, start + factor * (lengths - start), lengths)


def _whole(values: Floats) -> NDArray[np.int64]:
    return np.clip(np.floor(values + 0.5), 1, MAX_TOKENS).astype(np.int64)
