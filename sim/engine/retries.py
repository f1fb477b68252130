"""Rows of requests that are dealt as they arrive, where retries make the order known only then."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sim.engine.inputs import SHARED_TEXT, Floats, Ints, Requests
from sim.engine.kernel import part
from sim.engine.state import ARRIVAL_S, ARRIVED, CONTENT, FIRST_TRIES, NUM_DUE, State

if TYPE_CHECKING:
    from sim.engine.sglang.state import SglangState


class Pool(NamedTuple):
    """All requests as they were given; empty where nobody asks again, as then rows are in order already."""

    asked: np.ndarray  # (rows, columns of `asked`) int32
    place: Ints  # (rows,) where a row has arrived
    order: Ints  # (rows,) row at each place


def pool_of(requests: Requests, asked: np.ndarray) -> Pool:
    """The rows that are yet to be dealt."""
    rows = 0 if requests.again is None else len(asked)
    return Pool(asked[:rows].copy(), np.zeros(rows, np.int64), np.zeros(rows, np.int64))


@part
def deal(i, row, pool, asked):
    """Row `row` arrives as request `i`."""
    pool.order[i] = row
    pool.place[row] = i
    copy_row(pool.asked, row, asked, i)


@part
def copy_row(source, row, target, i):
    """Write row `row` of one array over row `i` of another; a slice would be copied to memory of its own first."""
    for column in range(target.shape[1]):
        target[i, column] = source[row, column]


@part
def name_quotes(first_segment, end_segment, place, segments):
    """What a text quotes is named by where that has arrived."""
    for segment in range(first_segment, end_segment):
        if segments[segment, CONTENT] < SHARED_TEXT:
            segments[segment, CONTENT] = place[segments[segment, CONTENT]]


def order_of(pool: Pool, requests: Requests, arrival_s: Floats, state: "State | SglangState") -> Ints | None:
    """Row of each request in order of arrival, then of those that were still to come when the run ended.

    None where nobody asks again. A retry of an answer that never came is not a request.
    """
    if len(pool.order) == 0:
        return None
    arrived, first = int(state.counts[ARRIVED]), int(state.counts[FIRST_TRIES])
    due = state.thinking[: state.counts[NUM_DUE], 1].astype(np.int64)
    state.out_s[arrived:, ARRIVAL_S] = np.nan
    if not requests.users:
        state.out_s[arrived : arrived + len(arrival_s) - first, ARRIVAL_S] = arrival_s[first:]
    return np.concatenate([pool.order[:arrived], np.arange(first, len(arrival_s)), due[due > 0]])
