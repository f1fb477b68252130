"""The naive SGLang on a clock: steps take time, arrivals come at times, and everything that happens is written down.

The rules are those of `sglang`; here is only when they are applied. With overlap the next batch is scheduled
while one is computed, and the results of a batch are taken when it ends.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sim.engine.inputs import Requests, StepTime
from sim.engine.sglang.inputs import SglangRules
from sim.golden.sglang_run import SglangRequests
from tests.naive.arrivals import Arrivals
from tests.naive.sglang import Scheduler
from tests.naive.sglang_state import Batch, Member, sglang_members
from tests.naive.state import Chunk, members_of
from tests.naive.synchronous import Call, linear_time
from tests.naive.tables import NaiveTables, outcome_of, step_table


@dataclass
class Flight:
    """A step under way, as it was when it was scheduled."""

    call: Call
    batch: Batch
    reads: list[int]  # KV tokens of each decoding member
    high_water: list[int]  # of each member in prefill
    is_last_chunk: list[bool]  # likewise


class Moment(NamedTuple):
    """What holds between two instants: the state right after scheduling."""

    start: float
    end: float
    scheduler: Scheduler
    members: list[Member]
    running: int  # admitted and not finished
    flight: Flight | None  # the step whose results are taken at the end; None: nothing runs
    newest: Batch | None  # what this iteration scheduled


@dataclass
class TimedRun:
    """Steps in order, the requests in their final state, and when each of their tokens came."""

    members: list[Member]
    calls: list[Call] = field(default_factory=list)
    token_times: list[list[float]] = field(default_factory=list)
    duration: float = 0.0


def simulate(
    rules: SglangRules,
    asked: SglangRequests,
    step_time: StepTime,
    *,
    until: float = math.inf,
    observe: Callable[[Moment], None] = lambda moment: None,
) -> TimedRun:
    """Serve all requests; no iteration begins at `until` or later.

    `observe` is called for every stretch of time, before the results at its end are taken.
    """
    members = sglang_members(rules, asked, has_end_token=False)
    for member, plain in zip(members, members_of(asked.requests), strict=True):
        member.arrival = plain.arrival
    arrivals = Arrivals(asked.requests, members)  # type: ignore[arg-type]
    scheduler = Scheduler(rules)
    run = TimedRun(members, token_times=[[] for _ in members])
    flights: list[Flight] = []
    arrived: list[Member] = []
    now = 0.0
    while True:
        arrived += join_arrivals(arrivals, members, scheduler, now)
        run.duration = now
        if now >= until:
            return run
        committed = {member: member.committed for member in members}
        start = max(now, run.calls[-1].end if run.calls else 0.0)
        batch = scheduler.next_batch()
        for member in scheduler.retracted:
            member.num_preemptions += 1
            member.high_water = max(member.high_water, committed[member])
        running = sum(not (member.is_finished or member.is_rejected) for member in arrived) - len(scheduler.queue)
        if batch is not None:
            lost = [(member.id, committed[member]) for member in scheduler.retracted]
            flights.append(launch(start, batch, lost, running, scheduler, step_time))
            run.calls.append(flights[-1].call)
            scheduler.unprocessed.append(replace(batch))
        flight = flights.pop(0) if len(flights) > int(rules.overlap and batch is not None) else None
        if flight is not None:
            observe(Moment(now, flight.call.end, scheduler, members, running, flight, batch))
            now = flight.call.end
            take_results(flight, scheduler, run, arrivals, now)
        before, scheduler.last = scheduler.last, batch
        waits_for_results = rules.overlap and before is not None
        if batch is not None or waits_for_results or not scheduler.is_quiet():
            continue
        if not scheduler.queue:
            scheduler.ratio = rules.init_ratio
        resume = arrivals.next_time()
        is_over = all(member.is_finished or member.is_rejected for member in members)
        if resume == math.inf and (is_over or until == math.inf):
            return run
        end = max(now, min(resume, until))
        observe(Moment(now, end, scheduler, members, running, None, None))
        now = end


def join_arrivals(arrivals: Arrivals, members: list[Member], scheduler: Scheduler, now: float) -> list[Member]:
    """Whoever has come by now, in the queue or refused."""
    arrived = []
    while taken := arrivals.take(now):  # whoever is refused may ask again at once
        for each in taken:
            member = members[each.id]
            arrived.append(member)
            if can_run(scheduler.rules, member):
                scheduler.queue.append(member)
            else:
                member.is_rejected = True
                arrivals.answered(now)
    return arrived


def can_run(rules: SglangRules, member: Member) -> bool:
    """Whether an empty server would take a request."""
    if member.max_new < 1:
        return False
    pages = -(-member.prompt // rules.page_size) * rules.page_size
    is_tight = rules.pool_tokens - pages - rules.page_size - member.max_new <= 1
    return not (member.ignore_eos and not rules.radix_cache and is_tight)


def launch(
    start: float,
    batch: Batch,
    lost: list[tuple[int, int]],
    running: int,
    scheduler: Scheduler,
    step_time: StepTime,
) -> Flight:
    """A step begins; its end is known. What it computes is written into the requests' records."""
    reads = [member.committed for member in batch.decoding]
    tokens, kv_read, work = len(reads), sum(reads), 0.0
    for member, length, before in batch.prefill:
        tokens += length
        kv_read += before
        work += length * before + length * length / 2
        if member.first_cached is None:
            member.first_cached = before
        member.recomputed += max(0, min(before + length, member.high_water) - before)
    duration = linear_time(tokens, step_time) + step_time.kv_s * kv_read + step_time.attention_s * work
    page = scheduler.rules.page_size
    chunks = [(member, length, before) for member, length, before in batch.prefill]
    chunks += [(member, 1, member.committed - 1) for member in batch.decoding]
    free = scheduler.memory.free_or_evictable() // page
    call = Call(
        start,
        start + duration,
        [Chunk(member.id, length, before, -(-(before + length) // page)) for member, length, before in chunks],
        lost,
        running,
        len(scheduler.queue),
        free,
        [],
        free,
    )
    return Flight(
        call,
        replace(batch),
        reads,
        [member.high_water for member, _, _ in batch.prefill],
        [member is not batch.chunked for member, _, _ in batch.prefill],
    )


def take_results(flight: Flight, scheduler: Scheduler, run: TimedRun, arrivals: Arrivals, now: float) -> None:
    """Tokens come, requests finish."""
    emitted = {member: member.emitted for member in flight.batch.members}
    finished = scheduler.process(scheduler.unprocessed.pop(0))
    for member, before in emitted.items():
        if member.emitted > before:
            run.token_times[member.id].append(now)
    for _ in finished:
        arrivals.answered(now)
    free = scheduler.memory.free_or_evictable() // scheduler.rules.page_size
    place = next(k for k, call in enumerate(run.calls) if call is flight.call)
    run.calls[place] = flight.call._replace(finished=[member.id for member in finished], free_end=free)


def tables(
    rules: SglangRules,
    requests: Requests,
    step_time: StepTime,
    ignore_eos: np.ndarray,
    until_s: float = math.inf,
) -> Any:
    """What the engine is asked to return."""
    held = np.zeros(len(requests.prompt_len))

    def add_memory(moment: Moment) -> None:
        for member in moment.members:
            held[member.id] += member.committed * (moment.end - moment.start)

    naive = simulate(rules, SglangRequests(requests, ignore_eos), step_time, until=until_s, observe=add_memory)
    outcome = outcome_of(naive.members, naive.calls, naive.token_times, held)  # type: ignore[arg-type]
    return NaiveTables(outcome, step_table(naive.calls), naive.duration)
