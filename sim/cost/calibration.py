"""Step-time coefficients of one deployment from its own benchmark.

Five parameters, fitted in logarithms to the log errors of TPOT and TTFT, within bounds and held weakly at the
catalogue's figures. What a point takes is the closed form times a correction: simulation over closed form at the
parameters of the round before. Five rounds make the corrections stand still; errors are those of the simulation.
How firmly the catalogue holds depends on the error that the round before left.
TTFT counts less than TPOT, as it holds what the server does not do: a time of the client's is fitted beside it.

Source: cost.md, "Calibration from the user's own benchmark".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.cost.calibration_fit import (
    FARTHEST,
    NOISE,
    PARAMETERS,
    Found,
    Problem,
    corrections,
    fit,
    problem_of,
    simulate_point,
    step_of,
)
from sim.cost.identifiable import Identifiability, identifiability
from sim.cost.measured_point import MeasuredPoint, Simulated
from sim.errors import DataError
from sim.scenario import Scenario
from sim.system_spec import CalibratedStep

Floats = NDArray[np.float64]

ROUNDS = 5
ENOUGH = 6  # points
HUGE = 1_000_000  # a condition number beyond which its size says nothing more
WHAT_HELPS = {
    "fixed_ms": "a single user",
    "inv_eff_mem": "hundreds of users with short prompts",
    "inv_eff_kv": "many users with long contexts",
    "inv_eff_flop": "long prompts and short answers",
    "inv_eff_attn": "prompts of 8,000 tokens and more",
}


class PointFit(NamedTuple):
    """One point: measured, and by the simulation with three sets of coefficients."""

    point: MeasuredPoint
    catalogue: Simulated
    fitted: Simulated
    left_out: Simulated | None  # fitted to the other points; None: there is no other


@dataclass(frozen=True)
class Calibration:
    """What a benchmark says about a deployment's step time.

    Parameters
    ----------
    step : CalibratedStep
        For the scenario: `cost.source` calibrated, `cost.coefficients` this.
    catalogue : tuple of float
        The same five parameters, in the order of `PARAMETERS`, by the catalogue.
    points : tuple of PointFit
    client_ms : float or None
        Part of TTFT that no step explains. None: no TTFT was given.
    identifiable : Identifiability
    warnings : tuple of str
        What to know before trusting it, one sentence each.
    """

    step: CalibratedStep
    catalogue: tuple[float, ...]
    points: tuple[PointFit, ...]
    client_ms: float | None
    identifiable: Identifiability
    warnings: tuple[str, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """The five parameters, in the order of `PARAMETERS`."""
        return tuple(float(getattr(self.step, name)) for name in PARAMETERS)

    @property
    def weak(self) -> tuple[str, ...]:
        """Parameters that the points do not determine."""
        return tuple(name for name, is_weak in zip(PARAMETERS, self.identifiable.is_weak, strict=True) if is_weak)

    def error_percent(self, which: str) -> float | None:
        """Mean absolute TPOT error of `catalogue`, `fitted` or `left_out`; None where there is none."""
        return error_percent([each.point for each in self.points], [getattr(each, which) for each in self.points])


def error_percent(points: Sequence[MeasuredPoint], runs: Sequence[Simulated | None]) -> float | None:
    """Mean absolute error of simulated TPOT; None where nothing was simulated."""
    pairs = zip(points, runs, strict=True)
    errors = [abs(run.tpot_ms / point.tpot_ms - 1) for point, run in pairs if run is not None]
    return 100 * float(np.mean(errors)) if errors else None


def calibrate(
    base: Scenario,
    points: Sequence[MeasuredPoint],
    measured: str = "",
    on_progress: Callable[[float], None] = lambda _: None,
) -> Calibration:
    """Fit a deployment's step time to measured points.

    Parameters
    ----------
    base : Scenario
        Deployment and scheduler that were measured; its own load and cost do not count.
    points : sequence of MeasuredPoint
    measured : str
        Where they come from, to be kept with the coefficients.
    on_progress : callable
        Called with the share of the work done, 0 to 1.

    Raises
    ------
    DataError
        There is no point.
    ScenarioError
        The deployment cannot run, or not under one of the loads.
    """
    if not points:
        raise DataError("there is no point to calibrate with; at least one run with a TPOT is needed")
    problem = problem_of(base, points)
    tick = _ticker((ROUNDS + 2) * len(points), on_progress)
    catalogue = _all_points(problem, problem.catalogue, tick)
    found, runs, correction = _rounds(problem, catalogue, tick)
    left_out = [_without(problem, i, correction, found.noise, tick) for i in range(len(points))]
    verdict = identifiability(found.jacobian)
    error = error_percent(points, left_out)
    step = step_of(problem, found.values).model_copy(update={"error_percent": error, "measured": measured})
    return Calibration(
        step=step,
        catalogue=tuple(problem.catalogue.tolist()),
        points=tuple(map(PointFit, points, catalogue, runs, left_out)),
        client_ms=found.client_ms,
        identifiable=verdict,
        warnings=(*_few(points), *_weak(verdict), *_at_bounds(found.values / problem.catalogue)),
    )


def _rounds(problem: Problem, runs: list[Simulated], tick: Callable[[], None]) -> tuple[Found, list[Simulated], Floats]:
    """Fit, simulate, correct, and again: what was found, its simulations, and their corrections."""
    everything = np.ones(len(problem.points), dtype=np.bool_)
    correction = corrections(problem, problem.catalogue, runs)
    noise = NOISE[1]
    for _ in range(ROUNDS):
        found = fit(problem, correction, everything, noise)
        noise = found.noise
        runs = _all_points(problem, found.values, tick)
        correction = corrections(problem, found.values, runs)
    return found, runs, correction


def _all_points(problem: Problem, values: Floats, tick: Callable[[], None]) -> list[Simulated]:
    runs = []
    for point in problem.points:
        runs.append(simulate_point(problem, point, values))
        tick()
    return runs


def _without(problem: Problem, i: int, correction: Floats, noise: float, tick: Callable[[], None]) -> Simulated | None:
    """Point `i` simulated with parameters fitted to the others."""
    others = np.arange(len(problem.points)) != i
    if not others.any():
        return None
    run = simulate_point(problem, problem.points[i], fit(problem, correction, others, noise).values)
    tick()
    return run


def _ticker(total: int, on_progress: Callable[[float], None]) -> Callable[[], None]:
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        on_progress(min(1.0, done / total))

    return tick


def _few(points: Sequence[MeasuredPoint]) -> Iterator[str]:
    if len(points) < ENOUGH:
        yield f"{len(points)} points for five parameters; {ENOUGH} or more are needed to check the fit"


def _weak(verdict: Identifiability) -> Iterator[str]:
    weak = [name for name, is_weak in zip(PARAMETERS, verdict.is_weak, strict=True) if is_weak]
    if weak:
        yield (
            f"{', '.join(weak)}: these points do not tell them apart, or hardly depend on them (condition number "
            f"{_rounded(verdict.condition_number)}); they stay near the catalogue's values. Points with "
            f"{'; '.join(WHAT_HELPS[name] for name in weak)} would help"
        )


def _rounded(number: float) -> str:
    """Of a condition number, its first digit and its size."""
    return f"{float(f'{number:.1g}'):,.0f}" if number < HUGE else f"above {HUGE:,}"


def _at_bounds(ratios: Floats) -> Iterator[str]:
    for name, ratio, farthest in zip(PARAMETERS, ratios.tolist(), FARTHEST.tolist(), strict=True):
        if abs(np.log(ratio)) > farthest - 1e-3:
            yield f"{name} ran into its bound, {ratio:.2g} times the catalogue's value"
