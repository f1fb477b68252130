"""Measured points of a synthetic deployment: its coefficients are known, and the simulator measures them."""

import numpy as np

from sim import Scenario
from sim.arrivals_spec import ClosedLoop
from sim.cost.calibration_fit import problem_of, simulate_point
from sim.cost.measured_point import MeasuredPoint
from sim.lengths_spec import Constant

BASE = Scenario(deployment={"max_model_len": 40_000}, scheduler={"enable_prefix_caching": False})
OFF = np.array([1.8, 1.15, 1.25, 0.85, 1.2])  # true coefficients over the catalogue's
# (users, prompt, answer): each parameter weighs somewhere.
RICH = ((1, 128, 64), (8, 1024, 64), (32, 256, 64), (64, 2048, 48), (128, 64, 64), (200, 512, 32), (4, 16_384, 32),
        (16, 8192, 48))  # fmt: skip
UNSEEN = ((2, 512, 64), (48, 3000, 48), (96, 700, 48), (12, 12_000, 32))
ALIKE = tuple((users, 1000, 100) for users in range(16, 24))  # a narrow range tells nothing apart


def point(users: int, prompt: int, output: int, tpot_ms: float = 1.0, ttft_ms: float | None = None) -> MeasuredPoint:
    """A closed loop with equal lengths."""
    load = ClosedLoop(concurrency=users), Constant(tokens=prompt), Constant(tokens=output)
    return MeasuredPoint(*load, prompt, output, tpot_ms, ttft_ms, num_requests=max(24, 2 * users))


def measured(
    loads: tuple[tuple[int, int, int], ...], base: Scenario = BASE, client_ms: float | None = None
) -> list[MeasuredPoint]:
    """The loads, measured on the synthetic deployment; with TTFT if a client's time is given."""
    found = []
    for load in loads:
        problem = problem_of(base, [point(*load)])
        run = simulate_point(problem, point(*load), problem.catalogue * OFF)
        found.append(point(*load, run.tpot_ms, None if client_ms is None else run.ttft_ms + client_ms))
    return found
