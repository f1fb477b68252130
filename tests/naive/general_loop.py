"""The loop around a naive scheduler: arrivals, clients that give up, an iteration's time, its outputs."""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from sim.engine.inputs import StepTime
from tests.naive.arrivals import Arrivals
from tests.naive.general import Scheduler
from tests.naive.general_state import Case, Chunk, Member
from tests.naive.state import members_of
from tests.naive.synchronous import linear_time


class Row(NamedTuple):
    """One iteration: a row of the step table."""

    start: float
    end: float
    scheduled: list[tuple[int, int, int]]  # request, tokens, computed before
    preempted: list[tuple[int, int]]  # request, tokens that left the GPU
    running: int
    waiting: int
    free_scheduled: int
    finished: list[int]
    free_end: int


class Moment(NamedTuple):
    """What holds between two instants, right after scheduling; while nothing runs there are no chunks."""

    start: float
    end: float
    chunks: list[Chunk]
    preempted: list[tuple[int, int]]
    swap_s: float
    predictor_s: float
    is_iteration: bool = True  # else nothing could run


class Observer(Protocol):
    """Told of every stretch of time before its outputs are applied."""

    def __call__(self, moment: Moment, scheduler: "Scheduler") -> None: ...


@dataclass(frozen=True)
class NaiveRun:
    """Rows in order, the requests in their final state."""

    rows: list[Row]
    members: list[Member]
    duration: float
    scheduler: Scheduler


def simulate(
    case: Case, family: type[Scheduler], *, observe: Observer | None = None, max_steps: float = math.inf
) -> NaiveRun:
    """Run all requests of a case through a family of schedulers."""
    asked = members_of(case.requests)
    arrivals = Arrivals(case.requests, asked)
    members = [Member(each.id, each.arrival, each.prompt, each.output, each.cap, each.is_straggler) for each in asked]
    scheduler = family(case, members)
    rows: list[Row] = []
    newcomers = 0  # whose prediction lengthens the next iteration
    now = 0.0
    while scheduler.step < max_steps:
        scheduler.now = now
        time_out(scheduler, arrivals)
        while arrivals.next_time() <= now:  # who is refused may ask again at once
            newcomers += take(scheduler, arrivals)
        start = scheduler.start_time(arrivals.next_time())
        if start == math.inf:
            break
        if start > now:
            ends = [each.arrival + case.timeout_s for each in scheduler.waiting]
            start = max(now, min([start, *ends]))  # patience may have ended while an iteration ran
            _observe(Moment(now, start, [], [], 0.0, 0.0, is_iteration=False), scheduler, observe)
            now = start
            continue
        scheduler.start_iteration()
        scheduler.schedule()
        now, row = _pass(scheduler, newcomers, arrivals, observe)
        newcomers = 0
        if row.scheduled or row.preempted:
            rows.append(row)
        elif row.end == row.start:
            break  # nothing can ever move
    return NaiveRun(rows, members, now, scheduler)


def take(scheduler: Scheduler, arrivals: Arrivals) -> int:
    """Everybody who has come by now joins or is rejected; how many joined."""
    joined = 0
    for each in arrivals.take(scheduler.now):
        member = scheduler.members[each.id]
        member.arrival = each.arrival
        if scheduler.can_run(member):
            scheduler.join(member)
            joined += 1
        else:
            member.status = "rejected"
            arrivals.answered(scheduler.now)
    return joined


def time_out(scheduler: Scheduler, arrivals: Arrivals) -> None:
    """Clients whose patience is over go away, all at once: first those whose answers a batch holds for the others."""
    late = [member for member in scheduler.members if member.arrival + scheduler.case.timeout_s <= scheduler.now]
    held = {chunk.member for chunk in scheduler.padding()}
    late.sort(key=lambda member: member not in held)
    for member in late + late:  # whom the end of a batch sends back to the queue is only then found there
        done = {chunk.member for chunk in scheduler.padding()}  # which go when their batch ends
        is_here = member in scheduler.waiting or (member in scheduler.holding() and member.status == "unfinished")
        if is_here and member not in done:
            scheduler.drop(member)
            member.status = "aborted"
            arrivals.answered(scheduler.now)
        elif scheduler.delivers_batches and member in done and member.status == "finished":
            member.status = "aborted"  # nobody waits for its answer any more
            arrivals.answered(scheduler.now)
    _hand_over(scheduler, arrivals)  # by a batch that waited for somebody who has gone


def _hand_over(scheduler: Scheduler, arrivals: Arrivals) -> None:
    """Answers of a batch that has ended reach their users."""
    for _ in scheduler.handed_over:
        arrivals.answered(scheduler.now)
    scheduler.handed_over = []


def _pass(scheduler: Scheduler, newcomers: int, arrivals: Arrivals, observe: Observer | None) -> tuple[float, Row]:
    """The iteration takes its time, and its outputs come."""
    case, start = scheduler.case, scheduler.now
    chunks = scheduler.chunks
    swap_s, predictor_s = scheduler.moved * case.swap_block_s, newcomers * case.predict_step_s
    extra = swap_s + predictor_s
    held = scheduler.padding() if chunks else []
    end = start + (duration_of(chunks, held, case.step_time) + extra if chunks else extra)
    _observe(Moment(start, end, chunks, scheduler.preempted, swap_s, predictor_s), scheduler, observe)
    counts = (len(scheduler.running), len(scheduler.waiting), scheduler.free())
    scheduler.step += 1
    finished: list[int] = []
    for chunk in chunks:
        member = chunk.member
        if member.computed == member.known:
            member.generated += 1
            member.in_prompt = False
            scheduler.note_token(member)
            if member.generated > member.delivered:
                member.delivered = member.generated
                if not scheduler.delivers_batches:
                    member.times.append(end)
    scheduler.now = end
    for chunk in sorted(chunks, key=lambda chunk: chunk.member.id):
        member = chunk.member
        if scheduler.is_cut(member):
            finished.append(member.id)
        elif member.generated == member.output and member.status == "unfinished":
            member.status = "finished"
            finished.append(member.id)
            scheduler.end(member)
            if not scheduler.delivers_batches:
                arrivals.answered(end)
    scheduler.end_iteration()
    _hand_over(scheduler, arrivals)
    scheduled = [(chunk.member.id, chunk.tokens, chunk.before) for chunk in chunks]
    return end, Row(start, end, scheduled, list(scheduler.preempted), *counts, finished, scheduler.free())


def duration_of(chunks: list[Chunk], held: list[Chunk], step_time: StepTime) -> float:
    """`linear_s[tokens] + kv_s * KV read + attention_s * prefill work`.

    A decode reads all of its KV, its own token included, a held member that is done what it has; a prefill chunk of q
    tokens after c reads c and works q * c + q * q / 2.
    """
    kv_read, work = sum(chunk.before for chunk in held), 0.0
    for chunk in chunks:
        if chunk.is_decode:
            kv_read += chunk.before + 1
        else:
            kv_read += chunk.before
            work += chunk.tokens * chunk.before + chunk.tokens * chunk.tokens / 2
    linear = linear_time(sum(chunk.tokens for chunk in chunks) + len(held), step_time)
    return linear + step_time.kv_s * kv_read + step_time.attention_s * work


def _observe(moment: Moment, scheduler: Scheduler, observe: Observer | None) -> None:
    held = {chunk.member for chunk in scheduler.padding()}
    for member in [each for each in scheduler.holding() if each not in held]:
        member.memory_token_s += member.computed * (moment.end - moment.start)
    if observe is not None:
        observe(moment, scheduler)
