"""A slow and obvious simulator of the schedulers in schedulers.md, sections 3 and 4: a plain loop over members.

It shares nothing with the general engine but its inputs. Every iteration visits every member; memory is what the
members hold, added up anew each time. The families of schedulers are in `served`, `length_aware`, `batches`
and `ranked`, the loop in `general_loop`.

Where the page is silent: an iteration that took memory from somebody admits nobody; an empty server does not wait for
a watermark, an admission interval or a future that fits, since nothing that it waits for could come.
"""

import math

from tests.naive.general_state import Case, Chunk, Member


class Scheduler:
    """Queue, running members and memory; a family of schedulers says who joins and who gives way."""

    def __init__(self, case: Case, members: list[Member]) -> None:
        self.case = case
        self.members = members
        self.waiting: list[Member] = []
        self.running: list[Member] = []  # in order of admission
        self.now = 0.0
        self.step = 0  # iterations so far
        self.seats = case.seats
        self.delivers_batches = False
        self.start_iteration()

    # what a family may say

    def can_run(self, member: Member) -> bool:
        """Whether the request is not refused outright."""
        return member.prompt < self.case.max_model_len

    def join(self, member: Member) -> None:
        self.waiting.append(member)

    def start_time(self, next_arrival: float) -> float:
        """When the next iteration may begin."""
        return self.now if self.running or self.waiting else next_arrival

    def schedule(self) -> None:
        """Serve, admit, preempt."""
        raise NotImplementedError

    def note_token(self, member: Member) -> None:
        """A token came out."""

    def is_cut(self, member: Member) -> bool:
        """Whether its batch has just cut the request."""
        return False

    def end(self, member: Member) -> None:
        """The request has its last token."""
        self.seats = self.case.seats
        self.running.remove(member)
        member.computed = member.reserved = 0

    def end_iteration(self) -> None:
        """All outputs are applied."""

    def padding(self) -> list[Chunk]:
        """Finished members of a held batch, computed all the same."""
        return []

    # primitives

    def start_iteration(self) -> None:
        self.chunks: list[Chunk] = []
        self.preempted: list[tuple[int, int]] = []
        self.moved = 0  # blocks between GPU and host
        self.was_open = True  # whether this iteration may admit, as far as the interval goes
        self.handed_over: list[Member] = []  # whose answers come with the end of their batch

    def blocks(self, tokens: int) -> int:
        return -(-tokens // self.case.block)

    def holding(self) -> list[Member]:
        """Everybody with memory of the GPU."""
        return self.running

    def decoding(self) -> list[Member]:
        """Members that take a token in this iteration if they find room."""
        return [member for member in self.running if not member.in_prompt]

    def held(self, member: Member) -> int:
        return max(member.reserved, self.blocks(member.computed))

    def free(self) -> int:
        return self.case.capacity - sum(self.held(member) for member in self.holding())

    def free_host(self) -> int:
        return self.case.host_blocks - sum(self.blocks(member.host) for member in self.members)

    def watermark(self) -> int:
        """Blocks that admission leaves free."""
        return int(self.case.watermark * self.case.capacity) if self.running else 0

    def is_ready(self, member: Member) -> bool:
        """Whether its prediction is there."""
        return member.arrival + self.case.predict_delay_s <= self.now

    def is_open(self) -> bool:
        """Whether this iteration may admit; to be asked before anybody is served."""
        self.was_open = self.step % self.case.knobs.admission_interval_steps == 0 or not self.running
        return not self.preempted and self.was_open

    def growth(self, member: Member, tokens: int) -> int:
        """Blocks that so many more tokens take from the pool."""
        return max(self.blocks(member.computed + tokens), self.held(member)) - self.held(member)

    def serve(self, member: Member, tokens: int) -> None:
        """Let the member compute tokens; its blocks are there."""
        if tokens == 0:
            return
        chunk = Chunk(member, tokens, member.computed)
        member.recomputed += max(0, min(member.high_water, member.computed + tokens) - member.computed)
        member.computed += tokens
        member.high_water = max(member.high_water, member.computed)
        self.chunks.append(chunk)

    def admit(self, member: Member, reserved: int = 0) -> None:
        """Give the request a seat and its reservation; KV in host memory comes back."""
        self.waiting.remove(member)
        self.running.append(member)
        member.reserved = reserved
        self.moved += self.blocks(member.host)
        member.computed, member.host = member.host, 0
        member.in_prompt = True
        self.note_service(member)

    def note_service(self, member: Member) -> None:
        """The member is served from now on."""
        if math.isnan(member.first_scheduled):
            member.first_scheduled = self.now
        if member.stopped is not None:
            member.pause += self.now - member.stopped
            member.stopped = None

    def preempt(self, member: Member, how: str | None = None) -> None:
        """The member loses its seat and its memory."""
        how = how or self.case.knobs.choices.eviction
        self.preempted.append((member.id, member.computed))
        self.take_from(member)
        if how == "swap" and self.blocks(member.computed) <= self.free_host():
            member.host = member.computed
            self.moved += self.blocks(member.host)
        if how in ("restart", "fail"):
            member.generated = 0
        member.computed = member.reserved = 0
        member.num_preemptions += 1
        if member.stopped is None:
            member.stopped = self.now
        self.waiting.append(member)

    def take_from(self, member: Member) -> None:
        self.running.remove(member)

    def give_up_all(self) -> None:
        """Out of memory: the whole batch dies. Half as many start again, or it would die the same way for ever."""
        self.seats = max(len(self.running) // 2, 1)
        for member in list(reversed(self.running)):  # the first admitted is first in the queue again
            self.preempt(member)

    def drop(self, member: Member) -> None:
        """The client went away; where answers come with the end of a batch, perhaps from one that is whole."""
        if member in self.waiting:
            self.waiting.remove(member)
        if member in self.running:
            self.running.remove(member)
        member.computed = member.reserved = member.host = 0
