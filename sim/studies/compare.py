"""The same requests through several schedulers: what each does as asked, and against load."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.accounts import Bin
from sim.errors import ScenarioError
from sim.metrics import percentile, worth_showing
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.load_curve import at_load, is_closed, with_enough, without_load
from sim.studies.saturated import replayed, saturated, saturated_rps
from sim.summary import flags
from sim.systems import SYSTEMS
from sim.workload import Trace

Floats = NDArray[np.float64]

TIME_POINTS = 120  # of the memory curves
INSTANTS = 200  # at which batches are looked at
TARGET = 0.9  # share of requests within all limits that a load is held to
USED = (Bin.HELD_TYPICAL, Bin.HELD_STRAGGLER)
WASTED = (Bin.FRAGMENTATION, Bin.FINISHED_HELD, Bin.RESERVED_UNUSED)


class Compared(NamedTuple):
    """One scheduler at one load. NaN where undefined."""

    system: str
    load: float  # requests/s or users; NaN where all come at once
    output_tokens_per_s: float
    ttft_p99_s: float
    tpot_p99_s: float
    is_batch_delivery: bool  # then `tpot_p99_s` is end-to-end time per token
    attainment: float  # share of requests within all limits; NaN without a limit
    good_rps: float  # requests a second within all limits
    preemptions: int
    kv_use: float  # mean share of KV memory with computed tokens
    kv_pledged: float  # ... reserved, held by finished members, or at blocks' ends
    batch_cv: float  # mean CV of true output lengths among requests served together
    is_unstable: bool
    rejected: int


class Memory(NamedTuple):
    """KV memory over time, as shares."""

    time_s: Floats  # (k,)
    used: Floats  # (k,)
    wasted: Floats  # (k,)


class Row(NamedTuple):
    """A scheduler's run at the load as asked, or why there is none."""

    compared: Compared | None
    memory: Memory | None
    problem: str = ""
    ceiling_rps: float = math.inf  # what it takes in when it never lacks work; infinite in a closed loop


def with_system(scenario: Scenario, name: str, *, same_limits: bool) -> Scenario:
    """The scenario under another scheduler, with that scheduler's own limits or with the same ones.

    Parameters
    ----------
    scenario : Scenario
    name : str
        Its own scheduler keeps all its knobs.
    same_limits : bool
        Keep `max_num_seqs` and `max_num_batched_tokens` as the scenario has them.

    Raises
    ------
    ScenarioError
        The scheduler cannot run it.
    """
    own = scenario.scheduler
    if name == own.system:
        return scenario
    values: dict[str, object] = {"system": name}
    if same_limits:
        values |= {"max_num_seqs": own.max_num_seqs, "max_num_batched_tokens": own.max_num_batched_tokens}
    if SYSTEMS[name].idea == SYSTEMS[own.system].idea:
        values["enable_prefix_caching"] = own.enable_prefix_caching
    return with_values(scenario, {"scheduler": values})


def row(scenario: Scenario, name: str, trace: Trace | None = None, *, same_limits: bool = False) -> Row:
    """Run one scheduler as asked."""
    try:
        asked = with_system(scenario, name, same_limits=same_limits)
        result = simulate(asked, replayed(asked, trace))
        ceiling_rps = math.inf if is_closed(asked) else ceiling(asked, trace)
    except ScenarioError as error:
        return Row(None, None, str(error))
    return Row(compared(result, float("nan")), memory(result), ceiling_rps=ceiling_rps)


def ceiling(scenario: Scenario, trace: Trace | None = None) -> float:
    """Requests/s beyond which a queue grows without end, however many are within the limits until then."""
    full = saturated(without_load(scenario))
    return saturated_rps(simulate(full, replayed(full, trace)))


def at(
    scenario: Scenario,
    name: str,
    load: float,
    trace: Trace | None = None,
    *,
    full_load: float = 0.0,
    same_limits: bool = False,
) -> Compared | None:
    """One scheduler at another load, below `full_load` with fewer requests; None where it cannot run."""
    try:
        asked = at_load(with_system(scenario, name, same_limits=same_limits), load, trace)
        asked = with_enough(asked, load, full_load or load)
        return compared(simulate(asked, replayed(asked, trace)), load)
    except ScenarioError:
        return None


def compared(result: Result, load: float) -> Compared:
    """What a comparison says of one run."""
    outcome, duration_s, bins = result.run.outcome, result.run.duration_s, result.run.bins
    whole = result.resolved.usable_blocks * duration_s
    met, has_limits = result.attainment, not result.limits.is_empty
    return Compared(
        system=result.scenario.scheduler.system,
        load=load,
        output_tokens_per_s=float(outcome.emitted.sum()) / duration_s if duration_s > 0 else float("nan"),
        ttft_p99_s=_p99(result.ttft_s),
        tpot_p99_s=_p99(result.tpot_s),
        is_batch_delivery=result.is_batch_delivery,
        attainment=met.share if has_limits else float("nan"),
        good_rps=met.good / duration_s if has_limits and duration_s > 0 else float("nan"),
        preemptions=result.run.counters["preemptions"],
        kv_use=float(bins[:, USED].sum()) / whole if whole > 0 else float("nan"),
        kv_pledged=float(bins[:, WASTED].sum()) / whole if whole > 0 else float("nan"),
        batch_cv=batch_cv(result),
        is_unstable=bool(flags(result)["unstable"]),
        rejected=int(result.is_rejected.sum()),
    )


def _p99(values: Floats) -> float:
    found = percentile(values, 0.99)
    return found.value if worth_showing(0.99, found.m) else float("nan")


def memory(result: Result) -> Memory:
    """KV memory over time in a fixed number of stretches."""
    bins, width_s, end_s = result.run.bins, result.run.bin_width_s, result.run.duration_s
    edges_s = np.minimum(np.arange(len(bins) + 1) * width_s, end_s)
    at_s = np.linspace(0, end_s, TIME_POINTS + 1)
    blocks_s = result.resolved.usable_blocks * np.maximum(np.diff(at_s), 1e-12)

    def share(rows: tuple[Bin, ...]) -> Floats:
        total = np.append(0.0, np.cumsum(bins[:, rows].sum(axis=1)))
        values: Floats = np.diff(np.interp(at_s, edges_s, total)) / blocks_s
        return values

    return Memory((at_s[1:] + at_s[:-1]) / 2, share(USED), share(WASTED))


def batch_cv(result: Result) -> float:
    """Mean coefficient of variation of true output lengths among requests that are served at the same time.

    Looked at in evenly spread instants with at least two requests between their first scheduling and their finish.
    """
    outcome = result.run.outcome
    begin_s = np.nan_to_num(outcome.first_scheduled_s, nan=np.inf)
    end_s = np.where(result.is_finished, result.finish_s, result.run.duration_s)
    lengths = result.inputs.output_len.astype(np.float64)
    found = []
    for instant in (np.arange(INSTANTS) + 0.5) / INSTANTS * result.run.duration_s:
        served = lengths[(begin_s <= instant) & (instant < end_s)]
        if len(served) > 1:
            found.append(served.std() / served.mean())
    return float(np.mean(found)) if found else float("nan")


def overall_cv(output_len: NDArray[np.int64]) -> float:
    """Coefficient of variation of all output lengths: what a batch in order of arrival has."""
    return float(output_len.std() / output_len.mean())


def furthest(points: list[Compared], target: float = TARGET, ceiling_rps: float = math.inf) -> float:
    """Largest load at which at least a share `target` of requests meets all limits, between points on a line; 0: none.

    Points are of one scheduler; loads above the first failure do not count. A queue that grows is a failure too, and
    so is a load above `ceiling_rps`: how many are within the limits then depends on the length of the run.
    """
    return min(_furthest(points, target), ceiling_rps)


def _furthest(points: list[Compared], target: float) -> float:
    best, before = 0.0, None
    for point in sorted(points, key=lambda each: each.load):
        if np.isnan(point.attainment):
            return float("nan")
        if point.attainment < target:
            if before is not None and before.attainment > point.attainment:
                share = (before.attainment - target) / (before.attainment - point.attainment)
                best = before.load + share * (point.load - before.load)
            return best
        if point.is_unstable:
            return best
        best, before = point.load, point
    return best
