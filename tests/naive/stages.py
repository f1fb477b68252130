"""The naive families of `general` on a pipeline: a request is in one batch at a time.

The loop is vLLM's: it calls until a batch for each stage is in its queue, empty ones too, else it waits for the oldest.
Members whose batch is under way keep seat and memory and are passed over; they can give way, and the token on its way
comes all the same, unless preemption throws tokens away. Who gave way comes back when its batch is through; where
arrival alone orders the queue, all others wait behind it, else it is passed over. Source: schedulers.md 1.3.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.engine.inputs import StepTime
from tests.naive import general_state
from tests.naive.arrivals import Arrivals
from tests.naive.general import Scheduler
from tests.naive.general_loop import Row, duration_of, take, time_out
from tests.naive.general_state import Case, Chunk
from tests.naive.state import members_of


@dataclass(eq=False)
class Member(general_state.Member):
    """A request of which tokens may be under way."""

    flying: int = 0

    @property
    def left(self) -> int:
        return 0 if self.flying and self.computed else super().left


def piped(family: type[Scheduler], *, is_by_arrival: bool) -> type[Scheduler]:
    """The family with members in flight passed over."""

    class Piped(family):  # type: ignore[misc, valid-type]
        begins = 0.0

        def schedule(self) -> None:
            everybody = list(self.waiting)
            shut = min(((each.arrival, each.id) for each in everybody if each.flying), default=(math.inf, 0))
            self.waiting = [
                each for each in everybody if not each.flying and not (is_by_arrival and (each.arrival, each.id) > shut)
            ]
            hidden = [member for member in everybody if member not in self.waiting]
            super().schedule()
            newly = [member for member in self.waiting if member not in everybody]
            self.waiting = newly + [member for member in everybody if member in hidden or member in self.waiting]

        def note_service(self, member: Member) -> None:
            self.at(self.begins, super().note_service, member)

        def preempt(self, member: Member, how: str | None = None) -> None:
            self.at(self.begins, super().preempt, member, how)

        def at(self, time: float, act: Callable[..., None], *args: Any) -> None:
            """Service begins and ends when the batch enters the first stage."""
            now, self.now = self.now, time
            act(*args)
            self.now = now

        def decoding(self) -> list[general_state.Member]:
            return [member for member in super().decoding() if not member.flying]

        def growth(self, member: Member, tokens: int) -> int:
            return 0 if member.flying else int(super().growth(member, tokens))

        def serve(self, member: Member, tokens: int) -> None:
            if not member.flying:
                super().serve(member, tokens)

    return Piped


@dataclass
class Batch:
    """One call; its row is known when its outputs have come."""

    start: float
    end: float
    chunks: list[Chunk]
    samples: list[bool]
    preempted: list[tuple[int, int]]
    counts: tuple[int, int, int]
    finished: list[int] = field(default_factory=list)
    free_end: int = -1


@dataclass(frozen=True)
class NaiveStagesRun:
    """Rows in order of the calls, the requests in their final state."""

    rows: list[Row]
    members: list[Member]
    duration: float
    num_calls: int


class Loop:
    """The engine's loop and the clocks of its stages."""

    def __init__(self, case: Case, family: type[Scheduler], stages: Sequence[StepTime]) -> None:
        asked = members_of(case.requests)
        self.case = case
        self.stages = stages
        self.members = [
            Member(each.id, each.arrival, each.prompt, each.output, each.cap, each.is_straggler) for each in asked
        ]
        self.scheduler: Any = family(case, list(self.members))
        self.arrivals = Arrivals(case.requests, asked)
        self.free = [0.0] * len(stages)
        self.queue: list[Batch] = []
        self.rows: list[Batch] = []
        self.newcomers = 0
        self.moved = 0  # blocks between GPU and host since the last batch
        self.num_calls = 0
        self.is_unannounced = False

    @property
    def now(self) -> float:
        return self.scheduler.now

    def has_requests(self) -> bool:
        return bool(self.scheduler.waiting or self.scheduler.running)

    def wait_until(self, time: float) -> None:
        for member in self.scheduler.running:
            member.memory_token_s += member.computed * max(time - self.now, 0.0)
        self.scheduler.now = max(self.now, time)

    def call(self) -> Batch:
        scheduler = self.scheduler
        start = scheduler.begins = max(self.now, self.free[0])
        scheduler.start_iteration()
        scheduler.schedule()
        chunks = scheduler.chunks
        self.moved += scheduler.moved
        at = start if chunks else max(start, self.free[-1])
        for j, stage in enumerate(self.stages if chunks else []):
            at = max(at, self.free[j]) + duration_of(chunks, [], stage)
            at += self.moved * self.case.swap_block_s  # every stage moves its layers' part
            at += self.newcomers * self.case.predict_step_s if j == 0 else 0.0
            self.free[j] = at
        if chunks:
            self.newcomers = self.moved = 0
            scheduler.step += 1
        samples = [chunk.member.computed == chunk.member.known for chunk in chunks]
        for chunk in chunks:
            chunk.member.flying += chunk.tokens
        counts = (len(scheduler.running), len(scheduler.waiting), scheduler.free())
        made = Batch(start, at, chunks, samples, list(scheduler.preempted), counts)
        self.queue.append(made)
        self.num_calls += 1
        self.is_unannounced = False
        if chunks or made.preempted:
            self.rows.append(made)
        return made

    def apply_oldest(self) -> None:
        batch = self.queue.pop(0)
        self.wait_until(batch.end)
        ended = []
        for chunk, is_sampled in zip(batch.chunks, batch.samples, strict=True):
            member = self.members[chunk.member.id]
            member.flying -= chunk.tokens
            if not is_sampled or member.status != "unfinished":
                continue
            is_displaced = member in self.scheduler.waiting
            if is_displaced and self.case.knobs.choices.eviction == "restart":
                continue
            member.generated += 1
            member.in_prompt = False
            self.scheduler.note_token(member)
            if member.generated > member.delivered:
                member.delivered = member.generated
                member.times.append(self.now)
            if member.generated == member.output:
                batch.finished.append(member.id)
                member.status = "finished"
                if is_displaced:
                    self.scheduler.waiting.remove(member)
                    self.scheduler.running.append(member)  # for the family to see it go
                ended.append(member)
        for member in sorted(ended, key=lambda each: each.id):
            self.scheduler.end(member)
            self.is_unannounced = True
            self.arrivals.answered(self.now)
        batch.free_end = self.scheduler.free()

    def next_event(self) -> float:
        delayed = [each.arrival + self.case.predict_delay_s for each in self.scheduler.waiting]
        patient = [each.arrival + self.case.timeout_s for each in self.scheduler.waiting]
        return min([time for time in (*delayed, *patient) if time > self.now] + [self.arrivals.next_time()])


def simulate(
    case: Case, family: type[Scheduler], stages: Sequence[StepTime], *, max_calls: float = math.inf
) -> NaiveStagesRun:
    """Run all requests of a case through a family of schedulers whose model is dealt over stages."""
    loop = Loop(case, family, stages)
    while loop.num_calls < max_calls:
        time_out(loop.scheduler, loop.arrivals)
        while loop.arrivals.next_time() <= loop.now:
            loop.newcomers += take(loop.scheduler, loop.arrivals)
        if not (loop.has_requests() or loop.is_unannounced or loop.queue):
            if loop.arrivals.next_time() == math.inf:
                break
            loop.wait_until(loop.arrivals.next_time())
            continue
        is_executed, has_room = False, False
        if loop.has_requests() or loop.is_unannounced:
            made = loop.call()
            is_executed = bool(made.chunks)
            is_idle = not loop.scheduler.running and not any(batch.chunks for batch in loop.queue)
            if not is_executed and not made.preempted and is_idle and loop.scheduler.waiting:
                if loop.next_event() == math.inf:
                    break
                loop.queue.clear()
                loop.wait_until(loop.next_event())
                continue
            has_room = len(loop.queue) < len(stages) and (is_executed or loop.has_requests())
        if not has_room:
            loop.apply_oldest()
    rows = [
        Row(
            batch.start,
            batch.end,
            [(chunk.member.id, chunk.tokens, chunk.before) for chunk in batch.chunks],
            batch.preempted,
            *batch.counts,
            batch.finished,
            batch.free_end,
        )
        for batch in loop.rows
    ]
    return NaiveStagesRun(rows, loop.members, loop.now, loop.num_calls)
