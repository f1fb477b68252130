"""Threads for what is computed beside the pages, which come first."""

import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

NICENESS = 5
PATIENCE_S = 1.0  # then work goes on although pages are still being made

_pages = 0  # being made now, over all sessions
_changed = threading.Condition()


def shared_pool(name: str, max_workers: int | None = None) -> ThreadPoolExecutor:
    """Threads that all sessions share, by default one for each core; pages, feeds and the browser go before."""
    return ThreadPoolExecutor(max_workers or os.cpu_count(), thread_name_prefix=name, initializer=_step_back)


@contextmanager
def page_first() -> Iterator[None]:
    """While a page is being made, work beside the pages waits between its parts: see `give_way`."""
    global _pages
    with _changed:
        _pages += 1
    try:
        yield
    finally:
        with _changed:
            _pages -= 1
            _changed.notify_all()


@contextmanager
def page_waits() -> Iterator[None]:
    """While a page waits for work beside it, that page holds up nobody."""
    global _pages
    with _changed:
        _pages -= 1
        _changed.notify_all()
    try:
        yield
    finally:
        with _changed:
            _pages += 1


def give_way() -> None:
    """Wait until no page is being made, but not for ever: a page and a job take turns with the interpreter."""
    with _changed:
        _changed.wait_for(lambda: _pages == 0, PATIENCE_S)


def _step_back() -> None:
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own
        pages = os.getpriority(os.PRIO_PROCESS, os.getpid())  # of the process, which may run under `nice` itself
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), pages + NICENESS)
