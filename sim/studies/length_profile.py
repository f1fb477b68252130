"""How heavy the tail of output lengths is: quantiles, p99 / mean and CV, of a run's requests and of real data sets."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim import metrics
from sim.catalog import dataset_names, length_quantiles
from sim.deployment import resolve
from sim.scenario import Scenario
from sim.studies.saturated import replayed
from sim.workload import Trace, make_requests
from sim.workload.requests import answers

Floats = NDArray[np.float64]

QUANTILES = {"p10": 0.1, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}


class Profile(NamedTuple):
    """A distribution of output lengths in numbers; lengths in tokens."""

    name: str
    quantiles: dict[str, float]  # by the names in `QUANTILES`
    mean: float
    cv: float
    tail_ratio: float  # p99 / mean


class Outputs(NamedTuple):
    """What the requests of a scenario will produce, cut by caps and by the longest text; none that never fits."""

    output_len: NDArray[np.int64]  # (n,) tokens
    type_id: NDArray[np.int64]  # (n,) index into type_names
    type_names: tuple[str, ...]


def outputs(scenario: Scenario, trace: Trace | None = None) -> Outputs:
    """Output lengths of a scenario's requests, without running them.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    longest = resolve(scenario).max_model_len
    requests, info = make_requests(scenario, replayed(scenario, trace), max_model_len=longest)
    return Outputs(
        answers(requests.output_len, info.is_rejected), answers(info.type_id, info.is_rejected), info.type_names
    )


def profiles(made: Outputs) -> list[Profile]:
    """Of all requests, then of each type where there are several."""
    found = [profile_of("this scenario", made.output_len)]
    if len(made.type_names) > 1:
        for i, name in enumerate(made.type_names):
            if (rows := made.type_id == i).any():
                found.append(profile_of(name, made.output_len[rows]))
    return found


def profile_of(name: str, output_len: NDArray[np.int64]) -> Profile:
    """Of lengths, (n,) tokens, at least one."""
    at = metrics.percentiles(output_len, tuple(QUANTILES.values()))
    return Profile(
        name,
        {label: each.value for label, each in zip(QUANTILES, at, strict=True)},
        metrics.mean(output_len),
        metrics.cv(output_len),
        metrics.tail_ratio(output_len),
    )


def real_profiles() -> list[Profile]:
    """Of every data set in the catalogue that has output lengths, heaviest tail first."""
    found = [profile_of_quantiles(name, length_quantiles(name, "output")) for name in dataset_names("output")]
    return sorted(found, key=lambda profile: -profile.tail_ratio)


def profile_of_quantiles(name: str, points: tuple[tuple[float, float], ...]) -> Profile:
    """Of a distribution that is linear between its quantiles, as pairs (quantile, tokens) from 0 to 1."""
    quantiles, tokens = zip(*points, strict=True)
    at = {label: float(np.interp(q, quantiles, tokens)) for label, q in QUANTILES.items()}
    pieces = list(pairwise(points))
    mean = sum((q1 - q0) * (a + b) / 2 for (q0, a), (q1, b) in pieces)
    square = sum((q1 - q0) * (a * a + a * b + b * b) / 3 for (q0, a), (q1, b) in pieces)
    return Profile(name, at, mean, float(np.sqrt(max(square - mean**2, 0.0)) / mean), at["p99"] / mean)
