"""Rows of requests that are dealt as they arrive; see `sim.engine.retries`."""

from typing import NamedTuple

import numpy as np

from sim.engine.inputs import Requests
from sim.engine.kernel import kernel
from sim.engine.retries import Pool, copy_row, deal, name_quotes, pool_of
from sim.engine.sglang.state import END_SEGMENT, FIRST_SEGMENT, SglangInputs, SglangState


class SglangPool(NamedTuple):
    """All requests as they were given; empty where nobody asks again."""

    rows: Pool  # of `texts`
    req: np.ndarray  # (rows, NUM_REQ) int32


def sglang_pool(requests: Requests, inputs: SglangInputs, state: SglangState) -> SglangPool:
    """The rows that are yet to be dealt."""
    rows = pool_of(requests, inputs.texts)
    return SglangPool(rows, state.req[: len(rows.order)].copy())


@kernel
def deal_text(i, row, pool, texts, segments, req):
    """Row `row` arrives as request `i`."""
    deal(i, row, pool.rows, texts)
    name_quotes(texts[i, FIRST_SEGMENT], texts[i, END_SEGMENT], pool.rows.place, segments)
    copy_row(pool.req, row, req, i)
