"""Static batching over members. Source: schedulers.md, section 3.1; metrics.md, section 1 (batch delivery)."""

import math

from sim.engine.inputs import Order, Reserve, Rules
from tests.naive_state import Applied, Chunk, Member


class StaticScheduler:
    """A batch is formed from the oldest waiting requests and closed until all of it has finished."""

    def __init__(self, rules: Rules, members: list[Member]) -> None:
        self.rules = rules
        self.members = members
        self.waiting: list[Member] = []
        self.running: list[Member] = []  # with `hold` the finished ones too
        self.batch: list[Member] = []  # everybody who joined at its start

    def join(self, member: Member) -> None:
        self.waiting.append(member)
        if self.rules.order == Order.PRIORITY:
            self.waiting.sort(key=lambda member: (member.priority, member.arrival, member.id))

    def start_time(self, now: float) -> float:
        if self.running:
            return now
        if not self.waiting:
            return math.inf
        batch = self._next_batch()
        is_full = len(batch) == self.rules.max_num_seqs or len(batch) < len(self.waiting)
        return now if is_full else max(now, self.waiting[0].arrival + self.rules.batch_wait_s)

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
        chunks = []
        for member in self.running:
            tokens = 1 if member.is_done else member.known - member.computed
            chunks.append(Chunk(member.id, tokens, member.computed, self.reserved(member)))
            if not member.is_done:
                member.computed += tokens
                member.high_water = member.computed
        return chunks, []

    def apply(self, chunks: list[Chunk]) -> Applied:
        applied = Applied([], [])
        for member in list(self.running):
            if member.is_done:
                continue
            member.emitted += 1
            member.is_decoding = True
            if not self.rules.batch_delivery:
                self._deliver(member, 1, applied)
            if member.is_done and not self.rules.hold:
                self.running.remove(member)
        if all(member.is_done for member in self.batch):
            self.running = []
            if self.rules.batch_delivery:
                for member in self.batch:
                    self._deliver(member, member.emitted, applied)
        return applied

    def _deliver(self, member: Member, tokens: int, applied: Applied) -> None:
        applied.delivered.extend([member.id] * tokens)
        if member.is_done:
            applied.finished.append(member.id)

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
