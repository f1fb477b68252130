"""Who comes when, in the naive simulator."""

import math

from sim.engine.inputs import Requests
from tests.naive.state import Member


class Arrivals:
    """Open loop: everybody at a time of their own. Closed loop: users ask, wait for the answer, think, ask again."""

    def __init__(self, requests: Requests, members: list[Member]) -> None:
        self._to_come = list(members)
        seconds = [float(each) for each in requests.arrival_s]
        first = requests.users or len(seconds)
        self._times = [each - min(seconds[:first]) for each in seconds[:first]]
        self._thoughts = seconds[first:]  # closed loop: before each further question

    def next_time(self) -> float:
        """When the next one comes, as far as that is known."""
        return min(self._times, default=math.inf)

    def take(self, now: float) -> list[Member]:
        """Everybody who has come by now, in order."""
        taken = []
        while self.next_time() <= now:
            member = self._to_come.pop(0)
            member.arrival = self.next_time()
            self._times.remove(member.arrival)
            taken.append(member)
        return taken

    def answered(self, now: float) -> None:
        """A user has the whole answer; in a closed loop the next question follows after a think time."""
        if self._thoughts:
            self._times.append(now + self._thoughts.pop(0))
