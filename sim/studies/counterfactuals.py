"""What unknown output lengths cost: the same requests in worlds where one of the reasons is taken away.

Every world has the same requests, seed and total output tokens, at two operating points: as asked, and saturated,
where all requests wait from the start. Below capacity throughput equals the offered load whatever one does, so it is
compared saturated; latencies are compared as asked. Source: metrics.md, section 8.4.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from sim.deployment import resolve
from sim.engine.inputs import Requests
from sim.errors import ScenarioError
from sim.metrics import p99, per_second
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate_requests
from sim.slo import goodput_rps
from sim.studies.length_changes import kinds_of, tries, without_tail, without_variance
from sim.studies.saturated import full_tokens_per_s, replayed, saturated
from sim.studies.shortened import shortened
from sim.workload import Trace, make_requests, with_outputs

MAX_REQUESTS = 4_000  # drawn for one run
MAX_SEATS = 65_536
CONFIDENCE = 0.95


NO_ROOM = "the mean lies so near the tail quantile that the other answers have no room for what is cut"
SHARED = "prompts share blocks of the prefix cache, which the exact test does not count"


class World(Enum):
    """What is taken away."""

    AS_IS = "as it is"
    NO_VARIANCE = "No variance"
    BACKLOG = "Backlog never empties"
    JOINING = "Joining at every iteration"
    TAIL_CUT = "Tail cut"
    EXACT_MARGIN = "Exact margin"
    ALL = "All together"


WORLDS = {
    World.NO_VARIANCE: "every output is the mean of its type and known in advance: the whole price of length variance",
    World.BACKLOG: "all requests wait from the start, so that no slot is ever without work",
    World.JOINING: "requests join the running batch at every iteration, under the same batch limit",
    World.TAIL_CUT: "outputs above the tail quantile are cut to it, and the others get the cut tokens in proportion",
    World.EXACT_MARGIN: "no watermark, margin or batch limit; the next request is admitted if with true lengths the "
    "future peak of all admitted fits the memory",
    World.ALL: "tail cut, exact margin, and joining where a batch is closed; gains do not add up",
}
EXACT = (World.EXACT_MARGIN, World.ALL)
CHANGED = (World.NO_VARIANCE, World.TAIL_CUT, World.ALL)  # other lengths


class Point(Enum):
    """Where a world is measured."""

    AS_ASKED = "as asked"
    SATURATED = "saturated"


class Cell(NamedTuple):
    """One run of the study."""

    world: World
    point: Point
    replication: int


class Measured(NamedTuple):
    """What a run is compared by; NaN where undefined."""

    output_tokens_per_s: float  # saturated: as of `full_tokens_per_s`
    tpot_p99_s: float
    ttft_p99_s: float
    goodput_rps: float


class Impossible(NamedTuple):
    """A world that cannot be."""

    reason: str


Found = Mapping[Cell, Measured | Impossible]


class Gain(NamedTuple):
    """A change against the world as it is, with the interval of the replications."""

    mean: float  # relative
    low: float  # NaN with one replication only
    high: float
    replications: int


def cells(scenario: Scenario, trace: Trace | None = None) -> list[Cell]:
    """All runs of the study, replication by replication, those that take longest last.

    A trace is one row of requests, so it has one replication.
    """
    runs = range(1 if trace is not None else scenario.replications)
    quick = [world for world in World if world not in EXACT and is_offered(world, scenario)]
    every = [Cell(world, point, i) for worlds in (quick, EXACT) for i, world, point in product(runs, worlds, Point)]
    return [cell for cell in every if (cell.world, cell.point) != (World.BACKLOG, Point.SATURATED)]


def has_all(found: Found, world: World, scenario: Scenario, trace: Trace | None = None) -> bool:
    """Whether every run is there that a world is judged by."""
    wanted = [cell for cell in cells(scenario, trace) if cell.world in (world, World.AS_IS)]
    return all(cell in found for cell in wanted)


def is_offered(world: World, scenario: Scenario) -> bool:
    """Whether a world differs from the one as it is: only a closed batch can be opened."""
    return world is not World.JOINING or scenario.scheduler.choices.batching == "request"


def measure(scenario: Scenario, cell: Cell, trace: Trace | None = None) -> Measured | Impossible:
    """Run one cell.

    Raises
    ------
    ScenarioError
        The scenario itself cannot run.
    """
    result = run_world(scenario, cell, trace)
    if isinstance(result, Impossible):
        return result
    return measured(result, is_saturated=_is_saturated(cell), is_batch_delivery=is_batch_delivery(scenario))


def run_world(scenario: Scenario, cell: Cell, trace: Trace | None = None) -> Result | Impossible:
    """The run behind a cell. Every world is scheduled synchronously, as the exact one can be no other way."""
    asked = shortened(saturated(scenario) if _is_saturated(cell) else scenario, MAX_REQUESTS)
    server = with_values(asked, {"scheduler.async_scheduling": False})
    limits = resolve(server)
    requests, info = make_requests(
        server, replayed(server, trace), max_model_len=limits.max_model_len, replication=cell.replication
    )
    if cell.world in CHANGED:
        requests, info = tries(server, requests, info, limits.max_model_len)
    if cell.world is World.NO_VARIANCE:
        equal = without_variance(requests.output_len, requests.cap, kinds_of(info))
        requests, info = with_outputs(requests, info, equal, scenario.tail_quantile, is_known=True)
    if cell.world in (World.TAIL_CUT, World.ALL):
        cut = without_tail(requests.output_len, requests.cap, scenario.tail_quantile, info.is_rejected)
        if cut is None:
            return Impossible(NO_ROOM)
        requests, info = with_outputs(requests, info, cut, scenario.tail_quantile)
    try:
        if cell.world in (World.JOINING, World.ALL) and is_offered(World.JOINING, server):
            server = with_values(server, {"scheduler.batching": "iteration"})
        if cell.world in EXACT:
            if _shares_blocks(server, requests):
                return Impossible(SHARED)
            if _is_held(server):  # all members stay to the end, so that the peak is the sum of what each comes to
                server = with_values(server, {"scheduler.reserve": "cap"})
                requests = requests._replace(cap=requests.output_len)
            else:
                server = with_values(server, exact_admission(server))
            seats = min(len(requests.cap), limits.usable_blocks, MAX_SEATS)
            limits = limits._replace(max_num_seqs=max(seats, limits.max_num_seqs), watermark=0.0)
    except ScenarioError as error:
        return Impossible(str(error))
    return simulate_requests(server, requests, info, limits=limits, replication=cell.replication)


def exact_admission(server: Scenario) -> dict[str, Any]:
    """Fields of a scheduler that admits by the true future peak; whom it serves first stays."""
    knobs = server.scheduler
    order = "priority" if knobs.order is None and knobs.scheduling_policy == "priority" else knobs.order
    return {"scheduler.reserve": "peak_truth", "scheduler.watermark": 0.0, "scheduler.order": order}


def _shares_blocks(server: Scenario, requests: Requests) -> bool:
    """Whether prompts have texts in common that a prefix cache keeps."""
    knobs = server.scheduler
    return knobs.system == "vllm_v1" and knobs.enable_prefix_caching and len(requests.segment_len) > 0


def _is_held(server: Scenario) -> bool:
    """Whether finished members keep their memory until the batch ends."""
    knobs = server.scheduler
    return knobs.system == "static" and knobs.hold and knobs.choices.batching == "request"


def _is_saturated(cell: Cell) -> bool:
    return cell.point is Point.SATURATED or cell.world is World.BACKLOG


def is_batch_delivery(scenario: Scenario) -> bool:
    """Whether TPOT means nothing in the world as it is, so that E2E per token stands for it in every world."""
    return scenario.scheduler.delivers_batches


def measured(result: Result, *, is_saturated: bool, is_batch_delivery: bool = False) -> Measured:
    """What a run is compared by. Saturated, the wait for the first token measures the run's length only.

    Parameters
    ----------
    result : Result
    is_saturated : bool
        All requests waited from the start.
    is_batch_delivery : bool
        Compare E2E per token instead of TPOT.
    """
    duration_s = result.run.duration_s
    tokens_per_s = full_tokens_per_s(result) if is_saturated else per_second(result.delivered_tokens, duration_s)
    return Measured(
        tokens_per_s,
        p99(result.norm_latency_s if is_batch_delivery else result.tpot_s),
        np.nan if is_saturated else p99(result.ttft_s),
        np.nan if is_saturated or result.limits.is_empty else goodput_rps(result.attainment.good, duration_s),
    )


def gain(found: Found, world: World, point: Point, metric: str) -> Gain | None:
    """How far a metric moves when something is taken away, over the replications that are there.

    Both worlds of a pair have the same random numbers, so the interval is that of paired differences.

    Parameters
    ----------
    found : mapping
        What `measure` returned for the cells run so far.
    metric : str
        Field of `Measured`.

    Returns
    -------
    Gain or None
        None where nothing can be compared.
    """
    ratios = []
    for cell, now in found.items():
        before = found.get(cell._replace(world=World.AS_IS, point=point))
        if (cell.world, cell.point) == (world, point) and isinstance(now, Measured) and isinstance(before, Measured):
            value, base = getattr(now, metric), getattr(before, metric)
            if np.isfinite(value) and base > 0:
                ratios.append(value / base)
    return gain_of(ratios) if ratios else None


def gain_of(ratios: Sequence[float]) -> Gain:
    """Geometric mean of ratios, one a replication, as a change, with Student's interval of their logarithms.

    In logarithms no interval reaches below -100 %. A ratio under a thousandth counts as a thousandth.
    """
    logs = np.log(np.maximum(np.asarray(ratios, np.float64), 1e-3))
    mean, count = float(logs.mean()), len(logs)
    half = np.nan
    if count > 1:
        half = float(stdtrit(count - 1, (1 + CONFIDENCE) / 2) * logs.std(ddof=1) / np.sqrt(count))
    change, low, high = (float(np.expm1(value)) for value in (mean, mean - half, mean + half))
    return Gain(change, low, high, count)
