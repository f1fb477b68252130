"""A study as a job: run by run beside the page, stopped by a button, by the next scenario and by closing the tab."""

import threading
import time
from collections.abc import Callable, Collection, Hashable, Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

import streamlit as st
from ui.pool import give_way, shared_pool

from sim.errors import DataError, ScenarioError
from sim.scenario import Scenario
from sim.workload import Trace

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
J = TypeVar("J", bound="Job[Any, Any]")
P = ParamSpec("P")

HEAD_START_S = 0.2  # the page itself comes first


class StoppedError(Exception):
    """A task broke off because its job was stopped."""


class Job(Generic[K, V]):
    """Short tasks on a pool, and what they have found so far."""

    def __init__(
        self, tasks: Mapping[K, Callable[[], V]], pool: Executor, *, head_start_s: float = HEAD_START_S
    ) -> None:
        self.found: Mapping[K, V] = {}  # never changed but replaced: who reads one may take their time
        self.total = 0
        self.problem = ""
        self.ended_s = float("inf")  # by the monotonic clock
        self.stop = threading.Event()
        self._pool = pool
        self._begin_s = time.monotonic() + head_start_s
        self._first_s = float("inf")  # when the pool came to the first task
        self._left = 0
        self._changed = threading.Condition()
        self.add(tasks)

    @property
    def is_done(self) -> bool:
        """Whether nothing more will come."""
        return self._left == 0 or self.stop.is_set()

    @property
    def is_complete(self) -> bool:
        """Whether every task has found something."""
        return len(self.found) == self.total

    @property
    def left_s(self) -> float:
        """Until nothing more will come, if it goes on like this; infinite before the first task has found something."""
        found = len(self.found)
        if self.is_done:
            return 0.0
        return (time.monotonic() - self._first_s) * (self.total - found) / found if found else float("inf")

    def add(self, tasks: Mapping[K, Callable[[], V]]) -> None:
        """Hand more tasks to the pool, in this order; before the job is done."""
        self.total += len(tasks)
        for key, each in tasks.items():
            self._hand_out(partial(self._find, key, each))

    def wait(self, patience_s: float) -> bool:
        """Whether every task has found something; waits for that, but not beyond so long after the job's begin."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_done, self._begin_s + patience_s - time.monotonic())
        return self.is_complete

    def halt(self) -> None:
        """Begin no more tasks: somebody has seen enough, or nobody looks any more."""
        self.stop.set()
        self._end()

    def _hand_out(self, work: Callable[[], None]) -> None:
        """Let the pool do something that the job is not done without; each is short, so that `stop` is heard soon."""
        with self._changed:
            self._left += 1
        self._pool.submit(self._do, work)

    def _find(self, key: K, task: Callable[[], V]) -> None:
        value = task()
        with self._changed:
            self.found = {**self.found, key: value}
            self._changed.notify_all()

    def _do(self, work: Callable[[], None]) -> None:
        self.stop.wait(max(self._begin_s - time.monotonic(), 0.0))
        give_way()
        self._first_s = min(self._first_s, time.monotonic())
        try:
            if not self.stop.is_set():
                work()
        except StoppedError:
            pass  # nobody wants to know any more
        except (DataError, ScenarioError) as error:
            self.problem = str(error)
        except Exception as error:  # a dead worker would look like a slow one
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            with self._changed:
                self._left -= 1
                if self._left == 0:
                    self._end()

    def _end(self) -> None:
        with self._changed:
            self.ended_s = min(self.ended_s, time.monotonic())
            self._changed.notify_all()


def start(tasks: Mapping[K, Callable[[], V]], *, head_start_s: float = HEAD_START_S) -> Job[K, V]:
    """A job on the pool that all sessions share."""
    return Job(tasks, _pool(), head_start_s=head_start_s)


def task(function: Callable[..., V], *arguments: object, **named: object) -> Callable[[], V]:
    """A call to be made later."""
    return partial(function, *arguments, **named)


def kept(max_entries: int = 1, ignoring: Collection[str] = ("about",)) -> Callable[[Callable[P, J]], Callable[P, J]]:
    """Keep what a function starts for the session: the same scenario and trace find it again, the next stop it.

    Parameters
    ----------
    max_entries : int
        Jobs that are kept at once.
    ignoring : collection of str
        Parts of a scenario that make no difference.
    """
    same: dict[str | type[Any], Callable[[Any], Any]] = {
        Scenario: lambda scenario: scenario.model_dump_json(exclude=set(ignoring)),
        Trace: lambda trace: trace.sha256,
    }

    def keep(begin: Callable[P, J]) -> Callable[P, J]:
        cache = st.cache_resource(
            scope="session", max_entries=max_entries, on_release=release, show_spinner=False, hash_funcs=same
        )
        return cache(begin)

    return keep


def release(job: Job[K, V]) -> None:
    """Stop a job that nobody looks at any more."""
    job.halt()


@st.cache_resource
def _pool() -> Executor:
    return shared_pool("study")
