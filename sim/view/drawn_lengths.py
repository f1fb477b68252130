"""Output lengths drawn by hand: a few quantiles of a task type, and its share in the mix."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sim.errors import ScenarioError
from sim.part import MAX_TOKENS
from sim.scenario import Scenario, with_values

MARKS = {"min": 0.0, "p10": 0.1, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}


def marks(output_len: NDArray[np.int64]) -> dict[str, int]:
    """Where the quantiles of some lengths lie, in whole tokens, by the names in `MARKS`."""
    at = np.quantile(output_len, list(MARKS.values()))
    return {name: max(round(float(tokens)), 1) for name, tokens in zip(MARKS, at, strict=True)}


def with_drawn(scenario: Scenario, type_id: int, drawn: Mapping[str, int], share: float | None = None) -> Scenario:
    """The scenario with the outputs of one type as drawn, linear between the quantiles.

    Parameters
    ----------
    scenario : Scenario
    type_id : int
        Which of its task types.
    drawn : mapping
        Tokens by the names in `MARKS`.
    share : float, optional
        Weight of the type in the mix. None leaves it.

    Raises
    ------
    ScenarioError
        A quantile below the one before it, or a length or share that is not allowed.
    """
    for (low, fewer), (high, more) in pairwise((name, drawn[name]) for name in MARKS):
        if more < fewer:
            raise ScenarioError(f"{high} is {more:,}; at least {low} ({fewer:,}) is needed")
    if not 1 <= drawn["min"] <= drawn["max"] <= MAX_TOKENS:
        raise ScenarioError(f"lengths run from {drawn['min']:,} to {drawn['max']:,}; 1 to {MAX_TOKENS:,} is allowed")
    path = f"workload.types.{type_id}"
    points = [[quantile, float(drawn[name])] for name, quantile in MARKS.items()]
    values: dict[str, object] = {f"{path}.output": {"kind": "quantiles", "points": points}}
    if share is not None:
        values[f"{path}.share"] = share
    return with_values(scenario, values)
