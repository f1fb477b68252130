"""vLLM V1 over members. Source: golden README, section 3, whose rules the letters are; older releases: section 4."""

from sim.engine.inputs import Order, Rules
from sim.vllm_releases import NEWEST, VllmRelease
from tests.naive_blocks import Blocks
from tests.naive_state import Applied, Chunk, Member


class VllmScheduler:
    """Waiting queue, running list and blocks of one engine."""

    def __init__(self, rules: Rules, members: list[Member], release: VllmRelease = NEWEST) -> None:
        self.rules = rules
        self.release = release
        self.members = members
        self.waiting: list[Member] = []
        self.running: list[Member] = []
        self.blocks = Blocks(rules, release)

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
        is_off = is_alone and not self.release.cap_applies_to_lone
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
        for member, tokens in self.served.items():
            member.recomputed += max(0, min(member.high_water, member.computed + tokens) - member.computed)
            member.computed += tokens
            member.high_water = max(member.high_water, member.computed)
        return chunks, self.preempted

    def apply(self, chunks: list[Chunk]) -> Applied:
        applied = Applied([], [], [])
        for chunk in chunks:
            member = self.members[chunk.id]
            if member.computed < member.known:
                continue
            member.emitted += 1
            member.is_decoding = True
            applied.delivered.append(member.id)
            if member.is_done or member.known >= self.rules.max_model_len:
                applied.finished.append(member.id)
                applied.answered.append(member.id)
                self.running.remove(member)
                self.blocks.release(member)
        return applied

    def _serve_running(self) -> None:
        """Rule 2: in order of admission; who cannot grow preempts."""
        index = 0
        while index < len(self.running) and self.budget > 0:
            member = self.running[index]
            tokens = self._wanted(member, member.computed)
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
            elif self.rules.order == Order.FCFS or self.release.priority_self_preempt_stops:
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
                if not self.release.oversized_prompt_skipped:
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

    def _wanted(self, member: Member, computed: int) -> int:
        wanted = member.known - computed
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
        victim.is_decoding = False
        victim.num_preemptions += 1
        self.waiting.insert(0, victim)
        self._sort_waiting()

    def _sort_waiting(self) -> None:
        if self.rules.order == Order.PRIORITY:
            self.waiting.sort(key=lambda member: (member.priority, member.arrival, member.id))
