"""Schedulers that reserve, admit or order by what they believe of the answer's length. Source: schedulers.md, 3.8, 4.

Tokens of a reservation follow the page's convention, KV after k tokens is P + k with a prompt one token longer: a
reservation for u output tokens holds P + u - 1.
"""

import math

from sim.systems.hints import tail_means
from tests.naive.general import Scheduler
from tests.naive.general_state import Case, Member
from tests.naive.refined import random_53
from tests.naive.served import by_arrival


class LengthAware(Scheduler):
    """Whole prompts beside decoding; the last admitted gives way while blocks are short."""

    def __init__(self, case: Case, members: list[Member]) -> None:
        self.learned: list[float] = []
        super().__init__(case, members)

    def point(self, member: Member) -> int:
        return int(self.case.predictions.point[member.id]) if self.is_ready(member) else member.cap

    def decode(self) -> None:
        """Everybody past its prompt takes a token; while their blocks are not there, the victim gives way."""
        while sum(self.growth(member, 1) for member in self.running if not member.in_prompt) > self.free():
            if self.case.knobs.choices.eviction == "fail":
                self.give_up_all()
                return
            self.preempt(self.victim())
        for member in self.running:
            if not member.in_prompt:
                self.serve(member, 1)

    def victim(self) -> Member:
        return self.running[-1]

    def end(self, member: Member) -> None:
        super().end(member)
        self.learn(member)

    def learn(self, member: Member) -> None:
        """A length has become known; of those that end together in order of arrival."""


class Quantile(LengthAware):
    """`quantile`: as Orca, with the believed quantile reserved. Who outgrows it takes from the pool."""

    def reserved_output(self, member: Member) -> int:
        if not self.is_ready(member):
            return member.cap
        predictions, i = self.case.predictions, member.id
        z = _normal_quantile(self.case.quantile)
        tokens = math.floor(math.exp(min(predictions.log_mean[i] + z * predictions.log_sd[i], 25.0)) + 0.5)
        return min(max(tokens, 1), member.cap)

    def need(self, member: Member) -> int:
        tokens = max(member.prompt + self.reserved_output(member) - 1, member.known)
        return min(self.blocks(tokens), self.case.capacity)

    def schedule(self) -> None:
        is_open = self.is_open()
        self.decode()
        while self.waiting and is_open and not self.preempted and len(self.running) < self.seats:
            head = by_arrival(self.waiting)[0]
            if self.need(head) > self.free():
                break
            self.admit(head, self.need(head))
            self.serve(head, head.left)


class Conformal(Quantile):
    """`conformal`: N-hat times the quantile of the last ratios N / N-hat; before there are any, N-hat itself.

    While the quantile's rank lies beyond the ratios seen, the largest of them counts.
    """

    def reserved_output(self, member: Member) -> int:
        if not self.is_ready(member):
            return member.cap
        point = int(self.case.predictions.point[member.id])
        ratios = sorted(self.learned[-self.case.knobs.conformal_window :])
        if not ratios:
            return point
        rank = min(math.ceil((len(ratios) + 1) * self.case.quantile), len(ratios))
        return min(max(math.ceil(point * ratios[rank - 1]), 1), member.cap)

    def learn(self, member: Member) -> None:
        self.learned.append(member.delivered / int(self.case.predictions.point[member.id]))


class S3(LengthAware):
    """3.8: decreasing first fit over class reservations; who outgrows its own is evicted and reserves twice as much.

    Where the page is silent: reservations are whole blocks, and are doubled up to the cap; an iteration that evicted
    admits nobody. Without the supervisor (`fail`) who outgrows takes from the pool until the batch dies.
    """

    def reserved_output(self, member: Member) -> int:
        if not self.is_ready(member):
            return member.cap
        return member.output_slots or int(self.case.predictions.upper[member.id])

    def need(self, member: Member) -> int:
        tokens = max(member.prompt + self.reserved_output(member) - 1, member.known)
        return min(self.blocks(tokens), self.case.capacity)

    def has_outgrown(self, member: Member) -> bool:
        return not member.in_prompt and self.blocks(member.computed + 1) > member.reserved

    def preempt(self, member: Member, how: str | None = None) -> None:
        if self.case.knobs.choices.eviction != "fail":
            member.output_slots = min(2 * self.reserved_output(member), member.cap)
        super().preempt(member, how)

    def schedule(self) -> None:
        is_open = self.is_open()
        if self.case.knobs.choices.eviction != "fail":
            for member in [each for each in self.running if self.has_outgrown(each)]:
                self.preempt(member)
        self.decode()
        while is_open and not self.preempted and len(self.running) < self.seats:
            fitting = [member for member in by_arrival(self.waiting) if self.need(member) <= self.free()]
            if not fitting:
                break
            largest = max(fitting, key=self.need)  # the first of equals
            self.admit(largest, self.need(largest))
            self.serve(largest, largest.left)


def _normal_quantile(q: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(q))


class FuturePeak(LengthAware):
    """Admission by what memory will hold at most, each member growing to its expected output and leaving.

    Where the page is silent: every member counts as if its last block held one token only, since blocks are what runs
    out; whoever has reached its expected output is expected to make one token more.
    """

    def expected(self, member: Member, draw: int) -> int:
        """Output tokens that the member is expected to make in all."""
        raise NotImplementedError

    def draws(self) -> int:
        return 1

    def limit(self, peak: int) -> bool:
        """Whether memory may reach so many tokens."""
        return peak <= self.case.capacity * self.case.block

    def futures(self, candidate: Member, draw: int) -> list[tuple[int, int]]:
        """(tokens held before this iteration, tokens to come) of everybody."""
        pairs = []
        for member in [*self.running, candidate]:
            generated = member.generated
            pairs.append(
                (
                    member.prompt + generated - 1 + self.case.block - 1,
                    max(self.expected(member, draw) - generated, 1),
                )
            )
        return pairs

    def fits(self, candidate: Member) -> bool:
        if self.blocks(candidate.known) > self.free():
            return False
        if not self.running:
            return True
        return all(self.limit(peak_of(self.futures(candidate, draw))) for draw in range(self.draws()))

    def order(self) -> list[Member]:
        return by_arrival(self.waiting)


def peak_of(futures: list[tuple[int, int]]) -> int:
    """6.11: memory just before each member leaves; those that stay longer have all grown by as much."""
    return max(sum(held + m for held, to_come in futures if to_come >= m) for _, m in futures)


class PrefillFirst(FuturePeak):
    """Past-Future and its comparators: as vLLM V0, admission by the future peak in place of a watermark."""

    def limit(self, peak: int) -> bool:
        return peak < self.case.knobs.peak_share * (self.case.capacity * self.case.block)

    def schedule(self) -> None:
        tokens, is_open = 0, self.is_open()
        while self.waiting and is_open and len(self.running) < self.seats:
            head = self.order()[0]
            if (tokens + head.left > self.case.budget and self.running) or not self.fits(head):
                break
            self.admit(head)
            tokens += head.left
            self.serve(head, head.left)
        if not self.chunks:
            self.decode()


class PastFuture(PrefillFirst):
    """`past_future`: outputs drawn from those that finished last, above what is generated already.

    Where the page is silent: half of the history are copies of the largest cap at first; drawn lengths are cut to
    whole tokens; the batch that decides how often to draw counts the candidate.
    """

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.learned = [float(case.requests.cap.max())] * ((case.knobs.history + 1) // 2)

    def learn(self, member: Member) -> None:
        self.learned.append(float(member.delivered))

    def draws(self) -> int:
        return min(5, self.case.knobs.history // (len(self.running) + 1) + 1)

    def expected(self, member: Member, draw: int) -> int:
        values = sorted(each for each in self.learned[-self.case.knobs.history :] if each > member.generated)
        values = [min(each, float(member.cap)) for each in values] + [float(member.cap)]
        place = random_53(self.case.seed, member.id, self.step * 5 + draw) / 2**53 * (len(values) - 1)
        below = int(place)
        above = min(below + 1, len(values) - 1)
        return int(values[below] + (place - below) * (values[above] - values[below]))


class Aggressive(PrefillFirst):
    """Comparator of `past_future`: 1.1 times what was generated, or 1,024."""

    def expected(self, member: Member, draw: int) -> int:
        return min(max(int(1.1 * member.generated), 1024), member.cap)


class Conservative(PrefillFirst):
    """Comparator of `past_future`: the cap."""

    def expected(self, member: Member, draw: int) -> int:
        return member.cap


class McSf(FuturePeak):
    """`mc_sf`: the longest prefix of the waiting requests, shortest prediction first, whose future fits."""

    def expected(self, member: Member, draw: int) -> int:
        return max(self.point(member), member.generated)

    def order(self) -> list[Member]:
        return sorted(self.waiting, key=lambda member: (self.key(member), member.id))

    def key(self, member: Member) -> float:
        return float(self.case.predictions.score[member.id]) if self.is_ready(member) else member.cap

    def schedule(self) -> None:
        is_open = self.is_open()
        self.decode()
        while self.waiting and is_open and not self.preempted and len(self.running) < self.seats:
            head = self.order()[0]
            if not self.fits(head):
                break
            self.admit(head)
            self.serve(head, head.left)


class AMax(McSf):
    """`a_max`: as mc_sf with the upper bound."""

    def point(self, member: Member) -> int:
        return int(self.case.predictions.upper[member.id]) if self.is_ready(member) else member.cap

    def key(self, member: Member) -> float:
        return float(self.point(member))


class AMin(McSf):
    """`a_min`: as mc_sf with the lower bound as it stands; the smallest present bound gives way, ties the newest.

    What an evicted request had produced, at least one token, becomes its bound and its place in the order.
    """

    def bound(self, member: Member) -> int:
        if member.output_slots is not None:
            return member.output_slots
        return int(self.case.predictions.lower[member.id]) if self.is_ready(member) else member.cap

    def expected(self, member: Member, draw: int) -> int:
        return max(self.bound(member), member.generated)

    def key(self, member: Member) -> float:
        return float(self.bound(member))

    def victim(self) -> Member:
        return min(reversed(self.running), key=lambda member: self.expected(member, 0))

    def preempt(self, member: Member, how: str | None = None) -> None:
        member.output_slots = max(member.generated, 1)
        super().preempt(member, how)


class Horizon(McSf):
    """Reservation `horizon` on Orca: what all hold that many steps ahead, each limited by its prediction, must fit."""

    def order(self) -> list[Member]:
        return by_arrival(self.waiting)

    def fits(self, candidate: Member) -> bool:
        if self.blocks(candidate.known) > self.free():
            return False
        horizon = self.case.knobs.horizon
        ahead = sum(held + min(to_come, horizon) for held, to_come in self.futures(candidate, 0))
        return not self.running or self.limit(ahead)


class Ordered(LengthAware):
    """Iteration-level, prompts chunked to what decoding leaves of the budget, smallest key first, nobody displaced."""

    def key(self, member: Member) -> float:
        raise NotImplementedError

    def next(self) -> Member:
        return min(self.waiting, key=lambda member: (self.key(member), member.id))

    def schedule(self) -> None:
        """Decodes, prompts under way, admissions; a prompt is admitted when all of it would fit."""
        is_open = self.is_open()
        while True:
            decoding = self.decoding()
            left = self.case.budget - len(decoding)
            plan = [(member, 1) for member in decoding]
            for member in self.running:
                if member.in_prompt:
                    tokens = min(member.left, max(left, 0))
                    plan.append((member, tokens))
                    left -= tokens
            if sum(self.growth(member, tokens) for member, tokens in plan) <= self.free():
                break
            self.preempt(self.victim())
        for member, tokens in plan:
            self.serve(member, tokens)
        while self.waiting and is_open and not self.preempted and left > 0 and len(self.running) < self.seats:
            head = self.next()
            if self.blocks(head.known) + self.watermark() > self.free():
                break
            tokens = min(head.left, left)
            self.admit(head)
            self.serve(head, tokens)
            left -= tokens


class Ssjf(Ordered):
    """`ssjf`: the longest-waiting goes first when it has waited too long, absolutely or by its own estimate."""

    def key(self, member: Member) -> float:
        return float(self.case.predictions.score[member.id]) if self.is_ready(member) else member.cap

    def next(self) -> Member:
        oldest = by_arrival(self.waiting)[0]
        waited = self.now - oldest.arrival
        estimate = 0.1 + 0.02 * self.point(oldest)
        knobs = self.case.knobs
        if (knobs.guard_wait_s and waited > knobs.guard_wait_s) or (
            knobs.guard_factor and waited > knobs.guard_factor * estimate
        ):
            return oldest
        return super().next()


class Tie(Ordered):
    """`tie`: mean plus beta times the tail's mean, beta by the queue when the prediction comes; ageing as it waits."""

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.mean, self.tail = tail_means(case.predictions, case.requests.cap)
        self.score: dict[int, float] = {}

    def join(self, member: Member) -> None:
        if self.case.predict_delay_s == 0:
            self.rate(member, len(self.waiting))
        super().join(member)

    def schedule(self) -> None:
        for member in by_arrival(self.waiting + self.running):
            if self.is_ready(member) and member.id not in self.score:
                self.rate(member, len([each for each in self.waiting if each is not member]))
        super().schedule()

    def rate(self, member: Member, queue: int) -> None:
        beta = min(max(0.1 * queue / max(len(self.running), 1), 0.1), 0.5)
        self.score[member.id] = self.mean[member.id] + beta * self.tail[member.id]

    def key(self, member: Member) -> float:
        if member.id not in self.score:
            return float(member.cap)
        return self.score[member.id] * 0.9 ** (-member.arrival / 30)  # as if it had waited since the beginning
