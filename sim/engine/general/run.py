"""From Python into the general loop and back."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sim.engine.first_state import first_tape, inputs_of
from sim.engine.general import state as more_st
from sim.engine.general.choices import GeneralRules, Hints, Queue, whole
from sim.engine.general.first_state import first_state
from sim.engine.general.loop import advance
from sim.engine.general.settle import settle
from sim.engine.general.told import rules_record, told, told_pool
from sim.engine.inputs import Refinement, Requests, StepTime
from sim.engine.retries import order_of
from sim.engine.run import FIRST_RECORDED_ROWS, Run, drive, run_of
from sim.engine.state import Tape

NOTHING_REFINED = Refinement(0, 1, 1, 1.0, np.zeros((1, 1), np.int64), np.ones((1, 1)))


def run_general(
    rules: GeneralRules,
    requests: Requests,
    hints: Hints,
    step_time: StepTime,
    refinement: Refinement | None = None,
    *,
    posterior: np.ndarray | None = None,
    until_s: float = np.inf,
    max_calls: int | None = None,
    record_steps: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> Run:
    """Simulate all requests on one engine; parameters and result as of `sim.engine.run`."""
    rules = whole(rules)
    record, hinted = rules_record(rules), told(hints)
    inputs = inputs_of(requests, step_time.linear_s)
    refinement = refinement or NOTHING_REFINED
    belief = np.zeros((1, 1)) if posterior is None else np.array(posterior, np.float64)
    state, more = first_state(rules, requests, inputs, len(hints.weight), belief)
    pool = told_pool(requests, inputs, hinted, belief)
    until_s = float(until_s)
    tape = first_tape(FIRST_RECORDED_ROWS if record_steps else 0, len(state.slots))
    numbers = (int(requests.users), float(step_time.beyond_s), float(step_time.kv_s), float(step_time.attention_s))

    def advance_by(steps: int, tape: Tape) -> int:
        limits = until_s, steps, bool(record_steps)
        return int(advance(record, inputs, hinted, pool, refinement, *numbers, state, more, tape, *limits))

    stop, tape = drive(advance_by, state, tape, max_calls, on_progress)
    settle(inputs, state)
    order = order_of(pool.rows, requests, inputs.arrival_s, state)
    run = run_of(rules, state, stop, tape if record_steps else None, order)
    count = state.counts
    counters = {
        "swaps": int(count[more_st.SUM_SWAPPED]),
        "oom_count": int(count[more_st.SUM_OUT_OF_MEMORY]),
        "aborted": int(count[more_st.SUM_ABORTED]),
        "promotions": int(count[more_st.SUM_GUARDED]),
    }
    service = more.counter[:, 0].copy() if rules.queue == Queue.CLASS else None
    return replace(run, counters=run.counters | counters, service=service)
