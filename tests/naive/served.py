"""Orca, vLLM V0, Sarathi and its ablations, virtual token counters, queues by type. Source: schedulers.md, 3 and 4."""

import math

from tests.naive.general import Scheduler
from tests.naive.general_state import Case, Member


def by_arrival(members: list[Member]) -> list[Member]:
    return sorted(members, key=lambda member: (member.arrival, member.id))


class Orca(Scheduler):
    """3.2: a full reservation at admission, whole prompts beside decoding, nobody overtakes."""

    def need(self, member: Member) -> int:
        reserve = self.case.knobs.choices.reserve
        if reserve == "max_model_len":
            return self.blocks(self.case.max_model_len)
        if reserve == "truth":
            return self.blocks(member.prompt + member.output)
        if reserve == "pow2":
            power = 1
            while power < member.output:
                power *= 2
            return self.blocks(member.prompt + power)
        return self.blocks(member.prompt + member.cap)

    def can_run(self, member: Member) -> bool:
        return super().can_run(member) and self.need(member) <= self.case.capacity

    def schedule(self) -> None:
        is_open = self.is_open()
        for member in list(self.running):
            self.serve(member, 1)
        for member in by_arrival(self.waiting) if is_open else []:
            if len(self.running) == self.seats:
                break
            if self.need(member) > self.free():
                break
            self.admit(member, self.need(member))
            self.serve(member, member.left)


class Paged(Scheduler):
    """What vLLM V0 and Sarathi share: prompts are reserved, growth takes from the pool, the latest arrival goes."""

    def can_run(self, member: Member) -> bool:
        keep = int(self.case.watermark * self.case.capacity)
        return super().can_run(member) and self.blocks(member.prompt) <= self.case.capacity - keep

    def victim(self, unprocessed: list[Member]) -> Member:
        return by_arrival(unprocessed)[-1]

    def decode(self) -> None:
        """Members with a complete prompt, by arrival, take a token each; who finds no block evicts."""
        needed = sum(self.growth(member, 1) for member in self.running if not member.in_prompt)
        if self.case.knobs.choices.eviction == "fail" and needed > self.free():
            self.give_up_all()
            return
        unprocessed = by_arrival(self.running)
        for member in by_arrival(self.running):
            if member not in unprocessed or member.in_prompt:
                continue
            while self.growth(member, 1) > self.free():
                victim = self.victim(unprocessed)
                unprocessed.remove(victim)
                self.preempt(victim)
                if victim is member:
                    break
            if member in self.running:
                unprocessed.remove(member)
                self.serve(member, 1)


class VllmV0(Paged):
    """3.3: prefill-only iterations come first; in swap mode nobody new comes while anybody is swapped out.

    Where the page is silent: after an iteration's decodes, if nobody was evicted, swapped requests come back by
    arrival as a new prompt would, under the watermark, and take their token at once. An empty server takes a text
    longer than max_num_batched_tokens.
    """

    def queue(self) -> list[Member]:
        return self.waiting

    def preempt(self, member: Member, how: str | None = None) -> None:
        super().preempt(member, how)
        self.waiting.insert(0, self.waiting.pop())  # the front of the queue

    def swapped(self) -> list[Member]:
        return by_arrival([member for member in self.waiting if member.host])

    def schedule(self) -> None:
        is_open = self.is_open()
        if is_open and not self.swapped():
            self.prefill()
            if self.chunks:
                return
        self.decode()
        if is_open and not self.preempted:
            self.swap_in()

    def prefill(self) -> None:
        tokens = 0
        while self.waiting:
            head = self.queue()[0]
            if self.free() - self.blocks(head.known) < self.watermark():
                break
            if tokens + head.known > self.case.budget and self.running:
                break
            if len(self.running) + 1 > self.seats:
                break
            self.admit(head, self.blocks(head.known))
            tokens += head.left
            self.serve(head, head.left)

    def swap_in(self) -> None:
        for member in self.swapped():
            if self.free() - self.blocks(member.host + 1) < self.watermark():
                break
            if len(self.running) + 1 > self.seats:
                break
            self.admit(member, self.blocks(member.host + 1))
            self.serve(member, 1)


class Sarathi(Paged):
    """3.5: decodes first, prompts are cut to what is left of the budget, their blocks allocated whole."""

    def schedule(self) -> None:
        is_open = self.is_open()
        self.decode()
        self.prefill(self.case.budget - len(self.chunks), is_open)

    def prefill(self, left: int, is_open: bool) -> None:
        for member in by_arrival(self.running):
            if member.in_prompt:
                tokens = min(member.left, max(left, 0))
                self.serve(member, tokens)
                left -= tokens
        while self.waiting and is_open and not self.preempted:
            head = by_arrival(self.waiting)[0]
            if self.free() - self.blocks(head.known) < self.watermark() or len(self.running) >= self.seats:
                break
            tokens = min(head.left, left)
            if tokens <= 0:
                break
            self.admit(head, self.blocks(head.known))
            self.serve(head, tokens)
            left -= tokens


class ChunkOnly(Sarathi):
    """3.5, ablation: an iteration of prompt chunks and one of decoding in turns, where there is work for both."""

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.was_prefill = False

    def schedule(self) -> None:
        is_open = self.is_open()
        has_decodes = any(not member.in_prompt for member in self.running)
        if not has_decodes or not self.was_prefill:
            self.prefill(self.case.budget, is_open)
            if self.chunks or not has_decodes:
                self.was_prefill = bool(self.chunks)
                return
        self.decode()
        self.was_prefill = False


class Vtc(VllmV0):
    """`vtc`: as vLLM V0, the client that was served least first; ties by arrival, and the last admitted gives way.

    A prompt is charged when it is first admitted. A client is idle while none of its requests is here.
    """

    def __init__(self, case: Case, members: list[Member]) -> None:
        super().__init__(case, members)
        self.counter = dict.fromkeys(range(len(case.shares)), 0.0)

    def join(self, member: Member) -> None:
        client = self.case.client[member.id]
        active = {self.case.client[each.id] for each in self.waiting + self.running}
        if client not in active and active:
            self.counter[client] = max(self.counter[client], min(self.counter[each] for each in active))
        super().join(member)

    def queue(self) -> list[Member]:
        def key(member: Member) -> tuple[float, int]:
            return self.counter[self.case.client[member.id]], member.id

        return sorted(self.waiting, key=key)

    def victim(self, unprocessed: list[Member]) -> Member:
        return [member for member in self.running if member in unprocessed][-1]

    def admit(self, member: Member, reserved: int = 0) -> None:
        self.charge(member)
        super().admit(member, reserved)

    def charge(self, member: Member) -> None:
        if math.isnan(member.first_scheduled):
            self.counter[self.case.client[member.id]] += member.prompt

    def note_token(self, member: Member) -> None:
        self.counter[self.case.client[member.id]] += 2

    def decode(self) -> None:
        """While the running members' blocks are not there, the last admitted gives way."""
        while sum(self.growth(member, 1) for member in self.running if not member.in_prompt) > self.free():
            self.preempt(self.running[-1])
        for member in self.running:
            if not member.in_prompt:
                self.serve(member, 1)


class Routed(Vtc):
    """3.10: a queue for each task type, served in turns weighted by the types' shares, prompts chunked as in Sarathi.

    Weighted round robin: an admission moves its type's counter by 1 / share, and the smallest counter is next.
    """

    def charge(self, member: Member) -> None:
        if math.isnan(member.first_scheduled):
            client = self.case.client[member.id]
            self.counter[client] += 1.0 / self.case.shares[client]

    def note_token(self, member: Member) -> None:
        pass

    def schedule(self) -> None:
        is_open = self.is_open()
        self.decode()
        left = self.case.budget - len(self.chunks)
        for member in self.running:
            if member.in_prompt:
                tokens = min(member.left, max(left, 0))
                self.serve(member, tokens)
                left -= tokens
        while self.waiting and is_open and not self.preempted:
            head = self.queue()[0]
            if self.free() - self.blocks(head.known) < self.watermark() or len(self.running) >= self.seats:
                break
            tokens = min(head.left, left)
            if tokens <= 0:
                break
            self.admit(head, self.blocks(head.known))
            self.serve(head, tokens)
            left -= tokens
