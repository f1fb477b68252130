"""Output lengths changed while their total stays: the master keys of every counterfactual about length.

All lengths are tokens. Rows are requests; nobody gets more than `most`, what the server allows a request, and nobody
less than one token. Source: metrics.md, section 8.4.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sim.engine.inputs import Requests
from sim.lengths_spec import LogNormal
from sim.scenario import Scenario
from sim.workload import RequestInfo
from sim.workload.lengths import quantile
from sim.workload.requests import answers
from sim.workload.retries import with_retries

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEVER_ANSWERED = -1  # instead of a type
BISECTIONS = 200  # of the scale; it is settled long before


def without_variance(output_len: Ints, most: Ints, type_id: Ints) -> Ints:
    """Every output becomes the mean of its type, as nearly as whole tokens and `most` allow.

    Parameters
    ----------
    output_len, most, type_id : (n,) int64

    Returns
    -------
    (n,) int64
        The same total in every type.
    """
    return _by_type(lambda rows: np.ones(len(rows)), output_len, most, type_id)


def with_spread(output_len: Ints, most: Ints, type_id: Ints, cv: float) -> Ints:
    """Log-normal outputs of another coefficient of variation; each request keeps its rank within its type.

    Parameters
    ----------
    output_len, most, type_id : (n,) int64
    cv : float
        Wanted within each type. Where `most` cuts the tail, the outcome's is smaller.

    Returns
    -------
    (n,) int64
        The same total in every type.
    """

    def wanted(rows: Ints) -> Floats:
        rank = np.empty(len(rows))
        rank[np.argsort(output_len[rows], kind="stable")] = (np.arange(len(rows)) + 0.5) / len(rows)
        return quantile(LogNormal(mean=1000.0, cv=cv), "output", rank)

    return _by_type(wanted, output_len, most, type_id)


def kinds_of(info: RequestInfo) -> Ints:
    """Types of the requests that are answered, and one more of those that never are: these keep their one token."""
    return np.where(info.is_rejected, NEVER_ANSWERED, info.type_id)


def tries(server: Scenario, requests: Requests, info: RequestInfo, max_model_len: int) -> tuple[Requests, RequestInfo]:
    """The requests and those that clients send after cut answers: other lengths are of all, so that the total stays."""
    return with_retries(
        requests, info, server.workload, max_model_len=max_model_len, tail_quantile=server.tail_quantile
    )


def tail_limit(output_len: Ints, tail_quantile: float) -> int:
    """Tokens that no output exceeds once the tail is cut: the tail quantile, rounded down."""
    return int(np.quantile(output_len, tail_quantile))


def without_tail(output_len: Ints, most: Ints, tail_quantile: float, is_rejected: Bools | None = None) -> Ints | None:
    """Outputs above the tail quantile are cut to it; the others get what was cut, in proportion, none above it.

    Parameters
    ----------
    output_len, most : (n,) int64
    tail_quantile : float
        0 to 1, of the answers.
    is_rejected : (n,) bool, optional
        Of requests that are never answered; their `most` is one token.

    Returns
    -------
    (n,) int64, or None
        The same total. None where the others have no room for it: the mean lies above the quantile.
    """
    limit = tail_limit(output_len if is_rejected is None else answers(output_len, is_rejected), tail_quantile)
    is_cut = output_len > limit
    changed = np.minimum(output_len, limit)
    others = np.flatnonzero(~is_cut)
    total = int(output_len.sum()) - int(is_cut.sum()) * limit
    room = np.minimum(most[others], limit)
    if total > room.sum():
        return None
    changed[others] = scaled(output_len[others].astype(np.float64), total, room)
    return changed


def scaled(wanted: Floats, total: int, most: Ints) -> Ints:
    """Whole numbers in proportion to `wanted`, between 1 and `most`, with a given sum.

    Fractions are handed on from row to row (error diffusion), so each number lies within one of its share.

    Parameters
    ----------
    wanted : (n,) float64
        Above 0.
    total : int
        From n to the sum of `most`.
    most : (n,) int64
        At least 1.
    """
    share = np.clip(_scale(wanted, total, most) * wanted, 1, most)
    is_bound = (share <= 1) | (share >= most)
    result = np.where(is_bound, share, 0).astype(np.int64)
    free = np.flatnonzero(~is_bound)
    left = total - int(result.sum())
    result[free] = _diffused(share[free], left)
    return result


def _scale(wanted: Floats, total: int, most: Ints) -> float:
    """Factor at which the shares, kept within their bounds, add up to the total."""
    low, high = 0.0, float((most / wanted).max(initial=1.0))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if np.clip(middle * wanted, 1, most).sum() < total:
            low = middle
        else:
            high = middle
    return high


def _diffused(share: Floats, total: int) -> Ints:
    """Whole numbers beside their shares; the last border is the total itself."""
    borders = np.floor(np.cumsum(share) + 0.5).astype(np.int64)
    if len(borders):
        borders[-1] = total
    return np.diff(borders, prepend=0)


def _by_type(wanted: Callable[[Ints], Floats], output_len: Ints, most: Ints, type_id: Ints) -> Ints:
    changed = output_len.copy()
    for each in np.unique(type_id):
        rows = np.flatnonzero(type_id == each)
        changed[rows] = scaled(wanted(rows), int(output_len[rows].sum()), most[rows])
    return changed
