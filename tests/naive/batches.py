"""Request-level batches planned by length: sequence scheduling, and S3 with three classes.

Source: schedulers.md, 3.7 and 3.8.

Where the page is silent: a group starts when all of it has arrived, or when nobody is known to come; a batch that the
memory cannot hold runs in parts; a batch ends at once when the last client that it worked for goes away; re-runs come
max_num_seqs at a time.
"""

import math

from tests.naive.general import Scheduler
from tests.naive.general_state import Case, Chunk, Member
from tests.naive.served import by_arrival

SIZES = {50: 256, 100: 128, 150: 64, 200: 32}


class SeqSched(Scheduler):
    """Sorted by predicted length within a group, batches of b or by bucket (VBS), cut and run again (FCR)."""

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.delivers_batches = case.knobs.delivery == "batch"
        self.batch_of: dict[int, tuple[int, int]] = {}
        self.stop = [member.cap for member in members]
        self.size: dict[tuple[int, int], int] = {}
        self.cut: set[Member] = set()  # to be run again
        self.reruns: set[Member] = set()  # for which nothing is cut any more
        group_size = case.knobs.group_size
        for first in range(0, len(members), group_size):
            self.plan(first // group_size, members[first : first + group_size])

    def point(self, member: Member) -> int:
        return int(self.case.predictions.point[member.id])

    def bucket(self, member: Member) -> int:
        return -(-self.point(member) // 50) * 50

    def plan(self, number: int, group: list[Member]) -> None:
        ordered = sorted(group, key=lambda member: (self.point(member), member.id))
        for place, batch in enumerate(self.batches(ordered)):
            key = number, place
            self.size[key] = len(batch)
            longest = self.bucket(batch[-1]) if self.case.knobs.batch_by_length else self.point(batch[-1])
            for member in batch:
                self.batch_of[member.id] = key
                if self.case.knobs.recollect:
                    self.stop[member.id] = min(longest, member.cap)

    def batches(self, ordered: list[Member]) -> list[list[Member]]:
        if not self.case.knobs.batch_by_length:
            b = self.case.seats
            return [ordered[k : k + b] for k in range(0, len(ordered), b)]
        batches: list[list[Member]] = []
        left: list[Member] = []
        buckets = sorted({self.bucket(member) for member in ordered})
        for bucket in buckets:
            size = SIZES.get(bucket, 16)
            left = left + [member for member in ordered if self.bucket(member) == bucket]
            while left and not (len(left) < size and len(left) < max(size / 2, 16) and bucket != buckets[-1]):
                batches.append(left[:size])
                left = left[size:]
        return batches

    def can_run(self, member: Member) -> bool:
        return super().can_run(member) and self.need(member) <= self.case.capacity

    def need(self, member: Member) -> int:
        return self.blocks(member.prompt + member.cap)

    def place(self, member: Member) -> tuple[int, float, int]:
        number, place = self.batch_of[member.id]
        return number, math.inf if member in self.reruns else place, member.id

    def start_time(self, next_arrival: float) -> float:
        if self.running:
            return self.now
        if not self.waiting:
            return next_arrival
        number = self.place(min(self.waiting, key=self.place))[0]
        arrived = sum(
            member.status != "unfinished" or (not math.isnan(member.arrival) and member.arrival <= self.now)
            for member in self.members
        )
        is_complete = arrived >= (number + 1) * self.case.knobs.group_size
        return self.now if is_complete or next_arrival == math.inf else next_arrival

    def is_over(self, member: Member) -> bool:
        """Whether the member computes nothing more in this batch."""
        return member in self.cut or member.status in ("finished", "aborted")

    def schedule(self) -> None:
        for member in self.running:
            if not self.is_over(member):
                self.serve(member, 1)
        if not self.running:
            self.form()

    def form(self) -> None:
        ordered = sorted(self.waiting, key=self.place)
        first = ordered[0]
        limit = self.case.seats if first in self.reruns else self.size[self.batch_of[first.id]]
        batch = [member for member in ordered if self.place(member)[:2] == self.place(first)[:2]]
        for member in batch[:limit]:
            if self.need(member) > self.free():
                break
            self.admit(member, self.need(member))
            self.serve(member, member.left)

    def padding(self) -> list[Chunk]:
        return [Chunk(member, 1, member.computed) for member in self.running if self.is_over(member)]

    def note_token(self, member: Member) -> None:
        is_last = member.generated == member.output
        if member not in self.reruns and member.generated == self.stop[member.id] and not is_last:
            self.cut.add(member)

    def is_cut(self, member: Member) -> bool:
        return member in self.cut

    def end(self, member: Member) -> None:
        """Its slot and its blocks are kept until the batch ends."""

    def drop(self, member: Member) -> None:
        super().drop(member)
        self.end_iteration()

    def end_iteration(self) -> None:
        if self.running and all(self.is_over(member) for member in self.running):
            for member in self.running:
                member.computed = member.reserved = 0
                if member in self.cut:
                    member.generated = 0
                    member.stopped = self.now
                    self.waiting.append(member)
                elif self.delivers_batches and member.status == "finished":
                    member.times = [self.now] * member.output
                    self.handed_over.append(member)
            self.reruns |= self.cut
            self.cut = set()
            self.running = []


class S3Three(Scheduler):
    """A queue and a batch for each predicted class; the class whose first request arrived first is next."""

    def reserved_output(self, member: Member) -> int:
        if not self.is_ready(member):
            return member.cap
        return member.output_slots or int(self.case.predictions.upper[member.id])

    def need(self, member: Member) -> int:
        tokens = max(member.prompt + self.reserved_output(member) - 1, member.known)
        return min(self.blocks(tokens), self.case.capacity)

    def preempt(self, member: Member, how: str | None = None) -> None:
        member.output_slots = min(2 * self.reserved_output(member), member.cap)
        super().preempt(member, how)

    def schedule(self) -> None:
        for member in [each for each in self.running if self.blocks(each.computed + 1) > each.reserved]:
            self.preempt(member)
        for member in self.running:
            self.serve(member, 1)
        if self.running or self.preempted:
            return
        first = by_arrival(self.waiting)[0]
        upper = self.case.predictions.upper
        for member in [each for each in by_arrival(self.waiting) if upper[each.id] == upper[first.id]]:
            if len(self.running) == self.seats or self.need(member) > self.free():
                break
            self.admit(member, self.need(member))
            self.serve(member, member.left)
