"""Rules and hints as the kernels read them: a record, which is passed by its address, and few arrays.

Numba hands every number of a tuple over on its own; with some fifty rules and a dozen arrays that took longer than the
iteration itself.
"""

from typing import Any, NamedTuple

import numpy as np

from sim.engine.general.choices import GeneralRules, Hints
from sim.engine.inputs import Floats, Ints

# Columns of `numbers` and of `keys`.
GUESS, RESERVE_OUT, STOP, GROUP, GROUP_SIZE = range(5)
KEY_HINT, TAIL_HINT = range(2)

FIELDS = [(name, np.float64 if kind is float else np.int64) for name, kind in GeneralRules.__annotations__.items()]
RULES = np.dtype(FIELDS, align=True)


class Told(NamedTuple):
    """What is known about each request."""

    numbers: Ints  # (n, 5)
    keys: Floats  # (n, 2)
    weight: Floats  # (classes,)


def rules_record(rules: GeneralRules) -> Any:
    """The rules as a record of one layout, so that the loop compiles once."""
    record = np.zeros(1, RULES).view(np.recarray)  # whose fields plain Python can name as well
    for name, value in rules._asdict().items():
        record[name] = value
    return record[0]


def told(hints: Hints) -> Told:
    """The hints, side by side."""
    columns = (hints.guess, hints.reserve_out, hints.stop, hints.group, hints.group_size)
    return Told(
        np.ascontiguousarray(np.column_stack(columns), np.int64),
        np.ascontiguousarray(np.column_stack((hints.key, hints.key_tail)), np.float64),
        np.array(hints.weight, np.float64),
    )
