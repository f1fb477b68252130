"""The same requests through several schedulers: what each does as asked, and against load."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.accounts import Bin
from sim.errors import ScenarioError
from sim.metrics import p99, per_second
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.slo import goodput_rps
from sim.studies.capacity_search import (
    ATTAINMENT,
    FEWEST_REQUESTS,
    NOTHING_KNOWN,
    Known,
    OutOfReachError,
    Server,
    search_long_enough,
)
from sim.studies.load_curve import (
    MAX_REQUESTS,
    USERS,
    at_load,
    is_closed,
    with_enough,
    without_load,
)
from sim.studies.rate_search import largest_rate
from sim.studies.saturated import replayed, saturated, saturated_rps
from sim.summary import flags
from sim.systems import SYSTEMS
from sim.workload import Trace

Floats = NDArray[np.float64]

TIME_POINTS = 120  # of the memory curves
INSTANTS = 200  # at which batches are looked at
TARGET = ATTAINMENT  # share of requests within all limits that a load is held to
SHARES = (0.1, 0.35, 0.6, 0.87, 1.02, 1.35)  # of what one takes in: loads to compare at
CLEARLY = 1.1  # times the highest load of the own curve: nearer ones say nothing new
FIRST_USERS = 32.0  # that the search begins with
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

    time_s: Floats  # (k,), the middles of equal stretches of the run
    used: Floats  # (k,)
    wasted: Floats  # (k,)

    @property
    def end_s(self) -> float:
        """Where the run ends."""
        return float(self.time_s[-1] + self.time_s[0])


class Row(NamedTuple):
    """A scheduler's run at the load as asked, or why there is none."""

    compared: Compared | None
    memory: Memory | None
    problem: str = ""


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
    except ScenarioError as error:
        return Row(None, None, str(error))
    return Row(compared(result, float("nan")), memory(result))


def ceiling(scenario: Scenario, name: str, trace: Trace | None = None, *, same_limits: bool = False) -> float:
    """Load beyond which the queue of one scheduler grows without end; NaN where it cannot run.

    However many are within the limits until then. Users of a closed loop wait instead: there it is infinite.
    """
    if is_closed(scenario):
        return math.inf
    try:
        full = saturated(without_load(with_system(scenario, name, same_limits=same_limits)))
        return saturated_rps(simulate(full, replayed(full, trace)))
    except ScenarioError:
        return math.nan


def loads_of_all(own: tuple[float, ...], ceilings: Iterable[float]) -> tuple[float, ...]:
    """Loads to compare at: those of the scenario's own load curve, and beyond them those of the one that gets furthest.

    Parameters
    ----------
    own : tuple of float
        Ascending.
    ceilings : iterable of float
        Of the schedulers; NaN is left out, and so is the infinity of a closed loop.
    """
    most = max((each for each in ceilings if math.isfinite(each)), default=0.0)
    every = (float(f"{share * most:.3g}") for share in SHARES)
    return own + tuple(load for load in every if load > CLEARLY * max(own, default=math.inf))


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
        asked = at_load(without_load(with_system(scenario, name, same_limits=same_limits)), load, trace)
        asked = with_enough(asked, load, full_load or load)
        return compared(simulate(asked, replayed(asked, trace)), load)
    except ScenarioError:
        return None


def compared(result: Result, load: float) -> Compared:
    """What a comparison says of one run."""
    duration_s, bins = result.run.duration_s, result.run.bins
    whole = result.resolved.usable_blocks * duration_s
    met, has_limits = result.attainment, not result.limits.is_empty
    return Compared(
        system=result.scenario.scheduler.system,
        load=load,
        output_tokens_per_s=per_second(result.delivered_tokens, duration_s),
        ttft_p99_s=p99(result.ttft_s),
        tpot_p99_s=p99(result.tpot_s),
        is_batch_delivery=result.is_batch_delivery,
        attainment=met.share if has_limits else float("nan"),
        good_rps=goodput_rps(met.good, duration_s) if has_limits else float("nan"),
        preemptions=result.run.counters["preemptions"],
        kv_use=float(bins[:, USED].sum()) / whole if whole > 0 else float("nan"),
        kv_pledged=float(bins[:, WASTED].sum()) / whole if whole > 0 else float("nan"),
        batch_cv=batch_cv(result),
        is_unstable=bool(flags(result)["unstable"]),
        rejected=int(result.is_rejected.sum()),
    )


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
    begin_s = np.nan_to_num(result.run.outcome.first_scheduled_s, nan=np.inf)
    end_s = np.where(result.is_finished, result.finish_s, result.run.duration_s)
    at_s = (np.arange(INSTANTS) + 0.5) / INSTANTS * result.run.duration_s
    lengths = result.inputs.output_len.astype(np.float64)
    count, total, squares = (
        _until(at_s, begin_s, each) - _until(at_s, end_s, each) for each in (np.ones_like(lengths), lengths, lengths**2)
    )
    is_batch = count > 1
    if not is_batch.any():
        return float("nan")
    mean = total[is_batch] / count[is_batch]
    variance = np.maximum(squares[is_batch] / count[is_batch] - mean**2, 0.0)
    return float(np.mean(np.sqrt(variance) / mean))


def _until(at_s: Floats, when_s: Floats, values: Floats) -> Floats:
    """Sum of the values whose time has come, at each instant."""
    order = np.argsort(when_s)
    sums: Floats = np.append(0.0, np.cumsum(values[order]))[np.searchsorted(when_s[order], at_s, "right")]
    return sums


def overall_cv(output_len: NDArray[np.int64]) -> float:
    """Coefficient of variation of all output lengths: what a batch in order of arrival has."""
    return float(output_len.std() / output_len.mean())


def reach(
    scenario: Scenario,
    name: str,
    trace: Trace | None = None,
    *,
    points: Iterable[Compared] = (),
    full_load: float = math.inf,
    ceiling_rps: float = 0.0,
    same_limits: bool = False,
) -> float:
    """Largest load at which one scheduler keeps a share `TARGET` of requests within all limits; 0 where it is none.

    A rate is searched as `capacity` searches it, in the first replication; users of a closed loop likewise. NaN where
    there is no limit, or the scheduler cannot run.

    Parameters
    ----------
    points : iterable of Compared
        Its runs at other loads, as of `at`: the search begins between those that are kept and those that are not.
    full_load : float
        From which on they have all requests.
    ceiling_rps : float
        As of `ceiling`; 0 where it is not known.
    """
    try:
        asked = without_load(with_system(scenario, name, same_limits=same_limits))
        if is_closed(asked):
            return _most_users(asked, trace)
        known, requests = NOTHING_KNOWN, asked.workload.num_requests
        if trace is None and FEWEST_REQUESTS <= requests <= MAX_REQUESTS:
            known = _known(points, full_load)._replace(ceiling_rps=ceiling_rps)
        elif trace is None:
            asked = with_values(asked, {"workload.num_requests": max(requests, FEWEST_REQUESTS)})
        return search_long_enough(Server(asked, trace, TARGET), known=known).search.rate_rps
    except OutOfReachError:
        return 0.0
    except ScenarioError:
        return math.nan


def _known(points: Iterable[Compared], full_load: float) -> Known:
    """Between which loads the answer lies; a run with fewer requests may show that a load is too much, no more."""
    passed, failed = 0.0, math.inf
    for point in sorted(points, key=lambda each: each.load):
        if point.is_unstable or point.attainment < TARGET:
            failed = point.load
            break
        if point.load >= full_load:
            passed = point.load
    return Known(passed, failed)


def most_users(scenario: Scenario) -> float:
    """Users beyond which a closed loop is not tried."""
    return float(min(USERS[-1], scenario.workload.num_requests))


def _most_users(scenario: Scenario, trace: Trace | None) -> float:
    """Most users of a closed loop that one scheduler serves within the limits; NaN without a limit."""
    share: dict[int, float] = {}

    def passes(load: float) -> bool:
        users = max(round(load), 1)
        if users not in share:
            result = simulate(at_load(scenario, users), replayed(scenario, trace))
            share[users] = math.nan if result.limits.is_empty else result.attainment.share
        return share[users] >= TARGET

    if not passes(1):
        return math.nan if math.isnan(share[1]) else 0.0
    most = most_users(scenario)
    largest_rate(passes, min(FIRST_USERS, most), ceiling_rps=most)
    return float(max(users for users, each in share.items() if each >= TARGET))
