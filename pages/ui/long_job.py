"""A job of tasks that take long: each tells how far it is, and hears of a stop in the midst of its work."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor

from ui.job import Job, K, StoppedError, V, task

Progress = Callable[[float], None]  # called with the share done


class LongJob(Job[K, V]):
    """Tasks that are given somebody to tell how far they are."""

    def __init__(self, tasks: Mapping[K, Callable[[Progress], V]], pool: Executor) -> None:
        self.shares = dict.fromkeys(tasks, 0.0)  # done of each task
        super().__init__({key: task(self._tell, key, each) for key, each in tasks.items()}, pool, head_start_s=0.0)

    @property
    def done(self) -> float:
        """Share of the work."""
        return sum(self.shares.values()) / len(self.shares)

    def _tell(self, key: K, each: Callable[[Progress], V]) -> V:
        def progress(share: float) -> None:
            if self.stop.is_set():
                raise StoppedError
            self.shares[key] = min(share, 1.0)

        found = each(progress)
        self.shares[key] = 1.0
        return found
