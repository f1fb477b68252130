"""One prefill pass of the naive SGLang: whom the budgets and the memory let in.

Source: README of the SGLang goldens, findings 4 to 9.
"""

from enum import Enum

from sim.engine.sglang.inputs import SglangRules
from tests.naive.sglang_memory import Memory
from tests.naive.sglang_state import Batch, Member


class Verdict(Enum):
    """Whether the pass goes on."""

    GO_ON = 0
    NO_TOKEN = 1  # memory is short
    SPENT = 2  # a budget or the cap on admissions is reached


class PrefillPass:
    """Budgets of one pass and the batch it builds."""

    def __init__(self, rules: SglangRules, memory: Memory, running: Batch, ratio: float) -> None:
        self.rules = rules
        self.memory = memory
        self.running = running
        self.ratio = ratio
        mixed = len(running.members) if rules.mixed_chunk else 0
        self.input = rules.max_prefill_tokens - mixed
        self.chunk = rules.chunked_prefill_size - mixed if rules.chunked_prefill_size else None
        self.reserved = mixed + sum(self._reserve_of_running(member) for member in running.members)
        self.reserved_now = mixed
        self.batch = Batch(is_prefill=True)
        self.finish_times: list[tuple[float, int]] | None = None  # tokens left and held, by the former

    def room(self) -> float:
        return self.memory.free_or_evictable() - self.reserved

    def room_now(self) -> int:
        return self.memory.free_or_evictable() - self.reserved_now

    def verdict(self) -> Verdict:
        """Whether there may be a next candidate."""
        if self.room() <= 0 or self.room_now() <= 0:
            return Verdict.NO_TOKEN
        if self.input <= 0 or (self.chunk is not None and self.chunk <= 0):
            return Verdict.SPENT
        return Verdict.GO_ON

    def continue_chunked(self, member: Member) -> None:
        """The next chunk of a prompt in work: never refused."""
        assert self.chunk is not None
        limit = min(self.chunk, int(self.room()))
        limit = limit if limit > 0 else self.chunk
        member.filled = member.known
        left = member.filled - member.prefix
        self._admit(member, min(left, limit), is_cut=left > limit, hit=0)

    def try_candidate(self, member: Member) -> Verdict:
        """Admit the head of the queue, or say why not."""
        if self.rules.prefill_max_requests and len(self.batch.members) >= self.rules.prefill_max_requests:
            return Verdict.SPENT
        member.prefix, node = self.memory.match(member, member.known - 1)
        member.filled = member.known
        member.protected = member.prefix
        if member.ignore_eos and not self.rules.radix_cache:
            return self._try_by_finish_times(member)
        self.memory.tree.lock(node)
        refusal, length = self._fit(member)
        self.memory.tree.unlock(node)
        if refusal is not None:
            return refusal
        self.memory.move_lock(member, node)
        self._admit(member, length, is_cut=member.prefix + length < member.filled, hit=member.prefix)
        return self.verdict()

    def _fit(self, member: Member) -> tuple[Verdict | None, int]:
        """Refusal of a candidate, or how much of its prompt this pass computes."""
        length = member.filled - member.prefix
        most_new = min(max(member.max_new - member.emitted, 0), self.rules.clip_max_new_tokens)
        if length + most_new + self.rules.page_size >= self.room():
            return Verdict.NO_TOKEN, 0
        if self.chunk is None:
            is_over = bool(self.batch.members) and self.memory.pages(length) >= self.input
            return (Verdict.SPENT if is_over else None), length
        if self.memory.pages(length) <= self.chunk:
            return None, length
        page = self.rules.page_size
        end = (member.prefix + self.chunk // page * page) // page * page
        return (None if end > member.prefix else Verdict.SPENT), end - member.prefix

    def _try_by_finish_times(self, member: Member) -> Verdict:
        """Without cache, a request that ignores the end of text: nobody may run dry before others finish."""
        length = member.filled
        need = self.memory.pages(length) + self.rules.page_size
        if need > min(self.room(), self.room_now()) or self._runs_dry(member, need):
            return Verdict.NO_TOKEN
        limit = length if self.chunk is None else self.chunk
        if limit <= 0:
            return Verdict.SPENT
        self._admit(member, min(length, limit), is_cut=length > limit, hit=0)
        return self.verdict()

    def _runs_dry(self, member: Member, need: int) -> bool:
        """Walk the times at which requests finish: memory must last until each."""
        if self.finish_times is None:
            others = [*self.running.members, *self.batch.members]
            self.finish_times = sorted(filter(None, map(self._finish_time, [member, *others])), key=lambda x: x[0])
        elif own := self._finish_time(member):
            # one that finishes last of all goes before the last but itself: a slip of SGLang's
            places = [i for i, (left, _) in enumerate(self.finish_times) if own[0] <= left]
            self.finish_times.insert(places[0] if places else max(len(self.finish_times) - 1, 0), own)
        room, freed = self.room_now() - need, 0
        for i, (left, held) in enumerate(self.finish_times):
            still_running = len(self.finish_times) - i
            if room + freed - left * still_running <= still_running:
                return True
            freed += held
        return False

    def _finish_time(self, member: Member) -> tuple[float, int] | None:
        left = member.max_new * (1.0 if member.ignore_eos else self.ratio) - member.emitted
        return (left, member.known) if left > 0 else None

    def _reserve_of_running(self, member: Member) -> float:
        most_new = min(member.max_new - member.emitted, self.rules.clip_max_new_tokens)
        return most_new * (1.0 if member.ignore_eos else self.ratio)

    def _admit(self, member: Member, length: int, *, is_cut: bool, hit: int) -> None:
        """Put a request into the batch and charge it. What it had produced before a retraction counts again."""
        member.extend_end = member.prefix + length
        self.batch.members.append(member)
        self.batch.prefill.append((member, length, member.prefix))
        self.batch.hit += hit
        if is_cut:
            self.batch.chunked = member
        charged = self.memory.pages(length)
        now = charged + self.rules.page_size
        self.reserved += now + (0 if is_cut else min(member.max_new, self.rules.clip_max_new_tokens))
        self.reserved_now += now
        self.input -= charged
        if self.chunk is not None:
            self.chunk -= charged
