"""The same requests through several schedulers: what each does as asked, and against load."""

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
from sim.studies.load_curve import at_load, with_enough, without_load
from sim.studies.saturated import replayed
from sim.summary import flags
from sim.systems import SYSTEMS
from sim.workload import Trace

Floats = NDArray[np.float64]

TIME_POINTS = 120  # of the memory curves
INSTANTS = 200  # at which batches are looked at
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


class Contender(NamedTuple):
    """One scheduler and the requests that go through each."""

    scenario: Scenario  # under whichever scheduler
    system: str
    trace: Trace | None = None
    same_limits: bool = False  # all have the scenario's

    @property
    def asked(self) -> Scenario:
        """`with_system`; raises as that does."""
        return with_system(self.scenario, self.system, same_limits=self.same_limits)


def row(one: Contender) -> Row:
    """Run one scheduler as asked."""
    try:
        result = simulate(one.asked, replayed(one.asked, one.trace))
    except ScenarioError as error:
        return Row(None, None, str(error))
    return Row(compared(result, float("nan")), memory(result))


def at(one: Contender, load: float, *, full_load: float = 0.0) -> Compared | None:
    """One scheduler at another load, below `full_load` with fewer requests; None where it cannot run."""
    try:
        asked = with_enough(at_load(without_load(one.asked), load, one.trace), load, full_load or load)
        return compared(simulate(asked, replayed(asked, one.trace)), load)
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
