"""Compiling the engine's loops, each in a process of its own, or reading them from the cache."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sim.engine import is_compiled
from sim.scenario import Scenario, with_values
from sim.simulate import simulate

# Package of each loop, and what a scenario that runs on it has; the longest compilation first.
LOOPS: dict[str, dict[str, Any]] = {
    "general": {"scheduler.system": "orca"},
    "engine": {"scheduler.system": "vllm_v1"},
    "sglang": {"scheduler.system": "sglang"},
    "pipeline": {"deployment.pipeline_parallel_size": 2},
}
NICENESS = 10  # whoever looks at a page meanwhile comes first


def warm_up_all() -> float:
    """Have every loop in this process; seconds it took."""
    started = time.perf_counter()
    compile_beside([loop for loop in LOOPS if not is_compiled(loop)])
    for loop in LOOPS:
        load(loop)
    return time.perf_counter() - started


def compile_beside(loops: Sequence[str]) -> None:
    """Fill the cache from other processes: threads of this one would take turns, and hold up its pages."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(_compile_in_process, loops))


def load(loop: str) -> None:
    """Have one loop in this process, compiled here if it is not in the cache."""
    simulate(with_values(Scenario(), {**LOOPS[loop], "workload.num_requests": 2}))


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
