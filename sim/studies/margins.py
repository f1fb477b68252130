"""Safety margins: what seats, a watermark and the token budget do to preemptions and throughput, one at a time.

Two of them keep memory back for answers whose length nobody knows: `max_num_seqs` limits how many grow at once, the
watermark how much of the memory admission leaves. The token budget limits the work of a step; it is no protection of
memory, and stands beside them to show it.
"""

from typing import NamedTuple

from sim.deployment import resolve
from sim.errors import ScenarioError
from sim.metrics import p99
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.saturated import plateau_tokens_per_s, replayed, saturated
from sim.studies.shortened import shortened
from sim.systems import system
from sim.workload import Trace

MAX_REQUESTS = 10_000


class Margin(NamedTuple):
    """One control of an operator, and where to try it."""

    field: str
    label: str
    values: tuple[float, ...]
    protects: str


SEATS = Margin(
    "scheduler.max_num_seqs",
    "max_num_seqs (requests)",
    (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512, 1024),
    "concurrency: fewer answers grow at once",
)
WATERMARK = Margin(
    "scheduler.watermark",
    "watermark (share of KV blocks)",
    (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5),
    "KV headroom: blocks that admission leaves free",
)
BUDGET = Margin(
    "scheduler.max_num_batched_tokens",
    "token budget (max_num_batched_tokens)",
    (256, 512, 1024, 2048, 4096, 8192, 16384),
    "not memory: the work of a step, so how long prefill holds up decoding",
)
MARGINS = {"seats": SEATS, "watermark": WATERMARK, "budget": BUDGET}


class MarginPoint(NamedTuple):
    """One value of one control."""

    value: float
    preempted: float  # share of requests that were preempted
    recomputed: float  # share of processed tokens that were computed again
    output_tokens_per_s: float  # saturated: between 10 % and 90 % of the output
    tpot_p99_s: float  # NaN where too few
    ttft_p99_s: float
    attainment: float  # as asked; NaN without limits


def margins_of(scenario: Scenario) -> dict[str, Margin]:
    """The controls that the scenario's scheduler reads."""
    if "watermark" not in system(scenario.scheduler.system).knobs:
        return {key: each for key, each in MARGINS.items() if each is not WATERMARK}
    return MARGINS


def present_value(scenario: Scenario, margin: Margin) -> float:
    """Where a control stands, defaults filled in."""
    return float(getattr(resolve(scenario), margin.field.rpartition(".")[2]))


def values_of(scenario: Scenario, margin: Margin) -> list[float]:
    """Values to try, the present one among them."""
    return sorted({*margin.values, present_value(scenario, margin)})


def margin_point(
    scenario: Scenario, margin: Margin, value: float, trace: Trace | None = None, *, is_saturated: bool = False
) -> MarginPoint | None:
    """Run one value of one control.

    Returns
    -------
    MarginPoint or None
        None where the server does not take the value: a token budget below its seats.
    """
    whole = value if margin is WATERMARK else int(value)
    try:
        changed = with_values(shortened(scenario, MAX_REQUESTS), {margin.field: whole})
        asked = saturated(changed) if is_saturated else changed
        result = simulate(asked, replayed(asked, trace))
    except ScenarioError:
        return None
    figures = result.summary()["metrics"]
    return MarginPoint(
        value,
        figures["preempted_requests"] / len(result.is_finished),
        figures["recompute_share"] or 0.0,
        plateau_tokens_per_s(result) if is_saturated else figures["output_tokens_per_s"] or 0.0,
        p99(result.tpot_s),
        p99(result.ttft_s),
        float("nan") if is_saturated or result.limits.is_empty else result.attainment.share,
    )
