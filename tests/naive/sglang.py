"""A slow and obvious SGLang: lists of requests, every one visited in every iteration.

Source: README of the SGLang goldens, whose findings the numbers are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from sim.engine.sglang.inputs import SglangRules, StepKind
from sim.golden.sglang_run import SglangRequests
from tests.naive.sglang_admission import PrefillPass, Verdict
from tests.naive.sglang_memory import Memory
from tests.naive.sglang_order import QueueOrder
from tests.naive.sglang_state import Batch, Member, sglang_members


@dataclass
class Step:
    """One iteration, as a row of a golden."""

    step: int
    kind: StepKind
    prefill: list[tuple[int, int, int]]
    hit: int
    decode: list[int]
    retracted: list[int]
    running: int
    waiting: int
    available: int
    evictable: int
    chunked: int | None
    is_full: bool
    ratio: float
    finished: list[int] = field(default_factory=list)
    ratio_end: float = math.nan
    is_reset: bool = False


class Scheduler:
    """Queue, running batch, memory and new-token ratio of one server."""

    def __init__(self, rules: SglangRules) -> None:
        self.rules = rules
        self.memory = Memory(rules.pool_tokens, rules.page_size, rules.radix_cache)
        self.order = QueueOrder(rules, self.memory)
        self.ratio = rules.init_ratio
        self.queue: list[Member] = []
        self.running = Batch()
        self.chunked: Member | None = None
        self.last: Batch | None = None  # what the iteration before ran
        self.unprocessed: list[Batch] = []  # overlap: batches whose results are not known yet
        self.retracted: list[Member] = []  # in this iteration

    def is_quiet(self) -> bool:
        """Nothing runs or is in flight."""
        return not (self.running.members or self.chunked is not None or self.unprocessed)

    def next_batch(self) -> Batch | None:
        """Finding 2."""
        self.retracted = []
        if self.chunked is not None and self.chunked.extend_end > self.chunked.prefix:
            self._cache_prefill(self.chunked)
        if self.last is not None and self.last.is_prefill:
            self._merge(self.last)
        if self.running.drop():
            self.running.is_full = False
        return self._prefill_batch() or self._decode_batch()

    def process(self, batch: Batch) -> list[Member]:
        """Take the results of a batch; who has finished by them."""
        finished = []
        for member in batch.members:
            if member.is_finished or member.is_retracted:
                continue
            if batch.is_prefill and member.middle_chunks > 0:
                member.middle_chunks -= 1
                continue
            member.emitted += 1
            reaches_end = member.emitted == member.output and member.ends_by_text and not member.ignore_eos
            if reaches_end or member.emitted >= member.max_new:
                member.is_finished = True
                finished.append(member)
                self.memory.release(member, caching=True)
            elif batch.is_prefill and member not in batch.decoding:
                self._cache_prefill(member)
        return finished

    def _cache_prefill(self, member: Member) -> None:
        self.memory.cache(member, member.extend_end)
        member.prefix = member.extend_end

    def _merge(self, last: Batch) -> None:
        """The batch before joins the running one; an empty running batch is replaced by it, flag and all."""
        if last.drop((self.chunked, last.chunked)):
            self.running.is_full = False
        if last.members and not self.running.members:
            self.running = Batch(last.members, last.is_full)
        else:
            self.running.members = self.running.members + last.members

    def _prefill_batch(self) -> Batch | None:
        """Findings 3, 7 and 8: build a prefill batch, if anybody can be admitted."""
        running = self.running
        if not running.members:
            running.is_full = False
        if self.chunked is None:
            if running.is_full or not self.queue:
                return None
            if len(running.members) >= self.rules.max_running_requests:
                running.is_full = True
                return None
        self.order.sort(self.queue)
        adder = PrefillPass(self.rules, self.memory, running, self.ratio)
        if self.chunked is not None:
            adder.continue_chunked(self.chunked)
        self._admit_from_queue(adder)
        batch = adder.batch
        if not batch.members:
            return None
        self.queue = [member for member in self.queue if member not in batch.members]
        self.chunked = batch.chunked
        if self.chunked is not None:
            self.chunked.middle_chunks += 1
        for member in batch.members:
            member.is_retracted = False
        self.memory.extend(batch.members)
        if self.rules.mixed_chunk:
            self._mix(batch)
        return batch

    def _admit_from_queue(self, adder: PrefillPass) -> None:
        running = self.running
        for member in self.queue:
            if adder.verdict() == Verdict.SPENT:
                return
            if len(adder.batch.members) >= self.rules.max_running_requests - len(running.members):
                running.is_full = True
            if running.is_full:
                return
            verdict = adder.try_candidate(member)
            if verdict == Verdict.NO_TOKEN:
                running.is_full = bool(adder.batch.members or running.members)
            if verdict != Verdict.GO_ON:
                return

    def _mix(self, batch: Batch) -> None:
        """Finding 25: those who run join the prefill batch with one token each, if that fits."""
        running = self.running
        if not running.members:
            return
        self._leave_out_finishing(running)
        if not running.members or not self.memory.decode_fits(running.members):
            return
        self.memory.decode(running.members)
        for member in running.members:
            member.filled = member.known
            member.extend_end = member.committed
        batch.decoding = running.members
        batch.members = batch.members + running.members
        self.running = Batch(is_full=running.is_full)

    def _decode_batch(self) -> Batch | None:
        """One token each for the running batch; if memory is short, some are retracted."""
        running = self.running
        if not running.members:
            return None
        has_finishing = self._leave_out_finishing(running)
        if not running.members:
            running.is_full = False
            return None
        if self.memory.decode_fits(running.members):
            self.ratio = max(self.ratio - self.rules.ratio_drop, self.rules.min_ratio)
        elif has_finishing:
            running.is_full = False  # their memory is free in the next iteration
            return None
        else:
            self._retract(running)
            running.is_full = False
        self.memory.decode(running.members)
        return Batch(running.members, decoding=running.members)

    def _leave_out_finishing(self, running: Batch) -> bool:
        """Finding 27: whoever reaches max_new with the results in flight decodes no more."""
        in_flight = [member for batch in self.unprocessed for member in batch.members]
        finishing = [each for each in running.members if each in in_flight and each.emitted + 1 >= each.max_new]
        running.drop(finishing)
        if finishing:
            running.is_full = False
        return bool(finishing)

    def _retract(self, running: Batch) -> None:
        """Findings 13, 15 and 16."""
        places = {member: place for place, member in enumerate(running.members)}
        kept = sorted(running.members, key=lambda each: (each.emitted, -each.prompt, -places[each]), reverse=True)
        while len(kept) > 1 and (not self.retracted or not self.memory.decode_fits(kept)):
            member = kept.pop()
            self.memory.release(member, caching=False)
            self.memory.evict_for(self.rules.retract_decode_steps * len(kept))
            member.is_retracted = True
            member.middle_chunks = 0
            self.retracted.append(member)
        running.members = kept
        self.queue += self.retracted
        emitted = sum(member.emitted for member in kept)
        most_new = sum(member.max_new for member in kept)
        self.ratio = min(1.0, (emitted + self.rules.retract_decode_steps * len(kept)) / (most_new + 1))


def simulate(
    rules: SglangRules,
    asked: SglangRequests,
    *,
    max_steps: float = math.inf,
    observe: Callable[[Scheduler, list[Member]], None] = lambda scheduler, members: None,
) -> tuple[list[Member], list[Step]]:
    """Serve all requests; they in their final state, and one row an iteration.

    Ends early after `max_steps` iterations, or when nobody can be served any more. `observe` is called in every
    iteration between scheduling and results.
    """
    members = sglang_members(rules, asked)
    to_come = list(members)
    scheduler = Scheduler(rules)
    steps: list[Step] = []
    numbers = count()
    while len(steps) < max_steps:
        step = next(numbers)
        while to_come and to_come[0].arrival <= step:
            scheduler.queue.append(to_come.pop(0))
        batch = scheduler.next_batch()
        row = _row(step, scheduler, batch)
        steps.append(row)
        observe(scheduler, members)
        is_quiet = _process(scheduler, batch, row)
        row.ratio_end = scheduler.ratio
        if is_quiet and not to_come:
            break
        if row.is_reset:
            numbers = count(int(to_come[0].arrival))
    return members, steps


def _process(scheduler: Scheduler, batch: Batch | None, row: Step) -> bool:
    """Finding 1: take the results of this batch, or under overlap those of the one before.

    Returns whether nothing ran or was in flight, so that only an arrival can change anything.
    """
    if batch is not None:
        scheduler.unprocessed.append(replace(batch))  # its requests may leave the original before
    in_flight = int(scheduler.rules.overlap and batch is not None)
    while len(scheduler.unprocessed) > in_flight:
        row.finished += [member.id for member in scheduler.process(scheduler.unprocessed.pop(0))]
    scheduler.last, before = batch, scheduler.last
    waits_for_results = scheduler.rules.overlap and before is not None
    is_quiet = batch is None and not waits_for_results and scheduler.is_quiet()
    if is_quiet and not scheduler.queue:
        scheduler.ratio = scheduler.rules.init_ratio
        row.is_reset = True
    return is_quiet


def _row(step: int, scheduler: Scheduler, batch: Batch | None) -> Step:
    """The state right after scheduling."""
    kind = StepKind.IDLE
    if batch is not None:
        kind = StepKind.DECODE if not batch.is_prefill else StepKind.MIXED if batch.decoding else StepKind.PREFILL
    return Step(
        step=step,
        kind=kind,
        prefill=[(member.id, length, before) for member, length, before in batch.prefill] if batch else [],
        hit=batch.hit if batch else 0,
        decode=[member.id for member in batch.decoding] if batch else [],
        retracted=[member.id for member in scheduler.retracted],
        running=len(scheduler.running.members),
        waiting=len(scheduler.queue),
        available=scheduler.memory.free,
        evictable=scheduler.memory.tree.evictable,
        chunked=None if scheduler.chunked is None else scheduler.chunked.id,
        is_full=scheduler.running.is_full,
        ratio=scheduler.ratio,
    )
