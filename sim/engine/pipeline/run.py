"""From Python into the loop of a pipeline and back."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sim.engine.accounts import TIME_ROWS
from sim.engine.first_state import first_tape, inputs_of
from sim.engine.general import state as more_st
from sim.engine.general.choices import GeneralRules, Hints, Queue, whole
from sim.engine.general.first_state import first_state
from sim.engine.general.told import rules_record, told, told_pool
from sim.engine.inputs import Requests, StepTime
from sim.engine.pipeline.loop import advance, settle
from sim.engine.pipeline.state import first_flight, stage_times_of
from sim.engine.retries import order_of
from sim.engine.run import FIRST_RECORDED_ROWS, Run, async_columns_of, drive, run_of
from sim.engine.state import Tape


def run_pipeline(
    rules: GeneralRules,
    requests: Requests,
    hints: Hints,
    stages: Sequence[StepTime],
    *,
    until_s: float = np.inf,
    max_calls: int | None = None,
    record_steps: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> Run:
    """Simulate all requests on one engine whose layers are dealt over stages.

    Parameters and result as of `sim.engine.run`, with the step time of each stage; what a stage sends to the next is
    in its own. The time rows of the result add up to duration x stages.
    """
    rules = whole(rules)
    record, hinted = rules_record(rules), told(hints)
    inputs = inputs_of(requests, stages[0].linear_s)
    state, more = first_state(rules, requests, inputs, len(hints.weight), np.zeros((1, 1)))
    pool = told_pool(requests, inputs, hinted, np.zeros((1, 1)))
    flight = first_flight(rules, len(requests.prompt_len), len(state.slots), len(TIME_ROWS))
    times = stage_times_of(stages)
    tape = first_tape(FIRST_RECORDED_ROWS if record_steps else 0, len(state.slots))
    users, until_s = int(requests.users), float(until_s)

    def advance_by(calls: int, tape: Tape) -> int:
        limits = until_s, calls, bool(record_steps)
        return int(advance(record, inputs, hinted, pool, users, times, state, more, flight, tape, *limits))

    stop, tape = drive(advance_by, state, tape, max_calls, on_progress)
    settle(state)
    order = order_of(pool.rows, requests, inputs.arrival_s, state)
    run = run_of(rules, state, stop, tape if record_steps else None, order)
    count = state.counts
    counters = {
        "swaps": int(count[more_st.SUM_SWAPPED]),
        "oom_count": 0,  # `fail` is refused here
        "aborted": int(count[more_st.SUM_ABORTED]),
        "promotions": 0,  # as are orders that displace
    }
    service = more.counter[:, 0].copy() if rules.queue == Queue.CLASS else None
    columns = async_columns_of(state, tape) if record_steps else None
    return replace(run, counters=run.counters | counters, service=service, async_columns=columns)
