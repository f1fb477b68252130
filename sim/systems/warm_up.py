"""Compiling the engine's loops, most of them in processes of their own, or reading them from the cache."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sim.engine import is_compiled
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.systems import SYSTEMS
from sim.systems.knobs_read import is_in_general_loop
from sim.systems.pipeline import is_in_pipeline

FIRST = "engine"  # the loop of the default scheduler
# Package of each loop, and what a scenario that runs on it has.
LOOPS: dict[str, dict[str, Any]] = {
    FIRST: {"scheduler.system": "vllm_v1"},
    "general": {"scheduler.system": "orca"},
    "pipeline": {"deployment.pipeline_parallel_size": 2},
    "sglang": {"scheduler.system": "sglang"},
}
CORES = os.cpu_count() or 1
NICENESS = 10  # whoever looks at a page meanwhile comes first
POLL_S = 0.1

_beside: dict[str, subprocess.Popen[bytes]] = {}  # loops, and who else compiles them


def warm_up_all() -> float:
    """Have every loop in this process; seconds it took."""
    started = time.perf_counter()
    own = list(LOOPS)[::CORES]
    compile_beside([loop for loop in LOOPS if loop not in own], CORES - 1)
    for loop in sorted(LOOPS, key=own.__contains__, reverse=True):
        load(loop)
    return time.perf_counter() - started


def compile_beside(loops: Sequence[str], processes: int = CORES) -> None:
    """Begin to fill the cache from so many other processes, each with its share of the loops.

    Threads of this process would take turns with each other and with its pages.
    """
    missing = [loop for loop in loops if not is_compiled(loop)]
    for share in (missing[i::processes] for i in range(min(processes, len(missing)))):
        _beside.update(dict.fromkeys(share, _compile_in_process(share)))


def load(loop: str) -> None:
    """Have one loop in this process, compiled here if it is neither in the cache nor on its way there."""
    beside = _beside.get(loop)
    while beside is not None and beside.poll() is None and not is_compiled(loop):
        time.sleep(POLL_S)
    with _no_collections():
        simulate(with_values(Scenario(), {**LOOPS[loop], "workload.num_requests": 2}))


def loop_of(scenario: Scenario) -> str:
    """The loop that a scenario runs on."""
    scheduler, has_timeout = scenario.scheduler, scenario.workload.client_timeout_s is not None
    if SYSTEMS[scheduler.system].engine == "sglang":
        return "sglang"
    if is_in_pipeline(scenario):
        return "pipeline"
    return "general" if is_in_general_loop(scheduler, has_timeout=has_timeout) else FIRST


@contextmanager
def _no_collections() -> Iterator[None]:
    """A tenth of the compile time goes into looking for garbage among what Numba still needs."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _compile_in_process(loops: Sequence[str]) -> subprocess.Popen[bytes]:
    """Another process; what does not work there is tried again in this one, and fails where it is seen."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return subprocess.Popen(
        [sys.executable, "-m", "sim.systems.warm_up", *loops],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    if hasattr(os, "nice"):  # not on Windows
        os.nice(NICENESS)
    for each in sys.argv[1:]:
        load(each)
