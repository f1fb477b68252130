"""Clients that do not put up with a cut answer: the requests they send after it.

How long each answer would be is known before the run, so the lengths of every retry are too; only its arrival depends
on when the answer before it ended.
"""

from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import SHARED_TEXT, Requests
from sim.workload.requests import RequestInfo, stragglers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NOBODY = -1


class Retry(Enum):
    """What a client does with an answer that its cap has cut."""

    NEVER = "never"
    REST = "rest"
    AGAIN = "again"


RETRIES = {
    Retry.NEVER: "nobody asks again: the rest of the answer is lost",
    Retry.REST: "clients ask for the rest: prompt and cut answer are the new prompt, under the same cap, until all is "
    "there",
    Retry.AGAIN: "clients ask again without the cap: the same prompt once more, and the cut answer is thrown away",
}


class Tries(NamedTuple):
    """All tries of all questions, one row a request; the first n rows are the first tries, in order of arrival."""

    requests: Requests  # arrivals of retries are NaN
    info: RequestInfo
    question: Ints  # (m,) row of the question's first try
    after: Ints  # (m,) row of the try before, or NOBODY
    useful: Ints  # (m,) tokens of the answer that the client keeps
    wanted: Ints  # (n,) tokens of the whole answer


def tries(requests: Requests, info: RequestInfo, whole: Requests, retry: Retry) -> Tries:
    """First tries and retries of an open loop.

    A retry finds its prompt, and the first part of the answer if it quotes it, in a prefix cache; parts that later
    tries added count as text of its own.

    Parameters
    ----------
    requests, info
        As `make_requests` returns them under the cap.
    whole : Requests
        The same requests without it.
    retry : Retry
    """
    n, wanted = len(whole.output_len), whole.output_len
    missing = np.where(info.is_rejected, 0, wanted - requests.output_len)
    count = {
        Retry.NEVER: np.zeros(n, np.int64),
        Retry.REST: -(-missing // requests.cap),
        Retry.AGAIN: (missing > 0).astype(np.int64),
    }[retry]
    of = np.repeat(np.arange(n), count)  # question of each retry
    nth = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)  # from 0
    so_far = (nth + 1) * requests.cap[of] if retry is Retry.REST else np.zeros(len(of), np.int64)
    left = wanted[of] - so_far
    output = np.minimum(left, requests.cap[of]) if retry is Retry.REST else left
    after = np.where(nth == 0, of, n + np.arange(len(of)) - 1)
    question = np.concatenate([np.arange(n), of])
    is_thrown_away = np.concatenate([(retry is Retry.AGAIN) & (missing > 0), np.zeros(len(of), np.bool_)])
    output_len = np.concatenate([requests.output_len, output])
    start, content, length = _texts(requests, of, requests.output_len[of] * (retry is Retry.REST))
    true_len = np.concatenate([info.true_len, left])
    return Tries(
        requests._replace(
            arrival_s=np.concatenate([requests.arrival_s, np.full(len(of), np.nan)]),
            prompt_len=np.concatenate([requests.prompt_len, requests.prompt_len[of] + so_far]),
            output_len=output_len,
            cap=np.concatenate([requests.cap, requests.cap[of] if retry is Retry.REST else whole.cap[of]]),
            priority=requests.priority[question],
            segment_start=start,
            segment_content=content,
            segment_len=length,
        ),
        info._replace(
            true_len=true_len,
            type_id=info.type_id[question],
            is_rejected=info.is_rejected[question],
            is_truncated=(true_len > output_len) & ~info.is_rejected[question],
            prefix_group=info.prefix_group[question],
        ),
        question,
        np.concatenate([np.full(n, NOBODY), after]),
        np.where(is_thrown_away, 0, output_len),
        wanted,
    )


def arranged(made: Tries, arrival_s: Floats, tail_quantile: float) -> tuple[Requests, RequestInfo, Ints]:
    """The tries in order of arrival, as the engine wants them.

    Parameters
    ----------
    made : Tries
    arrival_s : (m,) float64
        Of every try.
    tail_quantile : float
        Longer outputs are stragglers.

    Returns
    -------
    requests, info
        Rows in order of arrival.
    order : (m,) int64
        Row of `made` at each place.
    """
    requests, order = made.requests, np.argsort(arrival_s, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    count = np.diff(requests.segment_start)[order]
    start = np.concatenate(([0], np.cumsum(count)))
    rows = np.arange(start[-1]) + np.repeat(requests.segment_start[order] - start[:-1], count)
    content = requests.segment_content[rows]
    is_own = content < SHARED_TEXT
    content[is_own] = place[content[is_own]]
    output_len = requests.output_len[order]
    arranged_requests = requests._replace(
        arrival_s=arrival_s[order],
        prompt_len=requests.prompt_len[order],
        output_len=output_len,
        cap=requests.cap[order],
        priority=requests.priority[order],
        is_straggler=stragglers(output_len, tail_quantile),
        segment_start=start,
        segment_content=content,
        segment_len=requests.segment_len[rows],
    )
    info = made.info
    by_row = {name: getattr(info, name)[order] for name in info._fields if name != "type_names"}
    return arranged_requests, info._replace(**by_row), order


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
