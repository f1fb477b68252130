"""Published predictors of output lengths, and the confusion matrices of some."""

from functools import lru_cache
from typing import NamedTuple

from sim.catalog.table import rows, unknown


class PublishedPredictor(NamedTuple):
    """One row of predictors.csv: what was measured on a real predictor; None where nothing was."""

    name: str
    kind: str  # as in a scenario
    tau: float | None  # Kendall's tau of predicted and true order
    accuracy: float | None  # share in the right class
    num_classes: int | None
    class_width: int | None  # tokens
    confusion: str  # name of its matrix, or "none"
    bias: float  # log units, as the two below
    spread: float
    within_prompt_spread: float
    mean_abs_error: float | None  # tokens
    within_50: float | None  # share with an error of at most 50 tokens
    within_100: float | None
    within_one_class: float | None  # share
    too_short: float | None  # share
    too_long: float | None  # share
    total_spread: float | None  # of ln length over all prompts, where it was measured
    data: str  # what it was measured on
    what: str  # in words
    source: str


class Confusion(NamedTuple):
    """How often a class is taken for another."""

    longest: tuple[int, ...]  # (k - 1,) tokens: longest answer of every class but the last, which is open
    shares: tuple[tuple[float, ...], ...]  # (k, k) rows by true class, each adding up to 1


@lru_cache
def _predictors() -> dict[str, PublishedPredictor]:
    return {row["predictor"]: _predictor(row) for row in rows("predictors")}


def _predictor(row: dict[str, str]) -> PublishedPredictor:
    return PublishedPredictor(
        name=row["predictor"],
        kind=row["kind"],
        tau=_number(row["tau"]),
        accuracy=_number(row["accuracy"]),
        num_classes=int(row["num_classes"]) if row["num_classes"] else None,
        class_width=int(row["class_width"]) if row["class_width"] else None,
        confusion=row["confusion"] or "none",
        bias=float(row["bias"] or 0),
        spread=float(row["spread"] or 0),
        within_prompt_spread=float(row["within_prompt_spread"] or 0),
        mean_abs_error=_number(row["mean_abs_error"]),
        within_50=_number(row["within_50"]),
        within_100=_number(row["within_100"]),
        within_one_class=_number(row["within_one_class"]),
        too_short=_number(row["too_short"]),
        too_long=_number(row["too_long"]),
        total_spread=_number(row["total_spread"]),
        data=row["data"],
        what=row["what"],
        source=row["source"],
    )


def _number(text: str) -> float | None:
    return float(text) if text else None


def predictor_names() -> tuple[str, ...]:
    """All published predictors, in the catalogue's order."""
    return tuple(_predictors())


def published_predictor(name: str) -> PublishedPredictor:
    """The published predictor of that name.

    Raises
    ------
    ScenarioError
        No such predictor; the sentence lists the closest names.
    """
    if name not in _predictors():
        raise unknown("preset", name, _predictors())
    return _predictors()[name]


@lru_cache
def confusion_matrix(name: str) -> Confusion:
    """A published confusion matrix; rows, published with two digits, are made to add up to 1."""
    table = [row for row in rows("confusion_matrices") if row["matrix"] == name]
    shares = [[float(row[f"predicted_{k}"]) for k in range(len(table))] for row in table]
    return Confusion(
        longest=tuple(int(row["longest"]) for row in table[:-1]),
        shares=tuple(tuple(share / sum(row) for share in row) for row in shares),
    )
