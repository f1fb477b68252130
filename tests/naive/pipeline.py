"""The naive simulator of vLLM's loop with a queue of batches: stages one after the other, members one by one.

Source: schedulers.md 1.3; vLLM's `EngineCore.step_with_batch_queue`, `Scheduler`, `AsyncScheduler`; for one stage the
README of the asynchronous goldens. A call takes no time. The queue holds a batch for each stage, asynchronously one
more. Synchronously nobody is served while a sampled token is on its way; asynchronously who samples in one call is
served again in the call as many calls later as there are stages, and that batch enters the first stage when the
batch before has left the last. Chunks of one prompt may follow each other. A victim is passed over in the queue until
every batch that it was in has been applied.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sim.engine.inputs import Requests, Rules, StepTime
from tests.naive.arrivals import Arrivals
from tests.naive.asynchronous import AsyncCall
from tests.naive.state import Applied, Chunk, Member, members_of
from tests.naive.synchronous import linear_time
from tests.naive.vllm import VllmScheduler


class PipelineScheduler(VllmScheduler):
    """vLLM's scheduler where several batches are under way."""

    def __init__(self, rules: Rules, members: list[Member], stages: int, *, is_async: bool) -> None:
        super().__init__(rules, members)
        self.stages = stages
        self.is_async = is_async
        self.num_calls = 0
        self.eligible: dict[int, int] = {}  # first call that may serve the request again
        self.flying: Counter[int] = Counter()  # tokens in batches that are not applied

    def schedule(self) -> tuple[list[Chunk], list[tuple[int, int]]]:
        chunks, preempted = super().schedule()
        for chunk in chunks:
            self.flying[chunk.id] += chunk.tokens
        for i in self.sampled:
            self.eligible[i] = self.num_calls + self.stages
        self.num_calls += 1
        return chunks, preempted

    def apply_outputs(self, chunks: list[Chunk], sampled: set[int]) -> Applied:
        for chunk in chunks:
            self.flying[chunk.id] -= chunk.tokens
        return super().apply_outputs(chunks, sampled)

    def _wanted(self, member: Member) -> int:
        if self.is_async and self.num_calls < self.eligible.get(member.id, 0):
            return 0
        if not self.is_async and member.ahead:
            return 0
        return super()._wanted(member)

    def _admit_waiting(self) -> None:
        everybody = self.waiting
        self.waiting = [member for member in everybody if not self.flying[member.id]]
        super()._admit_waiting()
        self.waiting = [member for member in everybody if self.flying[member.id] or member in self.waiting]


@dataclass
class Batch(AsyncCall):
    """One call; `start` is when its batch enters the first stage, `end` when it leaves the last."""

    spans: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class NaivePipelineRun:
    """Calls that did something, the requests in their final state, and when each of their tokens came."""

    members: list[Member]
    calls: list[Batch]
    num_calls: int  # empty ones too
    token_times: list[list[float]]
    memory_token_s: list[float]
    duration: float


class Loop:
    """The engine's loop and the clocks of its stages."""

    def __init__(
        self, scheduler: PipelineScheduler, arrivals: Arrivals, stages: Sequence[StepTime], depth: int
    ) -> None:
        self.scheduler = scheduler
        self.arrivals = arrivals
        self.stages = stages
        self.depth = depth
        self.now = 0.0
        self.free = [0.0] * len(stages)
        self.queue: list[Batch] = []  # oldest first
        self.all: list[Batch] = []
        self.rows: list[Batch] = []
        self.is_unannounced = False  # somebody has ended since the last call
        self.token_times: list[list[float]] = [[] for _ in scheduler.members]
        self.held = [0.0] * len(scheduler.members)

    def has_requests(self) -> bool:
        return bool(self.scheduler.waiting or self.scheduler.running)

    def wait_until(self, time: float) -> None:
        for member in self.scheduler.running:
            self.held[member.id] += member.computed * max(time - self.now, 0.0)
        self.now = max(self.now, time)

    def take_arrivals(self) -> None:
        for member in self.arrivals.take(self.now):
            if self.scheduler.can_run(member):
                self.scheduler.join(member)
            else:
                member.is_rejected = True
                self.arrivals.answered(self.now)

    def start(self) -> float:
        """When a batch called now may enter the first stage."""
        start = max(self.now, self.free[0])
        before = len(self.all) - len(self.stages)
        return max(start, self.all[before].end) if self.scheduler.is_async and before >= 0 else start

    def call(self) -> Batch:
        at = start = self.start()
        high = [member.high_water for member in self.scheduler.members]
        chunks, preempted = self.scheduler.schedule()
        self.is_unannounced = False
        spans = []
        for j, stage in enumerate(self.stages):
            entered = max(at, self.free[j] if chunks else self.free[-1])
            at = entered + (self.seconds(chunks, high, stage) if chunks else 0.0)
            spans.append((entered, at))
            if chunks:
                self.free[j] = at
        made = Batch(
            called=self.now,
            start=start,
            end=spans[-1][1],
            scheduled=chunks,
            sampled=self.scheduler.sampled,
            preempted=preempted,
            running=len(self.scheduler.running),
            waiting=len(self.scheduler.waiting),
            free_scheduled=self.scheduler.num_free(),
            placeholders=sum(member.ahead for member in self.scheduler.running),
            applied=Applied(),
            spans=spans,
        )
        self.queue.append(made)
        self.all.append(made)
        if made.is_row:
            self.rows.append(made)
        return made

    def seconds(self, chunks: list[Chunk], high: list[int], stage: StepTime) -> float:
        """A decode reads its KV, its own token included; a chunk reads what comes before it and works on itself."""
        kv_read, work = 0, 0.0
        for chunk in chunks:
            member = self.scheduler.members[chunk.id]
            reached = chunk.before + chunk.tokens
            is_last = chunk.id in self.scheduler.sampled and reached > member.prompt
            if chunk.tokens == 1 and is_last and chunk.before >= high[chunk.id]:
                kv_read += reached
            else:
                kv_read += chunk.before
                work += chunk.tokens * chunk.before + chunk.tokens * chunk.tokens / 2
        linear = linear_time(sum(chunk.tokens for chunk in chunks), stage)
        return linear + stage.kv_s * kv_read + stage.attention_s * work

    def apply_oldest(self) -> None:
        batch = self.queue.pop(0)
        self.wait_until(batch.end)
        batch.applied = self.scheduler.apply_outputs(batch.scheduled, batch.sampled)
        batch.free_end = self.scheduler.num_free()
        batch.applied_after = len(self.rows) - 1
        for i in batch.applied.delivered:
            self.token_times[i].append(self.now)
        for _ in batch.applied.finished:
            self.is_unannounced = True
            self.arrivals.answered(self.now)

    def is_stuck(self) -> bool:
        """Whether nobody is served, and no batch under way can change that."""
        is_idle = not self.scheduler.running and not any(batch.scheduled for batch in self.queue)
        return is_idle and bool(self.scheduler.waiting)

    def is_done(self) -> bool:
        return all(member.is_rejected or member.is_done for member in self.scheduler.members)


def simulate(
    rules: Rules,
    requests: Requests,
    stages: Sequence[StepTime],
    *,
    is_async: bool,
    pause: float = 0.0,
    max_calls: float = math.inf,
) -> NaivePipelineRun:
    """Simulate until everybody is served, or nobody can be any more, or `max_calls` are made."""
    members = members_of(requests)
    scheduler = PipelineScheduler(rules, members, len(stages), is_async=is_async)
    loop = Loop(scheduler, Arrivals(requests, members), stages, len(stages) + is_async)
    while scheduler.num_calls < max_calls:
        loop.take_arrivals()
        if not (loop.has_requests() or loop.is_unannounced or loop.queue):
            if loop.arrivals.next_time() == math.inf:
                break
            loop.wait_until(loop.arrivals.next_time())
            continue
        is_executed, has_room = False, False
        if loop.has_requests() or loop.is_unannounced:
            made = loop.call()
            is_executed = bool(made.scheduled)
            if not made.is_row and loop.is_stuck():
                if loop.arrivals.next_time() == math.inf:
                    break
                loop.queue.clear()
                loop.wait_until(loop.arrivals.next_time())
                continue
            has_room = len(loop.queue) < loop.depth and (is_executed or loop.has_requests())
        if not has_room:
            loop.apply_oldest()
        if not is_executed and (loop.has_requests() or loop.is_unannounced) and not loop.is_done():
            loop.wait_until(loop.now + pause)
    return NaivePipelineRun(members, loop.rows, scheduler.num_calls, loop.token_times, loop.held, loop.now)


def bubble(run: NaivePipelineRun) -> float:
    """Seconds that stages stand empty while another one works, moment by moment."""
    spans = [span for call in run.calls for span in call.spans if span[1] > span[0]]
    stages = max(len(call.spans) for call in run.calls)
    borders = sorted({time for span in spans for time in span})
    empty = 0.0
    for start, end in pairwise(borders):
        busy = sum(entered <= start and end <= left for entered, left in spans)
        empty += (stages - busy) * (end - start) if busy else 0.0
    return empty
