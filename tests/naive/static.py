"""Static batching over members. Source: schedulers.md, section 3.1; metrics.md, section 1 (batch delivery)."""

import math

from sim.engine.inputs import Order, Reserve, Rules
from tests.naive.state import Applied, Chunk, Member


class StaticScheduler:
    """A batch is formed from the oldest waiting requests and closed until all of it has finished."""

    def __init__(self, rules: Rules, members: list[Member]) -> None:
        self.rules = rules
        self.members = members
        self.waiting: list[Member] = []
        self.running: list[Member] = []  # with `hold` the finished ones too
        self.batch: list[Member] = []  # everybody who joined at its start

    def can_run(self, member: Member) -> bool:
        return member.prompt < self.rules.max_model_len and self.reserved(member) <= self.rules.usable_blocks

    def join(self, member: Member) -> None:
        self.waiting.append(member)
        if self.rules.order == Order.PRIORITY:
            self.waiting.sort(key=lambda member: (member.priority, member.arrival, member.id))

    def start_time(self, now: float, next_arrival: float) -> float:
        """An empty server waits for a full batch, though not if nobody is known to come."""
        if self.running:
            return now
        if not self.waiting:
            return next_arrival
        if len(self.waiting) >= self.rules.max_num_seqs or next_arrival == math.inf:
            return now
        return max(now, min(next_arrival, self.waiting[0].arrival + self.rules.batch_wait_s))

    def reserved(self, member: Member) -> int:
        """Blocks set aside for a member as long as it is in the batch."""
        longest = member.prompt + member.cap
        if self.rules.reserve == Reserve.MAX_MODEL_LEN:
            longest = self.rules.max_model_len
        return -(-longest // self.rules.block_size)

    def num_free(self) -> int:
        return self.rules.usable_blocks - sum(self.reserved(member) for member in self.running)

    def schedule(self) -> tuple[list[Chunk], list[tuple[int, int]]]:
        if not self.running:
            self.batch = self._next_batch()
            self.running = list(self.batch)
            self.waiting = [member for member in self.waiting if member not in self.running]
            for member in self.batch:
                member.first_cached = 0
        return [self._serve(member) for member in self.running], []

    def apply(self, chunks: list[Chunk]) -> Applied:
        applied = Applied()
        for member in [member for member in self.running if not member.is_done]:
            member.emitted += 1
            member.is_decoding = True
            if not self.rules.batch_delivery:
                applied.delivered.append(member.id)
            if member.is_done:
                self._finish(member, applied)
        if all(member.is_done for member in self.running):
            self.running = []
            if self.rules.batch_delivery:
                for member in self.batch:
                    applied.delivered.extend([member.id] * member.emitted)
                    applied.answered.append(member.id)
        return applied

    def _serve(self, member: Member) -> Chunk:
        """The whole prompt, then one token a call; a finished member is computed on and gains nothing."""
        before = member.computed
        if not member.is_done:
            member.computed = member.high_water = member.known
        tokens = max(member.computed - before, 1)
        return Chunk(member.id, tokens, before, -(-member.computed // self.rules.block_size))

    def _finish(self, member: Member, applied: Applied) -> None:
        applied.finished.append(member.id)
        if not self.rules.batch_delivery:
            applied.answered.append(member.id)
        if not self.rules.hold:
            self.running.remove(member)

    def _next_batch(self) -> list[Member]:
        """The oldest waiting requests that fit side by side; nobody overtakes."""
        batch: list[Member] = []
        free = self.rules.usable_blocks
        for member in self.waiting[: self.rules.max_num_seqs]:
            free -= self.reserved(member)
            if free < 0:
                break
            batch.append(member)
        return batch
