"""A recorded run put back together: what every request did in every step, read off the step table alone.

A row of the table is a call of the scheduler and the step it started. Requests and steps are numbered from 0.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine import AsyncColumns, StepTable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class State(IntEnum):
    """What a request does in a step."""

    WAITING = 0  # arrived, never yet scheduled
    PREFILL = 1
    DECODE = 2
    RECOMPUTE = 3  # tokens that it had computed before it was preempted
    PASSED_OVER = 4  # running, but the step has no token for it
    PREEMPTED = 5
    HELD = 6  # finished, or cut to run again later, in a batch that has not ended
    PAUSED = 7  # waits with its KV in memory, as others go first in this step


class Segment(NamedTuple):
    """Steps in which a request does the same; both ends belong to it."""

    first: int
    last: int
    state: State
    computed: int  # tokens whose KV it holds after its first step
    growth: int  # tokens more with each further step


class Chunk(NamedTuple):
    """Prompt tokens of one request in one step, or tokens computed again."""

    step: int
    tokens: int
    before: int  # tokens computed before


class Life(NamedTuple):
    """One request from its arrival to its end."""

    segments: list[Segment]
    chunks: list[Chunk]
    token_steps: Ints  # (t,) steps that brought it an output token
    finished: int  # step of its last token; -1: not within the table


class Requests(NamedTuple):
    """What the table does not say about the requests; one row a request."""

    arrival_s: Floats  # (n,) NaN: never
    prompt_len: Ints  # (n,)
    output_len: Ints  # (n,)
    priority: Ints  # (n,) smaller is served first; all 0 where only the arrival counts
    is_rejected: Bools  # (n,) never joined the queue
    gone_s: Floats | None = None  # (n,) when its client gave up; NaN: never


def lives(
    table: StepTable,
    requests: Requests,
    *,
    is_held: bool = False,
    is_restarted: bool = False,
    chooses_anew: bool = False,
    columns: AsyncColumns | None = None,
    is_overlapped: bool = False,
) -> list[Life]:
    """Put every request's way through the table back together.

    Parameters
    ----------
    table : StepTable
    requests : Requests
    is_held : bool
        Finished members keep their places until the batch ends.
    is_restarted : bool
        Who gives way loses its answer too and generates it anew.
    chooses_anew : bool
        Every iteration chooses among all live requests, so that who gets no token does not run.
    columns : AsyncColumns, optional
        Of an asynchronous run.
    is_overlapped : bool
        A step is scheduled while the one before still runs, as SGLang does.
    """
    num_steps = len(table.start_s)
    called_s, last_seen = _seen(table, columns, is_overlapped=is_overlapped)
    arrival = np.searchsorted(called_s, np.nan_to_num(requests.arrival_s, nan=np.inf))
    step_of_row = np.repeat(np.arange(num_steps), np.diff(table.scheduled_start))
    preempted = _steps_of(table.preempted[:, 0], table.preempted_start, len(arrival))
    finished = np.full(len(arrival), -1)
    finished[table.finished] = np.repeat(np.arange(num_steps), np.diff(table.finished_start))
    has_ended = finished >= 0
    leaves = np.full(len(arrival), -1)
    leaves[has_ended] = last_seen[finished[has_ended]]
    stays = np.full(len(arrival), num_steps - 1)
    if requests.gone_s is not None:
        stays = _stays(table, arrival, np.nan_to_num(requests.gone_s, nan=np.inf))
    leaves = np.where(has_ended, leaves, stays)
    ends = _batch_ends(table, step_of_row) if is_held else None
    quiet = State.PAUSED if chooses_anew else State.PASSED_OVER
    order = np.argsort(table.scheduled[:, 0], kind="stable")
    borders = np.searchsorted(table.scheduled[order, 0], np.arange(len(arrival) + 1))
    found = []
    for i in range(len(arrival)):
        mine = order[borders[i] : borders[i + 1]]
        sizes = int(requests.prompt_len[i]), int(requests.output_len[i])
        rows = _rows(step_of_row[mine], table.scheduled[mine], *sizes, is_restarted=is_restarted)
        begin = num_steps if requests.is_rejected[i] else int(arrival[i])
        runs = _runs(rows)
        if ends is not None and finished[i] >= 0:
            is_cut = runs[-1].computed + runs[-1].growth * (runs[-1].last - runs[-1].first) < sum(sizes) - 1
            leaves[i] = stays[i] if is_cut else ends[finished[i]]
            finished[i] = -1 if is_cut else finished[i]
        segments = _segments(runs, begin, int(leaves[i]), preempted[i], ends, quiet)
        found.append(Life(segments, _chunks(rows), rows.step[rows.is_output], int(finished[i])))
    return found


def _seen(table: StepTable, columns: AsyncColumns | None, *, is_overlapped: bool) -> tuple[Floats, Ints]:
    """When each step was scheduled, and the last step that was scheduled before its tokens were known."""
    steps = np.arange(len(table.start_s))
    if columns is not None:
        return columns.called_s, columns.applied_after
    follows = steps[1:][table.start_s[1:] == table.end_s[:-1]] if is_overlapped else steps[:0]
    called_s, last_seen = table.start_s.copy(), steps.copy()
    called_s[follows] = table.start_s[follows - 1]
    last_seen[follows - 1] = follows
    return called_s, last_seen


def _stays(table: StepTable, arrival: Ints, gone_s: Floats) -> Ints:
    """Last step in which those whose clients give up are there.

    Every call looks who is gone before others join: who comes and gives up during one step is in the next one's queue.
    """
    last = np.searchsorted(table.start_s, gone_s) - 1
    follows = np.append(table.start_s[1:] == table.end_s[:-1], False)  # the step after each starts with its end
    during = np.clip(arrival - 1, 0, len(follows) - 1)
    is_next = (arrival > 0) & (arrival < len(follows)) & follows[during]
    return np.where(is_next, np.maximum(last, arrival), last)


def _steps_of(request: Ints, start: Ints, num_requests: int) -> list[list[int]]:
    """Steps at which each request is in a list of the table."""
    steps: list[list[int]] = [[] for _ in range(num_requests)]
    for i, step in zip(request.tolist(), np.repeat(np.arange(len(start) - 1), np.diff(start)).tolist(), strict=True):
        steps[i].append(step)
    return steps


def _batch_ends(table: StepTable, step_of_row: Ints) -> Ints:
    """Last step of the batch that each step belongs to: a closed batch goes on while anybody computes further."""
    request, tokens, before = table.scheduled[:, 0], table.scheduled[:, 1], table.scheduled[:, 2]
    order = np.lexsort((step_of_row, request))
    follows = (np.diff(request[order]) == 0) & (np.diff(step_of_row[order]) == 1)
    follows &= (before[order][1:] > 0) & (before[order][1:] == (before + tokens)[order][:-1])
    num_steps = len(table.start_s)
    begins = np.ones(num_steps, np.bool_)
    begins[step_of_row[order][1:][follows]] = False
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, num_steps))
    return np.repeat(starts + lengths - 1, lengths)


class Rows(NamedTuple):
    """One request's rows of the table, one entry a row."""

    step: Ints
    tokens: Ints
    before: Ints
    state: Ints
    is_output: Bools  # brings an output token


def _rows(step: Ints, scheduled: Ints, prompt_len: int, output_len: int, *, is_restarted: bool) -> Rows:
    """A token comes whenever all that is known has been computed for the first time."""
    tokens, before = scheduled[:, 1], scheduled[:, 2]
    after = before + tokens
    high = np.maximum.accumulate(np.append(0, after))[:-1]  # most tokens ever computed, before each row
    is_output = (after >= prompt_len) & (after > high)
    if is_restarted and len(after):
        high = np.append(0, after[:-1])  # nothing outlives a restart, and without one computing only goes on
        is_output = after >= prompt_len
        is_output[: np.flatnonzero(np.append(True, before[1:] < after[:-1]))[-1]] = False  # of the last attempt only
    is_output &= np.cumsum(is_output) <= output_len  # what comes after the end is thrown away
    state = np.where(before < high, State.RECOMPUTE, State.PREFILL)
    state[(tokens == 1) & (before >= high) & (high >= prompt_len)] = State.DECODE
    return Rows(step, tokens, before, state, is_output)


def _chunks(rows: Rows) -> list[Chunk]:
    at = rows.state != State.DECODE
    return [Chunk(*each) for each in zip(*(column[at].tolist() for column in rows[:3]), strict=True)]


def _runs(rows: Rows) -> list[Segment]:
    """Rows as segments; decoding without a break is one."""
    is_decode = rows.state == State.DECODE
    goes_on = is_decode[1:] & is_decode[:-1] & (np.diff(rows.step) == 1)
    starts = np.flatnonzero(np.append(True, ~goes_on)[: len(rows.step)])
    ends = np.append(starts, len(rows.step))[1:] - 1
    columns = (rows.step[starts], rows.step[ends], rows.state[starts], (rows.before + rows.tokens)[starts])
    return [
        Segment(first, last, State(state), computed, int(last > first))
        for first, last, state, computed in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _segments(
    runs: list[Segment], begin: int, leaves: int, preempted: list[int], ends: Ints | None, quiet: State
) -> list[Segment]:
    """One request's steps from its arrival on, without a gap."""
    first = runs[0].first if runs else leaves + 1
    found = [Segment(begin, first - 1, State.WAITING, 0, 0)] if begin < first else []
    for run in runs:
        if found and run.first > found[-1].last + 1:
            found += _between(found[-1], run.first - 1, preempted, ends, quiet)
        found.append(run)
    if runs and leaves > found[-1].last:
        found += _between(found[-1], leaves, preempted, ends, quiet)
    return found


def _between(before: Segment, last: int, preempted: list[int], ends: Ints | None, quiet: State) -> list[Segment]:
    """Steps without a row: in memory until a preemption, if there is one, or until the batch ends (`ends`)."""
    computed = before.computed + before.growth * (before.last - before.first)
    first = before.last + 1
    at = next((step for step in preempted if first <= step <= last), None)
    if at is not None:
        until_then = [Segment(first, at - 1, quiet, computed, 0)] if at > first else []
        return [*until_then, Segment(at, last, State.PREEMPTED, 0, 0)]
    if ends is None:
        return [Segment(first, last, quiet, computed, 0)]
    end = min(int(ends[before.last]), last)
    held = [Segment(first, end, State.HELD, computed, 0)] if end >= first else []
    return [*held, Segment(end + 1, last, State.WAITING, 0, 0)] if last > end else held
