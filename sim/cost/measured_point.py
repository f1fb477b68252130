"""One load of a server and what was measured there, and the scenario that puts a simulated server under it."""

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from sim.arrivals_spec import Arrivals, ClosedLoop, GammaGaps, Poisson
from sim.benchmarks import Benchmark, Point
from sim.errors import ScenarioError
from sim.lengths_spec import Constant, Lengths, Quantiles
from sim.result import Result
from sim.scenario import Scenario
from sim.simulate import simulate
from sim.workload_spec import TaskType

WAVES = 10  # requests for each user of a closed loop, where the measurement does not say
FEWEST, OPEN_LOOP = 50, 1000  # requests
QUANTILES = 101


class MeasuredPoint(NamedTuple):
    """Latencies of a server under one load."""

    arrivals: Arrivals
    prompt: Lengths
    output: Lengths
    prompt_tokens: float  # mean
    output_tokens: float
    tpot_ms: float
    ttft_ms: float | None = None
    statistic: Literal["mean", "p50"] = "mean"  # over requests
    num_requests: int | None = None

    @property
    def load(self) -> str:
        """The load in words."""
        if isinstance(self.arrivals, ClosedLoop):
            users = self.arrivals.concurrency
            return f"{users} user{'s' * (users != 1)}"
        return f"{getattr(self.arrivals, 'rate_rps', math.nan):g} requests/s"

    @property
    def in_flight(self) -> float:
        """Requests in the server at a time: the users, or rate times measured latency."""
        if isinstance(self.arrivals, ClosedLoop):
            return float(self.arrivals.concurrency)
        latency_s = ((self.ttft_ms or 0.0) + self.tpot_ms * (self.output_tokens - 1)) / 1000
        return max(1.0, float(getattr(self.arrivals, "rate_rps", 0.0)) * latency_s)


class Simulated(NamedTuple):
    """What the simulator says at a point, in the point's own statistic."""

    tpot_ms: float
    ttft_ms: float
    output_tokens_per_s: float


def simulated(base: Scenario, point: MeasuredPoint) -> Simulated:
    """Run the simulator at a point.

    Parameters
    ----------
    base : Scenario
        Deployment, scheduler, step time and seed.
    point : MeasuredPoint
        The load.

    Raises
    ------
    ScenarioError
        The load cannot run on that deployment.
    """
    result = simulate(scenario_at(base, point))
    if not result.is_finished.any():
        raise ScenarioError(f"{point.load}: no request finishes on this deployment")
    tpot, ttft = (_statistic(values, point) for values in (result.tpot_s, result.ttft_s))
    return Simulated(1000 * tpot, 1000 * ttft, _throughput(result))


def _statistic(seconds: "np.ndarray[Any, Any]", point: MeasuredPoint) -> float:
    known = seconds[~np.isnan(seconds)]
    return float(known.mean() if point.statistic == "mean" else np.median(known)) if known.size else math.nan


def _throughput(result: Result) -> float:
    return result.delivered_tokens / result.run.duration_s if result.run.duration_s else math.nan


def scenario_at(base: Scenario, point: MeasuredPoint) -> Scenario:
    """The scenario with the point's load in place of its own."""
    users = point.arrivals.concurrency if isinstance(point.arrivals, ClosedLoop) else None
    asked = max(FEWEST, WAVES * users) if users is not None else OPEN_LOOP
    task = TaskType(name="measured", prompt=point.prompt, output=point.output)
    workload = base.workload.model_copy(
        update={
            "arrivals": point.arrivals,
            "types": (task,),
            "num_requests": max(point.num_requests or asked, users or 1),
            "trace_file": None,
        }
    )
    return base.model_copy(update={"workload": workload})


def points_of(benchmark: Benchmark) -> tuple[list[MeasuredPoint], list[str]]:
    """The runs of a benchmark that a fit can use, and one sentence for each of the others."""
    points, left_out = [], []
    for number, run in enumerate(benchmark.points, start=1):
        missing = _missing(run)
        if missing:
            left_out.append(f"{benchmark.name}: run {number} {missing}; it is left out")
        else:
            points.append(_point(run))
    return points, left_out


def _missing(run: Point) -> str | None:
    """What a run lacks, if anything."""
    if run.tpot_ms.mean is None and run.tpot_ms.p50 is None:
        return "has no TPOT"
    if run.output_tokens < 2:
        return "has answers of one token, which have no TPOT"
    if run.concurrency is None and (run.request_rate_rps is None or not math.isfinite(run.request_rate_rps)):
        return "says neither concurrency nor a request rate"
    return None


def _point(run: Point) -> MeasuredPoint:
    statistic: Literal["mean", "p50"] = "p50" if run.tpot_ms.mean is None else "mean"
    requests = run.requests
    return MeasuredPoint(
        arrivals=_arrivals(run),
        prompt=_lengths(run.prompt_tokens, None if requests is None else requests.prompt_len),
        output=_lengths(run.output_tokens, None if requests is None else requests.output_len),
        prompt_tokens=run.prompt_tokens,
        output_tokens=run.output_tokens,
        tpot_ms=_of(run.tpot_ms, statistic),
        ttft_ms=getattr(run.ttft_ms, statistic),
        statistic=statistic,
        num_requests=run.num_prompts,
    )


def _of(stats: object, statistic: str) -> float:
    return float(getattr(stats, statistic))


def _arrivals(run: Point) -> Arrivals:
    """A rate where one is given and finite, else the users."""
    rate = run.request_rate_rps
    if rate is None or not math.isfinite(rate):
        return ClosedLoop(concurrency=run.concurrency or 1)
    if run.burstiness is not None and run.burstiness != 1.0:
        return GammaGaps(rate_rps=rate, burstiness=run.burstiness)
    return Poisson(rate_rps=rate)


def _lengths(mean: float, each: Iterable[int] | None) -> Lengths:
    """As measured one by one, or all of the mean length."""
    if each is None:
        return Constant(tokens=max(1, round(mean)))
    lengths = np.maximum(np.sort(np.fromiter(each, dtype=np.float64)), 1.0)
    at = np.linspace(0.0, 1.0, QUANTILES)
    return Quantiles(points=tuple(zip(at.tolist(), np.quantile(lengths, at).tolist(), strict=True)))
