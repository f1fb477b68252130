"""Prompt and output lengths of real data sets, as quantiles."""

from functools import lru_cache
from typing import Literal, overload

from sim.catalog.table import rows, unknown

Points = tuple[tuple[float, float], ...]  # (quantile, tokens), both ascending, from 0 to 1


@lru_cache
def _datasets() -> dict[str, dict[str, Points]]:
    tables: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in rows("length_quantiles"):
        points = tables.setdefault(row["dataset"], {}).setdefault(row["kind"], [])
        points.append((float(row["quantile"]), float(row["tokens"])))
    return {name: {kind: tuple(points) for kind, points in table.items()} for name, table in tables.items()}


def dataset_names(kind: str | None = None) -> tuple[str, ...]:
    """All data sets; with `kind` (`prompt` or `output`) those that have such lengths."""
    return tuple(name for name, table in _datasets().items() if kind is None or kind in table)


@overload
def length_quantiles(dataset: str) -> dict[str, Points]: ...
@overload
def length_quantiles(dataset: str, kind: Literal["prompt", "output"]) -> Points: ...
def length_quantiles(dataset: str, kind: str | None = None) -> dict[str, Points] | Points:
    """Quantiles of a data set's lengths in tokens, as pairs (quantile, tokens) from quantile 0 to 1.

    Parameters
    ----------
    dataset : str
        Name in the catalogue.
    kind : "prompt" or "output", optional
        Which lengths; without it, all that the data set has, by kind.

    Raises
    ------
    ScenarioError
        No such data set (the sentence lists the closest names), or it has no lengths of this kind.
    """
    if dataset not in _datasets():
        raise unknown("dataset", dataset, _datasets())
    table = _datasets()[dataset]
    if kind is None:
        return table
    if kind not in table:
        raise unknown("dataset", dataset, dataset_names(kind))
    return table[kind]
