"""One scenario in, one result out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sim.deployment import Resolved
    from sim.engine.inputs import Requests
    from sim.result import Result
    from sim.scenario import Scenario
    from sim.workload import RequestInfo, Trace


def simulate(
    scenario: "Scenario",
    trace: "Trace | None" = None,
    *,
    record_steps: bool = False,
    on_progress: Callable[[float], None] | None = None,
    replication: int = 0,
) -> "Result":
    """Run a scenario.

    Parameters
    ----------
    scenario : Scenario
    trace : Trace, optional
        Requests to replay; needed where the scenario's arrivals are of kind `trace`.
    record_steps : bool
        Keep the full step table: what every call of the scheduler decided. Costs memory by the step.
    on_progress : callable, optional
        Called about ten times a second with the share of requests finished, 0 to 1.
    replication : int
        Which of the scenario's independent repetitions. The same number draws the same random numbers.

    Returns
    -------
    Result

    Raises
    ------
    ScenarioError
        If the scenario cannot run, in one sentence that names field, value and limit.
    """
    # Imported here because numba, pydantic and pandas take most of a second, and `longtail --help` needs none.
    from sim.deployment import resolve
    from sim.workload import make_requests

    longest = resolve(scenario).max_model_len
    requests, info = make_requests(scenario, trace, max_model_len=longest, replication=replication)
    return simulate_requests(
        scenario, requests, info, record_steps=record_steps, on_progress=on_progress, replication=replication
    )


def simulate_requests(
    scenario: "Scenario",
    requests: "Requests",
    info: "RequestInfo",
    *,
    record_steps: bool = False,
    on_progress: Callable[[float], None] | None = None,
    replication: int = 0,
    limits: "Resolved | None" = None,
) -> "Result":
    """Run a scenario's server on requests that were made, and perhaps changed, before.

    Parameters
    ----------
    requests, info
        As `make_requests` returns them. The scenario's own workload is not drawn again.
    replication
        Whose random numbers the predictor draws.
    limits
        Memory, seats and budget to run under instead of what the scenario's deployment comes to.
    """
    from sim.cost import stage_times, step_time
    from sim.deployment import resolve
    from sim.result import Result
    from sim.systems.build import plan_of
    from sim.systems.run import run_plan
    from sim.workload.retries import in_order, with_retries

    resolved = limits or resolve(scenario)
    step = step_time(scenario)
    requests, info = with_retries(
        requests,
        info,
        scenario.workload,
        max_model_len=resolved.max_model_len,
        tail_quantile=scenario.tail_quantile,
    )
    outcome = run_plan(
        plan_of(scenario, resolved, requests, info, step, replication),
        requests,
        step,
        stage_times(scenario),
        until_s=float("inf") if scenario.max_sim_time_s is None else scenario.max_sim_time_s,
        record_steps=record_steps,
        on_progress=on_progress,
    )
    if outcome.order is not None:
        requests, info = in_order(requests, info, outcome.order)
    return Result(scenario, resolved, requests, info, outcome)
