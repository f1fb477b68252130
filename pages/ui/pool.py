"""Threads for what is computed beside the pages, which come first."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

NICENESS = 5


def shared_pool(name: str, max_workers: int | None = None) -> ThreadPoolExecutor:
    """Threads that all sessions share, by default one for each core; pages, feeds and the browser go before."""
    return ThreadPoolExecutor(max_workers or os.cpu_count(), thread_name_prefix=name, initializer=_step_back)


def _step_back() -> None:
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
