"""vLLM V1 over members: what a call schedules, and what its outputs change.

In the synchronous loop outputs are applied before the next call, and nothing is ever ahead or in flight. Source:
golden README, section 3, whose rules the letters are; older releases: section 4; asynchronous: README of those goldens.
"""

from sim.engine.inputs import Order, Rules
from tests.naive.blocks import Blocks
from tests.naive.state import Applied, Chunk, Member


class VllmScheduler:
    """Waiting queue, running list and blocks of one engine."""

    def __init__(self, rules: Rules, members: list[Member]) -> None:
        self.rules = rules
        self.members = members
        self.waiting: list[Member] = []
        self.running: list[Member] = []
        self.blocks = Blocks(rules)

    def can_run(self, member: Member) -> bool:
        return member.prompt < self.rules.max_model_len

    def join(self, member: Member) -> None:
        self.waiting.append(member)
        self._sort_waiting()

    def start_time(self, now: float, next_arrival: float) -> float:
        return now if self.waiting or self.running else next_arrival

    def num_free(self) -> int:
        return len(self.blocks.free)

    def chunk_cap(self) -> int | None:
        """The long-prefill threshold; the newest releases switch it off for a request that is alone."""
        is_alone = len(self.running) + len(self.waiting) <= 1
        is_off = is_alone and not self.rules.limit_lone
        return None if is_off else self.rules.long_prefill_token_threshold or None

    def schedule(self) -> tuple[list[Chunk], list[tuple[int, int]]]:
        self.budget = self.rules.max_num_batched_tokens
        self.cap = self.chunk_cap()
        self.served: dict[Member, int] = {}  # tokens of this call, in the order served
        self.preempted: list[tuple[int, int]] = []
        self._serve_running()
        if not self.preempted:
            self._admit_waiting()
        chunks = [Chunk(m.id, tokens, m.computed, len(m.blocks)) for m, tokens in self.served.items()]
        self.sampled: set[int] = set()  # who gets a token from this call
        for member, tokens in self.served.items():
            member.is_decoding = member.has_sampled
            member.recomputed += max(0, min(member.high_water, member.computed + tokens) - member.computed)
            member.computed += tokens
            member.high_water = max(member.high_water, member.computed)
            member.in_flight += tokens
            if member.computed == member.known + member.ahead:
                self.sampled.add(member.id)
                member.ahead += 1
                member.has_sampled = True
        for member in self.running:
            if member not in self.served:
                member.has_sampled = False  # passed over: its next token counts as a prefill chunk of one
        return chunks, self.preempted

    def apply(self, chunks: list[Chunk]) -> Applied:
        return self.apply_outputs(chunks, self.sampled)

    def apply_outputs(self, chunks: list[Chunk], sampled: set[int]) -> Applied:
        """Take the outputs of a call that sampled a token for these requests; other calls may have come between."""
        applied = Applied()
        for chunk in chunks:
            member = self.members[chunk.id]
            if member in self.running:
                self._apply_to_running(member, chunk.tokens, member.id in sampled, applied)
            elif member.id in sampled and self._has_ended(member):
                applied.dropped.append(member.id)
            elif member.id in sampled:  # preempted since, and its token comes all the same
                applied.late.append(member.id)
                if self._deliver(member, applied):
                    self.waiting.remove(member)
        return applied

    def _apply_to_running(self, member: Member, tokens: int, is_sampled: bool, applied: Applied) -> None:
        member.in_flight -= tokens
        if not is_sampled:
            return
        member.ahead -= 1
        has_ended = self._deliver(member, applied)
        self.blocks.register(member, member.computed - member.in_flight)
        if has_ended:
            self.running.remove(member)
            self.blocks.release(member)

    def _deliver(self, member: Member, applied: Applied) -> bool:
        """Hand over one token; whether it was the last."""
        member.emitted += 1
        applied.delivered.append(member.id)
        if self._has_ended(member):
            applied.finished.append(member.id)
            applied.answered.append(member.id)
            return True
        return False

    def _has_ended(self, member: Member) -> bool:
        return member.is_done or member.known >= self.rules.max_model_len

    def _serve_running(self) -> None:
        """Rule 2: in order of admission; who cannot grow preempts; who has nothing to compute is passed over."""
        index = 0
        while index < len(self.running) and self.budget > 0:
            member = self.running[index]
            tokens = self._wanted(member)
            if tokens == 0:
                index += 1
                continue
            while not self.blocks.grow(member, member.computed + tokens):
                victim = self._victim()
                if self.running.index(victim) < index:
                    index -= 1
                self._preempt(victim)
                if victim is member:
                    break
            if member in self.running:
                self.served[member] = tokens
                self.budget -= tokens
                index += 1
            elif self.rules.order == Order.FCFS or self.rules.self_preempt_stops:
                return

    def _admit_waiting(self) -> None:
        """Rule A: the head or nobody."""
        skipped: list[Member] = []
        while self.budget > 0 and len(self.running) < self.rules.max_num_seqs and self.waiting:
            head = self.waiting[0]
            hits = self.blocks.lookup(head)
            computed = len(hits) * self.rules.block_size
            wanted = min(head.known - computed, self.cap or head.known)
            if not self.rules.chunked_prefill and wanted > self.budget:
                if not self.rules.skip_oversized:
                    break
                skipped.append(self.waiting.pop(0))
                continue
            tokens = min(wanted, self.budget)
            if not self._fits(head, hits, computed + tokens):
                break
            self.waiting.pop(0)
            self.blocks.share(head, hits)
            self.blocks.grow(head, computed + tokens)
            head.computed = computed
            if head.first_cached is None:
                head.first_cached = computed
            self.running.append(head)
            self.served[head] = tokens
            self.budget -= tokens
        self.waiting = skipped[::-1] + self.waiting

    def _wanted(self, member: Member) -> int:
        """Tokens for a running request; none if its last token is on its way, as far as the scheduler can know."""
        if member.ahead and member.emitted + member.ahead >= member.cap:
            return 0
        wanted = min(member.known + member.ahead, self.rules.max_model_len - 1) - member.computed
        return min(wanted, self.cap or wanted, self.budget)

    def _fits(self, head: Member, hits: list[int], tokens: int) -> bool:
        """Rules A.4 and A.5."""
        keep = self.rules.keep_blocks if self.running else 0
        room = self.num_free() - self.blocks.num_idle(hits) - keep
        whole = self.blocks.needed(min(head.known, self.rules.max_model_len)) - len(hits)
        if self.rules.reserve_full_isl and whole > room:
            return False
        return self.blocks.needed(tokens) - len(hits) <= room

    def _victim(self) -> Member:
        """Rule V. The first of equals is the earliest in running order."""
        if self.rules.order == Order.FCFS:
            return self.running[-1]
        return max(self.running, key=lambda member: (member.priority, member.arrival))

    def _preempt(self, victim: Member) -> None:
        self.budget += self.served.pop(victim, 0)
        self.running.remove(victim)
        self.blocks.release(victim)
        self.preempted.append((victim.id, victim.computed))
        victim.computed = 0
        victim.ahead = victim.in_flight = 0
        victim.has_sampled = False
        victim.num_preemptions += 1
        self.waiting.insert(0, victim)
        self._sort_waiting()

    def _sort_waiting(self) -> None:
        if self.rules.order == Order.PRIORITY:
            self.waiting.sort(key=lambda member: (member.priority, member.arrival, member.id))
