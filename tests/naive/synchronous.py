"""A slow and obvious simulator: a plain loop over members, written from the golden README and from schedulers.md.

It shares nothing with the engine but the types of its inputs: no calendar of completions, no counts of block
boundaries, no striding. Every call visits every member, so it can be the oracle of the engine's tests.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from sim.engine.inputs import Batching, Requests, Rules, StepTime
from tests.naive.arrivals import Arrivals
from tests.naive.state import Chunk, Member, Scheduler, members_of
from tests.naive.static import StaticScheduler
from tests.naive.vllm import VllmScheduler


class Call(NamedTuple):
    """One iteration: a row of a golden table. Times from the first arrival."""

    start: float
    end: float
    scheduled: list[Chunk]
    preempted: list[tuple[int, int]]  # request, computed tokens lost
    running: int  # the counts are those right after `schedule()`
    waiting: int
    free_scheduled: int
    finished: list[int]
    free_end: int


class Moment(NamedTuple):
    """What holds between two instants; the members are in the state right after `schedule()`."""

    start: float
    end: float
    scheduler: Scheduler
    scheduled: list[Chunk]  # empty while nothing runs
    preempted: list[tuple[int, int]]
    is_call: bool  # else nothing runs, and the clock jumps


@dataclass(frozen=True)
class NaiveRun:
    """Calls in order, the requests in their final state, and when each of their tokens was delivered."""

    members: list[Member]
    calls: list[Call]
    token_times: list[list[float]]
    duration: float


def simulate(
    rules: Rules,
    requests: Requests,
    step_time: StepTime,
    *,
    until: float = math.inf,
    max_calls: float = math.inf,
    observe: Callable[[Moment], None] = lambda moment: None,
) -> NaiveRun:
    """Simulate; no call starts at `until` or later, and at most `max_calls` are made.

    `observe` is called once for every stretch of time, before the outputs of a call are applied.
    """
    members = members_of(requests)
    arrivals = Arrivals(requests, members)
    is_static = rules.batching == Batching.REQUEST
    scheduler: Scheduler = StaticScheduler(rules, members) if is_static else VllmScheduler(rules, members)
    calls: list[Call] = []
    token_times: list[list[float]] = [[] for _ in members]
    now = 0.0
    while True:
        for member in arrivals.take(now):
            if scheduler.can_run(member):
                scheduler.join(member)
            else:
                member.is_rejected = True
                arrivals.answered(now)
        start = scheduler.start_time(now, arrivals.next_time())
        if start == math.inf or now >= until or len(calls) == max_calls:
            return NaiveRun(members, calls, token_times, now)
        if start > now:
            observe(Moment(now, min(start, until), scheduler, [], [], False))
            now = min(start, until)
            continue
        now = _call(scheduler, step_time, now, arrivals, calls, token_times, observe)


def duration_of(chunks: list[Chunk], members: list[Member], step_time: StepTime) -> float:
    """Duration of one call: `linear_s[tokens] + kv_s * KV read + attention_s * prefill work`.

    A member that decodes reads its whole KV, the token it computes included; so does a finished member of a
    held batch, which adds none. A prefill chunk of q tokens after c reads c and works q * c + q * q / 2.
    """
    kv_read, work = 0, 0.0
    for chunk in chunks:
        if members[chunk.id].is_decoding:
            kv_read += members[chunk.id].computed
        else:
            kv_read += chunk.before
            work += chunk.tokens * chunk.before + chunk.tokens * chunk.tokens / 2
    linear = linear_time(sum(chunk.tokens for chunk in chunks), step_time)
    return linear + step_time.kv_s * kv_read + step_time.attention_s * work


def linear_time(tokens: int, step_time: StepTime) -> float:
    """The table's entry; a straight line past its end."""
    beyond = max(0, tokens - (len(step_time.linear_s) - 1))
    return float(step_time.linear_s[tokens - beyond]) + beyond * step_time.beyond_s


def _call(
    scheduler: Scheduler,
    step_time: StepTime,
    now: float,
    arrivals: Arrivals,
    calls: list[Call],
    token_times: list[list[float]],
    observe: Callable[[Moment], None],
) -> float:
    """Make one call; its end."""
    chunks, preempted = scheduler.schedule()
    end = now + duration_of(chunks, scheduler.members, step_time)
    counts = (len(scheduler.running), len(scheduler.waiting), scheduler.num_free())
    observe(Moment(now, end, scheduler, chunks, preempted, True))
    worked = [chunk for chunk in chunks if not scheduler.members[chunk.id].is_done]  # without padding
    applied = scheduler.apply(chunks)
    for i in applied.delivered:
        token_times[i].append(end)
    for _ in applied.answered:
        arrivals.answered(end)
    calls.append(Call(now, end, worked, preempted, *counts, applied.finished, scheduler.num_free()))
    return end
