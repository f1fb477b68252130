"""Compiling the engine's loops, most of them in processes of their own, or reading them from the cache."""

import os
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
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
    "sglang": {"scheduler.system": "sglang"},
    "pipeline": {"deployment.pipeline_parallel_size": 2},
}
CORES = os.cpu_count() or 1
NICENESS = 10  # whoever looks at a page meanwhile comes first

_beside: dict[str, Future[Any]] = {}  # loops that other processes compile, or are about to


def warm_up_all() -> float:
    """Have every loop in this process; seconds it took."""
    started = time.perf_counter()
    compile_beside(CORES - 1)
    for loop in (FIRST, *reversed(LOOPS)):  # the others begin at the front
        load(loop)
    return time.perf_counter() - started


def compile_beside(processes: int = CORES) -> None:
    """Begin to fill the cache, all but the first loop, from so many other processes at once.

    Threads of this process would take turns with each other and with its pages.
    """
    if not processes:
        return
    pool = ThreadPoolExecutor(processes)
    for loop in LOOPS:
        if loop not in (FIRST, *_beside) and not is_compiled(loop):
            _beside[loop] = pool.submit(_compile_in_process, loop)
    pool.shutdown(wait=False)


def load(loop: str) -> None:
    """Have one loop in this process, compiled here if it is neither in the cache nor on its way there."""
    beside = _beside.get(loop)
    if beside is not None and not beside.cancel():
        beside.result()
    simulate(with_values(Scenario(), {**LOOPS[loop], "workload.num_requests": 2}))


def loop_of(scenario: Scenario) -> str:
    """The loop that a scenario runs on."""
    scheduler, has_timeout = scenario.scheduler, scenario.workload.client_timeout_s is not None
    if SYSTEMS[scheduler.system].engine == "sglang":
        return "sglang"
    if is_in_pipeline(scenario):
        return "pipeline"
    return "general" if is_in_general_loop(scheduler, has_timeout=has_timeout) else FIRST


def _compile_in_process(loop: str) -> None:
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    subprocess.run(
        [sys.executable, "-m", "sim.systems.warm_up", loop],
        check=False,  # what did not work there is tried again here, and fails where it is seen
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    if hasattr(os, "nice"):  # not on Windows
        os.nice(NICENESS)
    load(sys.argv[1])
