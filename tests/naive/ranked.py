"""Schedulers that choose among all live requests in every iteration. Source: schedulers.md, 3.9 and 4.

Where the page is silent: who is not taken keeps its memory until somebody in front of it needs it; who is trimmed for
want of blocks loses its memory only if that is still too little; where prompts are computed whole the token budget is
one of prompt tokens, and alone at the front a longer prompt runs as well. Some could undo each other's prompts for
ever: who was evicted 16 times without a token in between goes first of all until its next one; of several such the
first arrival.
"""

import math

from sim.systems.hints import first_levels
from tests.naive.general import Scheduler
from tests.naive.general_state import Case, Member
from tests.naive.refined import look_at


class Ranked(Scheduler):
    """S in order; taken from its front while budget and seats allow; memory is taken from its end."""

    is_chunked = True
    spare = 0  # blocks that displaced requests are swapped out for ahead of need

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.starved = [0] * len(members)
        self.quantum = [0] * len(members)  # iterations left as a promoted request
        self.live: list[Member] = []  # everybody in the last choice
        self.setbacks = [0] * len(members)  # evictions since the last token

    def key(self, member: Member) -> tuple[float, ...]:
        raise NotImplementedError

    def score(self, member: Member) -> float:
        return float(self.case.predictions.score[member.id]) if self.is_ready(member) else member.cap

    def may_start(self, member: Member) -> bool:
        """Whether a request that never ran may."""
        return True

    def holding(self) -> list[Member]:
        return [*self.running, *(member for member in self.waiting if member.computed)]

    def ranked(self) -> list[Member]:
        def key(member: Member) -> tuple[bool, bool, tuple[float, ...], int]:
            if self.is_rescued(member):
                return False, False, (), member.id
            return True, self.quantum[member.id] == 0, self.key(member), member.id

        return sorted(self.running + self.waiting, key=key)

    def is_rescued(self, member: Member) -> bool:
        return self.setbacks[member.id] >= 16

    def preempt(self, member: Member, how: str | None = None) -> None:
        super().preempt(member, how)
        self.setbacks[member.id] += 1
        if self.is_rescued(member):
            self.quantum[member.id] = 0

    def note_token(self, member: Member) -> None:
        self.setbacks[member.id] = 0

    def schedule(self) -> None:
        ranked = self.ranked()
        self.live = ranked
        plan = self.take(ranked)
        self.make_room(ranked, plan)
        for member in [each for each in self.running if each not in plan]:
            self.running.remove(member)
            self.waiting.append(member)
            member.stopped = self.now
        for member, tokens in plan.items():
            if member in self.waiting:
                self.waiting.remove(member)
                self.running.append(member)
                self.moved += self.blocks(member.host)
                member.computed, member.host = member.computed + member.host, 0
                self.note_service(member)
            self.serve(member, tokens)

    def take(self, ranked: list[Member]) -> dict[Member, int]:
        """Who is to be served, and with how many tokens."""
        plan: dict[Member, int] = {}
        left = self.case.budget
        for member in ranked:
            if len(plan) == self.case.seats or (self.is_chunked and left == 0):
                break
            if math.isnan(member.first_scheduled) and not self.may_start(member):
                continue
            tokens = min(member.left, left) if self.is_chunked else member.left
            is_decode = tokens == 1 and member.generated > 0
            if not self.is_chunked and not is_decode and tokens > left and plan:
                break
            plan[member] = tokens
            left -= tokens if self.is_chunked or not is_decode else 0
        return plan

    def wanted(self, plan: dict[Member, int]) -> int:
        return sum(self.blocks(m.computed + m.host + tokens) - self.blocks(m.computed) for m, tokens in plan.items())

    def make_room(self, ranked: list[Member], plan: dict[Member, int]) -> None:
        for member in reversed(ranked):
            if member not in plan and member.computed and self.wanted(plan) + self.spare > self.free():
                self.preempt(member)
        while self.wanted(plan) > self.free():
            last = [member for member in ranked if member in plan][-1]
            del plan[last]
            if last.computed and self.wanted(plan) > self.free():
                self.preempt(last)

    def take_from(self, member: Member) -> None:
        (self.running if member in self.running else self.waiting).remove(member)

    def end_iteration(self) -> None:
        """The starvation guard."""
        threshold = self.case.knobs.starvation_threshold
        if not threshold:
            return
        taken = {chunk.member for chunk in self.chunks}
        for member in self.live:
            i = member.id
            if self.is_rescued(member):
                self.starved[i] = 0
            elif member in taken:
                self.starved[i] = 0
                self.quantum[i] = max(self.quantum[i] - 1, 0)
            else:
                self.starved[i] += 1
            if self.starved[i] >= threshold:
                self.starved[i] = 0
                self.quantum[i] = self.case.knobs.starvation_quantum


class Rank(Ranked):
    """`rank` and `class10`: a score, told once."""

    def key(self, member: Member) -> tuple[float, ...]:
        return (self.score(member),)


class Sjf(Ranked):
    def key(self, member: Member) -> tuple[float, ...]:
        return (member.output,)


class Srtf(Ranked):
    def key(self, member: Member) -> tuple[float, ...]:
        return (member.output - member.generated,)


class SelfDeclared(Ranked):
    """Arrival for the first 15 tokens, in front of those whose declared length orders them."""

    def key(self, member: Member) -> tuple[float, ...]:
        if member.generated < 15:
            return 0.0, member.arrival
        return 1.0, float(self.case.predictions.score[member.id])


class Levels(Ranked):
    """`mlfq`: queues with growing quanta; within a queue in order of joining it."""

    first_quantum, times = 0.03, 10.0
    boost_steps = 0

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        knobs = case.knobs
        self.q0 = self.first_quantum if knobs.quantum_ms is None else knobs.quantum_ms / 1000
        self.by = self.times if knobs.quantum_growth is None else knobs.quantum_growth
        self.level = [0] * len(members)
        self.used = [0.0] * len(members)  # seconds in this queue
        self.last_run = [0.0] * len(members)  # or arrival
        self.turn = [0] * len(members)
        self.turns = 0
        self.served: list[Member] = []  # in the last iteration, in their order
        self.served_since = 0.0

    def first_level(self, member: Member) -> int:
        return 0

    def join(self, member: Member) -> None:
        super().join(member)
        self.last_run[member.id] = member.arrival
        self.enter(member, self.first_level(member))

    def enter(self, member: Member, level: int) -> None:
        self.level[member.id], self.used[member.id] = level, 0.0
        self.turns += 1
        self.turn[member.id] = self.turns

    def key(self, member: Member) -> tuple[float, ...]:
        return self.level[member.id], self.turn[member.id]

    def schedule(self) -> None:
        before = self.ranked()
        if self.boost_steps and self.step % self.boost_steps == 0:
            for member in before:
                is_stale = self.now - self.last_run[member.id] >= self.case.knobs.starvation_s
                if member not in self.served and is_stale and self.level[member.id] > 0:
                    self.enter(member, 0)
        for member in [each for each in before if each in self.served]:
            self.last_run[member.id] = self.now
            self.used[member.id] += self.now - self.served_since
            if self.used[member.id] > self.q0 * self.by ** self.level[member.id]:
                self.enter(member, min(self.level[member.id] + 1, 4096))
        super().schedule()
        self.served = [chunk.member for chunk in self.chunks]
        self.served_since = self.now


class FastServe(Levels):
    """`fastserve`: whole prompts, entered by profiled prefill time, swapped out ahead of need.

    Where the page is silent: one batch worth of blocks is a block a seat, at most a tenth of the memory; a new prompt
    that the host's shortage keeps out is passed over.
    """

    first_quantum, times = 0.01, 2.0
    is_chunked = False
    boost_steps = 1000

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.spare = min(case.seats, case.capacity // 10)
        rules = {"quantum_s": self.q0, "quantum_growth": self.by}
        self.entry = first_levels(case.requests.prompt_len, case.step_time, rules)

    def first_level(self, member: Member) -> int:
        return int(self.entry[member.id])

    def may_start(self, member: Member) -> bool:
        return self.free_host() >= self.case.host_blocks // 10


class OftenBoosted(FastServe):
    """FastServe that looks for starved requests every third iteration, so that small scenarios have some."""

    boost_steps = 3


class Refined(Ranked):
    """`trail` and `elis`: least remaining by an estimate that is told anew; settled requests are never displaced.

    Where the page is silent: only a request that has run can be settled, and settled ones are served in order of
    arrival; if they alone outgrow the memory the last of them gives way. Before its prediction is there a request
    counts as its cap, whatever the looks at it say.
    """

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.posterior = [[float(share) for share in row] for row in case.posterior]  # type: ignore[attr-defined]
        self.looked = [0] * len(members)
        self.estimate = [float(each) for each in case.predictions.point]
        self.settled: set[Member] = set()

    def look(self, member: Member) -> None:
        refinement = self.case.refinement
        assert refinement is not None
        i = member.id
        while self.looked[i] + refinement.every <= member.generated:
            self.looked[i] += refinement.every
            remaining = member.output - self.looked[i]
            self.posterior[i], self.estimate[i] = look_at(
                i, self.looked[i] // refinement.every, remaining, refinement, self.posterior[i]
            )

    def key(self, member: Member) -> tuple[float, ...]:
        if member in self.settled:
            return (-math.inf,)
        return (self.estimate[member.id] if self.is_ready(member) else member.cap,)

    def schedule(self) -> None:
        for member in self.running + self.waiting:
            if not self.is_ready(member) or member in self.settled:
                continue
            self.look(member)
            share = self.case.knobs.keep_share
            has_run = not math.isnan(member.first_scheduled)
            enough = math.floor(share * int(self.case.predictions.point[member.id]))
            if self.case.system == "trail" and share < 1 and has_run and member.generated >= enough:
                self.settled.add(member)
        super().schedule()
