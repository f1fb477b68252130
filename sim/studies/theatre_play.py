"""A short run of a scenario, recorded step by step and put back together."""

from typing import NamedTuple

import numpy as np

from sim.engine import AsyncColumns, StepTable
from sim.engine.accounts import Status
from sim.engine.inputs import Order
from sim.engine.rules import rules_of
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.saturated import replayed, saturated
from sim.studies.theatre import Life, Requests, lives
from sim.studies.theatre_scene import Stall, lanes, queues, worst_stall
from sim.systems import PREEMPTIVE_ORDERS, SYSTEMS
from sim.systems.warm_up import FIRST, loop_of
from sim.workload import Trace

MAX_REQUESTS = 300
MAX_STEPS = 6_000


class Play(NamedTuple):
    """Everything that a step-by-step picture shows. Requests and steps are numbered from 0."""

    result: Result
    table: StepTable  # its first `MAX_STEPS` rows
    num_steps: int  # of the whole run
    found: list[Life]
    lanes: list[int]
    queues: list[tuple[int, list[int]]]
    is_in_service_order: bool  # whether the queues are; else they are in order of arrival
    stall: Stall | None  # None too where all tokens of an answer come at once


def play(
    scenario: Scenario, trace: Trace | None = None, *, is_saturated: bool = False, num_requests: int = MAX_REQUESTS
) -> Play:
    """Run the first requests of a scenario and record every step.

    Parameters
    ----------
    scenario : Scenario
    trace : Trace, optional
    is_saturated : bool
        All requests wait from the start.
    num_requests : int
        At most `MAX_REQUESTS` are taken.

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    asked = saturated(scenario) if is_saturated else scenario
    few = min(num_requests, MAX_REQUESTS, asked.workload.num_requests)
    short = with_values(asked, {"workload.num_requests": few})
    rows = replayed(short, None if trace is None else trace.head(min(num_requests, MAX_REQUESTS)))
    return play_of(simulate(short, rows, record_steps=True))


def play_of(result: Result) -> Play:
    """A run that recorded its steps, put back together."""
    assert result.run.steps is not None
    num_steps = len(result.run.steps.start_s)
    table = first_steps(result.run.steps, MAX_STEPS)
    columns = result.run.async_columns
    requests = requests_of(result)
    knobs = result.scenario.scheduler
    found = lives(
        table,
        requests,
        is_held=knobs.holds_batches,
        is_restarted=knobs.choices.eviction == "restart" or (knobs.choices.order == "planned" and knobs.recollect),
        chooses_anew=knobs.choices.order in PREEMPTIVE_ORDERS,
        columns=columns and _first_calls(columns, len(table.start_s)),
        is_overlapped=SYSTEMS[knobs.system].engine == "sglang" and not knobs.sglang.disable_overlap_schedule,
    )
    stall = None if result.is_batch_delivery else worst_stall(found, table.end_s)
    is_known = is_order_told(result)
    waiting = queues(found, requests, table, by_arrival=not is_known)
    return Play(result, table, num_steps, found, lanes(found), waiting, is_known, stall)


def is_order_told(result: Result) -> bool:
    """Whether the step table says in which order the waiting are served.

    Releases of vLLM that pass over a prompt too long for what is left of the budget put those passed over back in
    reversed order, and the table does not name them.
    """
    if loop_of(result.scenario) != FIRST:
        return False
    rules = rules_of(result.scenario, result.resolved)
    passes_over = rules.skip_oversized and not rules.chunked_prefill and rules.order == Order.FCFS
    return not passes_over


def requests_of(result: Result) -> Requests:
    """What the table does not say about a run's requests."""
    priority = result.inputs.priority
    has_priority = result.scenario.scheduler.scheduling_policy == "priority"
    return Requests(
        result.run.outcome.arrival_s,
        result.inputs.prompt_len,
        result.inputs.output_len,
        priority if has_priority else np.zeros_like(priority),
        result.run.outcome.status == Status.REJECTED,
        np.where(result.is_aborted, result.left_s, np.nan) if result.is_aborted.any() else None,
    )


def first_steps(table: StepTable, num_steps: int) -> StepTable:
    """The table's first rows, with their lists."""
    if len(table.start_s) <= num_steps:
        return table
    cut = {}
    for name, column in table._asdict().items():
        if f"{name}_start" in table._fields:
            cut[name] = column[: getattr(table, f"{name}_start")[num_steps]]
        else:
            cut[name] = column[: num_steps + name.endswith("_start")]
    return StepTable(**cut)


def _first_calls(columns: AsyncColumns, num_steps: int) -> AsyncColumns:
    """The columns that are read here, cut like the table."""
    last = num_steps - 1
    return columns._replace(
        called_s=columns.called_s[:num_steps], applied_after=np.minimum(columns.applied_after[:num_steps], last)
    )
