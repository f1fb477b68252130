"""How fast the simulator is: the shipped `bench-*` presets, through the code path that the pages use.

Everything is on that a page shows: per-request results, time bins, both ledgers, the histogram of gaps.
Each run is measured in a fresh process, so that one run's memory does not count for the next.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sim import Result, Scenario, preset, preset_names, simulate, with_values
from sim.bench_floors import WAITING, floor_of, is_re_ranked, why_below
from sim.cost import step_time
from sim.systems import SYSTEMS, system_names
from sim.systems.build import plan_of
from sim.systems.run import run_plan
from sim.systems.warm_up import load, loop_of

Value = TypeVar("Value")

REPEATS = 3  # the best counts: other programs can only slow a run down
SATURATED = "bench-saturated"  # the preset of which every scheduler is measured
REQUESTS_OF_EACH = 50_000
SHORT_S = 0.3  # runs shorter than that altogether are repeated until they are not
LONG_S = 5.0  # runs that have taken longer altogether are not repeated


class Case(NamedTuple):
    """One thing to measure."""

    preset: str
    system: str
    requests: int

    def scenario(self) -> Scenario:
        """The preset with this case's scheduler and number of requests."""
        own = preset(self.preset)
        values: dict[str, Any] = {"scheduler.system": self.system, "workload.num_requests": self.requests}
        if self.preset == SATURATED and is_re_ranked(SYSTEMS[self.system]):
            users = (own.scheduler.max_num_seqs or 0) + WAITING
            values["workload.arrivals"] = {"kind": "closed_loop", "concurrency": users}
        return with_values(own, values)

    @property
    def floor(self) -> int | None:
        """Requests a second that are asked for; None where nothing is."""
        return floor_of(SYSTEMS[self.system]) if self.preset == SATURATED else None


class Figures(NamedTuple):
    """What was measured. Times are wall clock, one core, kernels compiled before."""

    preset: str
    system: str
    requests: int
    requests_per_s: float  # of the engine: scheduling with all accounting
    steps_per_s: float  # likewise
    block_allocations_per_s: float  # likewise
    preempted_share: float  # requests preempted at least once
    steps: int
    engine_s: float  # best of several
    simulate_s: float  # whole `simulate` and `summary`, once: drawing the requests included
    peak_memory_mb: float  # of the process, after that
    floor_requests_per_s: int | None  # what is asked for
    why_below: str  # what costs time; empty where the floor is reached


def cases(systems: list[str], num_requests: int | None) -> list[Case]:
    """Every bench preset with every scheduler asked for.

    Where nothing is asked: each preset with its own scheduler, and the saturated one with every other as well.
    """
    found = []
    for name in preset_names():
        if name.startswith("bench-"):
            own = preset(name)
            for system in systems or [own.scheduler.system]:
                found.append(Case(name, system, num_requests or own.workload.num_requests))
    if not systems:
        others = (name for name in system_names() if name != preset(SATURATED).scheduler.system)
        found += [Case(SATURATED, system, num_requests or REQUESTS_OF_EACH) for system in others]
    return found


def measure(case: Case) -> Figures:
    """Measure one case in a process of its own."""
    command = [sys.executable, "-m", "sim.bench", json.dumps(case)]
    one_core = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | one_core).stdout
    return Figures(**json.loads(output))


def measure_start() -> tuple[float, float]:
    """Seconds until every loop is there, compiled from nothing and then from the cache; after the imports."""
    with tempfile.TemporaryDirectory() as folder:
        env = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, "-c", "from sim.systems.warm_up import warm_up_all; print(warm_up_all())"]
        cold, cached = (
            float(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=env).stdout) for _ in range(2)
        )
    return cold, cached


def measure_here(case: Case) -> Figures:
    """Measure one case in this process."""
    scenario = case.scenario()
    load(loop_of(scenario))
    simulate_s, result = timed(lambda: simulate(scenario))
    summary_s, summary = timed(result.summary)
    peak_memory_mb = peak_memory_bytes() / 1e6
    engine_s = best_engine_time(result)
    counters = summary["counters"]
    speed, floor, steps = case.requests / engine_s, case.floor, counters["steps"]
    preempted_share = summary["metrics"]["preempted_requests"] / case.requests
    is_below = floor is not None and speed < floor
    system = SYSTEMS[case.system]
    return Figures(
        *case,
        requests_per_s=speed,
        steps_per_s=steps / engine_s,
        block_allocations_per_s=counters["blocks_allocated"] / engine_s,
        preempted_share=preempted_share,
        steps=steps,
        engine_s=engine_s,
        simulate_s=simulate_s + summary_s,
        peak_memory_mb=peak_memory_mb,
        floor_requests_per_s=floor,
        why_below=why_below(system, steps, case.requests, engine_s, preempted_share) if is_below else "",
    )


def best_engine_time(result: Result) -> float:
    """Seconds of the engine alone, on the very arrays that `simulate` gave it."""
    step = step_time(result.scenario)
    plan = plan_of(result.scenario, result.resolved, result.inputs, result.info, step)
    times: list[float] = []
    while sum(times) < SHORT_S or (len(times) < REPEATS and sum(times) < LONG_S):
        times.append(timed(lambda: run_plan(plan, result.inputs, step))[0])
    return min(times)


def timed(call: Callable[[], Value]) -> tuple[float, Value]:
    """Seconds that a call takes, and what it returns."""
    start = time.perf_counter()
    value = call()
    return time.perf_counter() - start, value


def peak_memory_bytes() -> int:
    """Largest resident memory of this process so far."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except OSError:  # no Linux. There getrusage would include what the parent used before this program started
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    print(json.dumps(measure_here(Case(*json.loads(sys.argv[1])))._asdict()))
