"""Rules and hints as the kernels read them: a record, which is passed by its address, and few arrays.

Numba hands every number of a tuple over on its own; with some fifty rules and a dozen arrays that took longer than the
iteration itself.
"""

from typing import Any, NamedTuple

import numpy as np

from sim.engine.general.choices import GeneralRules, Hints
from sim.engine.inputs import Floats, Ints, Requests
from sim.engine.kernel import kernel
from sim.engine.retries import Pool, copy_row, deal, pool_of
from sim.engine.state import Inputs

# Columns of `numbers` and of `keys`.
GUESS, RESERVE_OUT, STOP, GROUP, GROUP_SIZE = range(5)
KEY_HINT, TAIL_HINT = range(2)

TICKS_A_SECOND = 2.0**20  # of `ageing`, whose entry k is what 2^k ticks make
LONGEST_AGE_S = 100_000.0  # later arrivals age alike

FIELDS = [(name, np.float64 if kind is float else np.int64) for name, kind in GeneralRules.__annotations__.items()]
RULES = np.dtype(FIELDS, align=True)


class Told(NamedTuple):
    """What is known about each request."""

    numbers: Ints  # (n, 5)
    keys: Floats  # (n, 2)
    weight: Floats  # (classes,)
    ageing: Floats  # (bits,)


class ToldPool(NamedTuple):
    """The same, and what was asked and is believed, of requests that are yet to be dealt; see `sim.engine.retries`."""

    rows: Pool
    numbers: Ints  # (rows, 5)
    keys: Floats  # (rows, 2)
    belief: Floats  # (rows, classes of length)


def told_pool(requests: Requests, inputs: Inputs, told: Told, belief: Floats) -> ToldPool:
    """The rows that are yet to be dealt."""
    rows = pool_of(requests, inputs.asked)
    n = len(rows.order)
    return ToldPool(rows, told.numbers[:n].copy(), told.keys[:n].copy(), belief[:n].copy())


@kernel
def deal_told(i, row, pool, inputs, hints, posterior):
    """Row `row` arrives as request `i`."""
    deal(i, row, pool.rows, inputs.asked)
    copy_row(pool.numbers, row, hints.numbers, i)
    copy_row(pool.keys, row, hints.keys, i)
    if len(pool.belief) == len(pool.numbers):  # else nothing is refined
        copy_row(pool.belief, row, posterior, i)


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
        np.array(hints.ageing, np.float64),
    )
