"""The naive simulator of vLLM's asynchronous loop: a call is made while the step before it is computed.

Source: README of the asynchronous goldens, section 3. Calls take no time; the queue holds at most two steps.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from sim.engine.inputs import Requests, Rules, StepTime
from tests.naive.arrivals import Arrivals
from tests.naive.state import Applied, Chunk, Member, members_of
from tests.naive.synchronous import duration_of
from tests.naive.vllm import VllmScheduler


@dataclass
class AsyncCall:
    """One call, and what the outputs of its step brought. Times from the first arrival."""

    called: float
    start: float  # when the GPU begins the step
    end: float
    scheduled: list[Chunk]
    sampled: set[int]
    preempted: list[tuple[int, int]]  # request, computed tokens lost
    running: int  # the counts are those right after the call
    waiting: int
    free_scheduled: int
    placeholders: int  # tokens ahead of all running requests
    applied: Applied
    free_end: int = -1
    applied_after: int = -1  # last row whose call was made before the outputs were applied

    @property
    def finished(self) -> list[int]:
        return self.applied.finished

    @property
    def is_row(self) -> bool:
        return bool(self.scheduled or self.preempted)


@dataclass(frozen=True)
class NaiveAsyncRun:
    """Calls that did something, the requests in their final state, and when each of their tokens came."""

    members: list[Member]
    calls: list[AsyncCall]
    num_calls: int  # empty ones too
    token_times: list[list[float]]
    duration: float


@dataclass
class AsyncLoop:
    """The loop's own state, beside the scheduler's."""

    scheduler: VllmScheduler
    arrivals: Arrivals
    step_time: StepTime
    token_times: list[list[float]]
    observe: Callable[[float, float, VllmScheduler], None]
    now: float = 0.0
    last_end: float = 0.0
    is_unannounced: bool = False  # somebody has ended since the last call
    num_calls: int = 0

    def __post_init__(self) -> None:
        self.queue: list[AsyncCall] = []  # oldest first
        self.rows: list[AsyncCall] = []

    def has_requests(self) -> bool:
        return bool(self.scheduler.waiting or self.scheduler.running)

    def has_anything(self) -> bool:
        return self.has_requests() or self.is_unannounced or bool(self.queue)

    def wait_until(self, time: float) -> None:
        if time > self.now:
            self.observe(self.now, time, self.scheduler)
            self.now = time

    def take_arrivals(self) -> None:
        for member in self.arrivals.take(self.now):
            if self.scheduler.can_run(member):
                self.scheduler.join(member)
            else:
                member.is_rejected = True
                self.arrivals.answered(self.now)

    def call(self) -> AsyncCall:
        """Schedule one more step and put it into the queue."""
        chunks, preempted = self.scheduler.schedule()
        self.is_unannounced = False
        start = max(self.now, self.last_end)
        self.last_end = start
        if chunks:
            self.last_end += duration_of(chunks, self.scheduler.members, self.step_time)
        made = AsyncCall(
            called=self.now,
            start=start,
            end=self.last_end,
            scheduled=chunks,
            sampled=self.scheduler.sampled,
            preempted=preempted,
            running=len(self.scheduler.running),
            waiting=len(self.scheduler.waiting),
            free_scheduled=self.scheduler.num_free(),
            placeholders=sum(member.ahead for member in self.scheduler.running),
            applied=Applied(),
        )
        self.queue.append(made)
        self.num_calls += 1
        if made.is_row:
            self.rows.append(made)
        return made

    def apply_oldest(self) -> None:
        """Wait for the oldest step of the queue and take its outputs."""
        step = self.queue.pop(0)
        self.wait_until(step.end)
        step.applied = self.scheduler.apply_outputs(step.scheduled, step.sampled)
        step.free_end = self.scheduler.num_free()
        step.applied_after = len(self.rows) - 1
        for i in step.applied.delivered:
            self.token_times[i].append(step.end)
        for _ in step.applied.finished:
            self.is_unannounced = True
            self.arrivals.answered(step.end)

    def is_stuck(self) -> bool:
        """Whether the newest call left nothing that could change anything: nobody is served or will come."""
        is_idle = not self.scheduler.running and not any(step.scheduled for step in self.queue)
        return is_idle and bool(self.scheduler.waiting) and self.arrivals.next_time() == math.inf


def simulate(
    rules: Rules,
    requests: Requests,
    step_time: StepTime,
    *,
    pause: float = 0.0,
    max_calls: float = math.inf,
    observe: Callable[[float, float, VllmScheduler], None] = lambda start, end, scheduler: None,
) -> NaiveAsyncRun:
    """Simulate until everybody is served, or nobody can be any more, or `max_calls` are made.

    `pause` is the sleep after an iteration that executed nothing. `observe` is called for every stretch of time.
    """
    members = members_of(requests)
    scheduler = VllmScheduler(rules, members)
    loop = AsyncLoop(scheduler, Arrivals(requests, members), step_time, [[] for _ in members], observe)
    while loop.num_calls < max_calls:
        if not loop.has_anything():
            if loop.arrivals.next_time() == math.inf:
                break
            loop.wait_until(loop.arrivals.next_time())
        loop.take_arrivals()
        is_executed, is_first = False, False
        if loop.has_requests() or loop.is_unannounced:
            is_executed = bool(loop.call().scheduled)
            if loop.is_stuck():
                break
            is_first = len(loop.queue) == 1 and (is_executed or loop.has_requests())
        if not is_first:
            loop.apply_oldest()
        if not is_executed and (loop.has_requests() or loop.is_unannounced):
            loop.wait_until(loop.now + pause)
    return NaiveAsyncRun(members, loop.rows, loop.num_calls, loop.token_times, loop.now)
