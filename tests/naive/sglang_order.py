"""In which order the naive SGLang tries its queue. Source: README of the SGLang goldens, findings 21 to 24."""

from sim.engine.sglang.inputs import SglangOrder, SglangRules
from tests.naive.sglang_memory import Memory
from tests.naive.sglang_state import Member

MOST_MATCHED = 128  # longer queues are not matched against the tree
TOUCH_INTERVAL = 32  # passes
SHORT_MATCH = 32  # tokens: a request with so little in the cache may wait for a like one
SHARED_IN_QUEUE = 32  # tokens in common with a like one from which on it does


class QueueOrder:
    """Sorts the queue in place, and touches in the tree what is cached of it."""

    def __init__(self, rules: SglangRules, memory: Memory) -> None:
        self.memory = memory
        matches = rules.order == SglangOrder.LPM
        self.order = SglangOrder.FCFS if matches and not rules.radix_cache else rules.order
        self.passes = 0

    def sort(self, queue: list[Member]) -> None:
        if self.order == SglangOrder.LPM and len(queue) <= MOST_MATCHED:
            self._sort_by_match(queue)
            return
        if self.order == SglangOrder.LOF:
            queue.sort(key=lambda member: -member.max_new)
        if queue and self.passes % TOUCH_INTERVAL == 0:
            for member in reversed(queue[:MOST_MATCHED]):
                self.memory.touch(member)
        self.passes += bool(queue)

    def _sort_by_match(self, queue: list[Member]) -> None:
        keys: dict[Member, float] = {}
        seen: set[tuple[int, ...]] = set()  # beginnings of those with a short match
        for member in queue:
            matched, _ = self.memory.match(member, member.known)
            keys[member] = -min(matched, member.known - 1)
            beginning = tuple(member.text[: min(member.known, SHARED_IN_QUEUE)])
            if matched <= SHORT_MATCH and beginning in seen:
                keys[member] = float("inf")
            elif matched <= SHORT_MATCH and len(beginning) == SHARED_IN_QUEUE:
                seen.add(beginning)
        queue.sort(key=lambda member: keys[member])
