"""Everything a page shows of one run, as plain numbers: small enough to keep, ready to draw."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sim.cost import Band, band
from sim.result import Result
from sim.scenario import Scenario
from sim.simulate import simulate
from sim.studies.load_curve import LoadPoint, load_of, point_of
from sim.studies.saturated import replayed, saturated
from sim.view.curves import Distribution, OverTime, distributions, over_time
from sim.workload import Trace


class RunView(NamedTuple):
    """One run, as a page shows it."""

    scenario: Scenario  # as it was run: saturated, if that was asked
    summary: dict[str, Any]  # see sim.summary; with `plateau_tokens_per_s` where saturated
    over_time: OverTime
    distributions: dict[str, Distribution]  # "TPOT", "TTFT", "ITL"
    cost_band: Band
    operating: LoadPoint | None  # where it stands on the load curve; None where all requests come at once


def run_view(
    scenario: Scenario,
    trace: Trace | None = None,
    *,
    is_saturated: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> RunView:
    """Run a scenario and keep what a page shows of it.

    Parameters
    ----------
    scenario : Scenario
    trace : Trace, optional
        Its lengths are used; its arrivals too, where the scenario's are of kind `trace`.
    is_saturated : bool
        Let every request wait from the start.
    on_progress : callable, optional
        Called many times a second with the share of requests finished; what it raises ends the run.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    asked = saturated(scenario) if is_saturated else scenario
    result = simulate(asked, replayed(asked, trace), on_progress=on_progress)
    return view_of(result, trace, is_saturated=is_saturated)


def view_of(result: Result, trace: Trace | None = None, *, is_saturated: bool = False) -> RunView:
    """What a page shows of a result."""
    summary = result.summary()
    if is_saturated:
        summary["plateau_tokens_per_s"] = summary["metrics"]["plateau_tokens_per_s"]
    load = load_of(result.scenario, trace)
    operating = None if load is None else point_of(result, load)
    return RunView(result.scenario, summary, over_time(result), distributions(result), band(result.scenario), operating)
