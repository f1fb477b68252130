"""Clients that do not put up with a cut answer: the requests they send after it.

How long each answer would be is known before the run, so the lengths of every retry are too; when it comes the engine
finds out, as it follows the end of the answer before.
"""

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import SHARED_TEXT, Requests
from sim.workload.requests import RequestInfo, stragglers
from sim.workload_spec import Workload

Ints = NDArray[np.int64]

NOBODY = -1


class Retry(Enum):
    """What a client does with an answer that its cap has cut: values of `workload.client_retry`."""

    NEVER = "never"
    REST = "rest"
    AGAIN = "again"


def with_retries(
    requests: Requests, info: RequestInfo, workload: Workload, *, max_model_len: int, tail_quantile: float
) -> tuple[Requests, RequestInfo]:
    """The requests and, after them, the retries of those that a cap cuts.

    A retry finds its prompt, and the first part of the answer if it quotes it, in a prefix cache; parts that later
    tries added count as text of its own. What `max_model_len` cuts is not asked for again: there is no room for it.

    Parameters
    ----------
    requests, info
        As `make_requests` returns them; left as they are, and returned where no answer is cut.
    workload : Workload
        What its clients do is read.
    max_model_len : int
        Tokens of prompt and output together that the server allows.
    tail_quantile : float
        Longer outputs, of all tries, are stragglers.
    """
    n, room = len(requests.output_len), np.maximum(max_model_len - requests.prompt_len, 1)
    missing = np.where(info.is_rejected, 0, np.minimum(info.true_len, room) - requests.output_len)
    if workload.client_retry == Retry.NEVER.value or not missing.any():
        return requests, info
    asks_for_rest = workload.client_retry == Retry.REST.value
    count = -(-missing // requests.cap) if asks_for_rest else (missing > 0).astype(np.int64)
    of = np.repeat(np.arange(n), count)  # question of each retry
    nth = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)  # from 0
    so_far = (nth + 1) * requests.cap[of] if asks_for_rest else np.zeros(len(of), np.int64)
    left = requests.output_len[of] + missing[of] - so_far
    cap = requests.cap[of] if asks_for_rest else room[of]
    output = np.minimum(left, cap)
    before = np.where(nth == 0, of, n + np.arange(len(of)) - 1)
    question = np.concatenate([np.arange(n), of])
    again = np.zeros(len(question), np.int64)
    again[before] = n + np.arange(len(of))
    start, content, length = _texts(requests, of, requests.output_len[of] * asks_for_rest)
    output_len = np.concatenate([requests.output_len, output])
    true_len = np.concatenate([info.true_len, info.true_len[of] - so_far])
    is_rejected = info.is_rejected[question]
    return (
        requests._replace(
            prompt_len=np.concatenate([requests.prompt_len, requests.prompt_len[of] + so_far]),
            output_len=output_len,
            cap=np.concatenate([requests.cap, np.minimum(cap, room[of] - so_far)]),
            priority=requests.priority[question],
            is_straggler=stragglers(output_len, is_rejected, tail_quantile),
            segment_start=start,
            segment_content=content,
            segment_len=length,
            again=again,
            retry_s=workload.client_retry_delay_s,
        ),
        info._replace(
            true_len=true_len,
            type_id=info.type_id[question],
            is_rejected=is_rejected,
            is_truncated=(true_len > output_len) & ~is_rejected,
            prefix_group=info.prefix_group[question],
            retry_of=np.concatenate([np.full(n, NOBODY), before]),
        ),
    )


def in_order(requests: Requests, info: RequestInfo, order: Ints) -> tuple[Requests, RequestInfo]:
    """Requests and retries in the order in which they came.

    Parameters
    ----------
    requests, info
        As `with_retries` returned them.
    order : (m,) int64
        Row of each that came, or was still to come when the run ended; of the others nothing is left.
    """
    place = np.full(len(requests.output_len), NOBODY)
    place[order] = np.arange(len(order))
    count = np.diff(requests.segment_start)[order]
    start = np.concatenate(([0], np.cumsum(count)))
    rows = np.arange(start[-1]) + np.repeat(requests.segment_start[order] - start[:-1], count)
    content = requests.segment_content[rows]
    is_own = content < SHARED_TEXT
    content[is_own] = place[content[is_own]]
    assert info.retry_of is not None
    before = info.retry_of[order]
    columns = ("prompt_len", "output_len", "cap", "priority", "is_straggler")
    details = ("true_len", "type_id", "is_rejected", "is_truncated", "prefix_group")
    return (
        requests._replace(
            **{name: getattr(requests, name)[order] for name in columns},
            segment_start=start,
            segment_content=content,
            segment_len=requests.segment_len[rows],
            again=None,
        ),
        info._replace(
            **{name: getattr(info, name)[order] for name in details},
            retry_of=np.where(before == NOBODY, NOBODY, place[before]),
        ),
    )


def questions(info: RequestInfo) -> Ints:
    """First try of each request, (n,) int64: itself unless it is a retry."""
    found = np.arange(len(info.true_len))
    if info.retry_of is not None:
        for i in np.flatnonzero(info.retry_of != NOBODY):
            found[i] = found[info.retry_of[i]]  # which came before it
    return found


def _texts(requests: Requests, of: Ints, quoted: Ints) -> tuple[Ints, Ints, Ints]:
    """Segments of all tries: a retry has its question's, then its own text with `quoted` tokens of answer."""
    count = np.diff(requests.segment_start)
    shared_len = np.zeros(len(count), np.int64)
    np.add.at(shared_len, np.repeat(np.arange(len(count)), count), requests.segment_len)
    own_len = requests.prompt_len[of] - shared_len[of] + quoted
    first = np.concatenate(([0], np.cumsum(count[of] + 1)))
    rows = np.arange(int(count[of].sum())) + np.repeat(
        requests.segment_start[of] - (np.cumsum(count[of]) - count[of]), count[of]
    )
    is_shared = np.ones(first[-1], np.bool_)
    is_shared[first[1:] - 1] = False
    content, length = np.empty(first[-1], np.int64), np.empty(first[-1], np.int64)
    content[is_shared], length[is_shared] = requests.segment_content[rows], requests.segment_len[rows]
    content[~is_shared], length[~is_shared] = of, own_len
    kept = np.concatenate([np.ones(len(requests.segment_len), np.bool_), length > 0])
    # a prompt that is shared as a whole has no text of its own to quote
    owner = np.concatenate(
        [np.repeat(np.arange(len(count)), count), np.repeat(np.arange(len(of)) + len(count), count[of] + 1)]
    )
    num = np.bincount(owner[kept], minlength=len(count) + len(of))
    return (
        np.concatenate(([0], np.cumsum(num))),
        np.concatenate([requests.segment_content, content])[kept],
        np.concatenate([requests.segment_len, length])[kept],
    )
