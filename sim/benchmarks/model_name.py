"""Which model a file's runs are of."""

from collections.abc import Sequence

from sim.benchmarks.fields import Fields
from sim.errors import DataError


def common_model(runs: Sequence[tuple[Fields, str | None]]) -> str | None:
    """The model that all runs name; None where none does.

    Parameters
    ----------
    runs : sequence of (Fields, str or None)
        Each run, for the sentence, and its model.

    Raises
    ------
    DataError
        They name several.
    """
    names = list(dict.fromkeys(name for _, name in runs if name is not None))
    if len(names) > 1:
        run = next(run for run, name in runs if name == names[1])
        raise DataError(f"{run.where}: the model is '{names[1]}' after '{names[0]}'; one model a file is needed")
    return names[0] if names else None
