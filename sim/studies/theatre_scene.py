"""A recorded run around the requests' lives: places on the picture, who waits in which order, the worst stall."""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from sim.engine import StepTable
from sim.studies.theatre import Floats, Life, Requests, State

OUT = frozenset({State.WAITING, State.PREEMPTED, State.PAUSED})  # the step table counts them as waiting


def lanes(found: list[Life]) -> list[int]:
    """A place on the picture for each request from its arrival to its end, the lowest free one; -1 for none."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    lane = [-1] * len(found)
    num_lanes = 0
    for i in sorted((i for i in range(len(found)) if found[i].segments), key=lambda i: found[i].segments[0].first):
        while busy and busy[0][0] < found[i].segments[0].first:
            heappush(free, heappop(busy)[1])
        if not free:
            heappush(free, num_lanes)
            num_lanes += 1
        lane[i] = heappop(free)
        heappush(busy, (found[i].segments[-1].last, lane[i]))
    return lane


def queues(
    found: list[Life], requests: Requests, table: StepTable, *, by_arrival: bool = False
) -> list[tuple[int, list[int]]]:
    """Who waits right after each call that changed it: pairs of step and requests.

    First to be served first: a preempted request goes to the front of its like. With `by_arrival` in the order of
    arrival, where the order of service is another. Source: vLLM V1's queues, first come and by priority.
    """
    is_out = [{(s.state, s.first) for s in life.segments} for life in found]
    enter: dict[int, list[int]] = {}
    leave: dict[int, list[int]] = {}
    for i, life in enumerate(found):
        for segment in life.segments:
            if segment.state in OUT:
                if segment.state != State.PREEMPTED:
                    enter.setdefault(segment.first, []).append(i)
                leave.setdefault(segment.last + 1, []).append(i)
    thrown_out = np.split(table.preempted[:, 0], table.preempted_start[1:-1])
    waiting: list[int] = []
    changes = []
    for step in sorted({*enter, *leave, *(k for k in range(len(thrown_out)) if len(thrown_out[k]))}):
        if step >= len(table.start_s):
            break
        waiting += enter.get(step, [])
        for i in thrown_out[step].tolist():
            if (State.PREEMPTED, step) in is_out[i]:
                waiting.insert(0, i)
        for i in leave.get(step, []):
            waiting.remove(i)
        if by_arrival:
            waiting.sort(key=lambda i: (requests.arrival_s[i], i))
        elif requests.priority.any():
            waiting.sort(key=lambda i: (requests.priority[i], requests.arrival_s[i], i))
        changes.append((step, list(waiting)))
    return changes


class Stall(NamedTuple):
    """The longest time that a request had to wait between two of its tokens."""

    request: int
    gap_s: float
    first: int  # step of the token before
    last: int  # step of the token after


def worst_stall(found: list[Life], end_s: Floats) -> Stall | None:
    """Over all requests; None where nobody got two tokens."""
    worst: Stall | None = None
    for i, life in enumerate(found):
        gaps = np.diff(end_s[life.token_steps])
        if len(gaps) and (worst is None or gaps.max() > worst.gap_s):
            at = int(gaps.argmax())
            worst = Stall(i, float(gaps[at]), int(life.token_steps[at]), int(life.token_steps[at + 1]))
    return worst
