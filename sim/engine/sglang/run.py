"""From Python into the kernels and back: one run of one SGLang server."""

from collections.abc import Callable

import numpy as np

from sim.engine import state as st
from sim.engine.inputs import Ints, Requests, StepTime
from sim.engine.loop import Stop
from sim.engine.retries import order_of
from sim.engine.run import (
    CALLS_AT_ONCE,
    FIRST_RECORDED_ROWS,
    FRUITLESS_ROUNDS,
    Outcome,
    Run,
    StepTable,
    counters_of,
    doubled,
    is_fruitful,
)
from sim.engine.sglang.deal import sglang_pool
from sim.engine.sglang.first_state import sglang_inputs, sglang_state, sglang_tape
from sim.engine.sglang.inputs import SglangRules, plain_rules
from sim.engine.sglang.loop import advance, settle
from sim.engine.sglang.state import (
    EMITTED,
    T_FREE_END,
    T_FREE_SCHEDULED,
    T_NUM_FINISHED,
    T_PREEMPTED,
    T_RUNNING,
    T_SCHEDULED,
    T_WAITING,
    SglangState,
    SglangTape,
)
from sim.engine.sglang.tree_room import lacks_nodes, with_more_nodes

UNIT_STEP = StepTime(np.ones(2), 0.0, 0.0, 0.0)


def run(
    rules: SglangRules,
    requests: Requests,
    step_time: StepTime,
    *,
    ignore_eos: np.ndarray | None = None,
    until_s: float = np.inf,
    record_steps: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> Run:
    """Simulate all requests on one SGLang server.

    Parameters
    ----------
    rules : SglangRules
    ignore_eos : (n,) bool, optional
        Requests that produce `cap` tokens whatever their `output_len` says. None: nobody.
    until_s : float
        Seconds after the first arrival at which no further iteration begins.
    record_steps : bool
        Keep the full step table.
    on_progress : callable, optional
        Called about every 10 ms with the share of requests done.
    """
    state, tape, stop, order = simulate(
        rules,
        requests,
        step_time,
        ignore_eos=ignore_eos,
        until_s=until_s,
        counted=False,
        recording=record_steps,
        on_progress=on_progress,
    )
    return run_of(rules, state, stop, tape if record_steps else None, order)


def count_iterations(
    rules: SglangRules, requests: Requests, ignore_eos: np.ndarray
) -> tuple[SglangState, SglangTape, Stop]:
    """Simulate with arrivals that are numbers of iterations, as in a golden; every iteration is on the tape."""
    return simulate(rules, requests, UNIT_STEP, ignore_eos=ignore_eos, counted=True, recording=True)[:3]


def simulate(
    rules: SglangRules,
    requests: Requests,
    step_time: StepTime,
    *,
    ignore_eos: np.ndarray | None,
    counted: bool,
    recording: bool,
    until_s: float = np.inf,
    on_progress: Callable[[float], None] | None = None,
) -> tuple[SglangState, SglangTape, Stop, Ints | None]:
    """The final state, what was recorded, why the run ended, and the order of requests as of `order_of`."""
    rules = plain_rules(rules)
    n = len(requests.prompt_len)
    inputs = sglang_inputs(requests, step_time.linear_s, counted=counted)
    ends_at_cap = np.zeros(n, np.bool_) if ignore_eos is None else ignore_eos
    state = sglang_state(rules, requests, inputs.arrival_s, ends_at_cap)
    pool = sglang_pool(requests, inputs, state)
    seats = state.lists.shape[1]
    tape = sglang_tape(FIRST_RECORDED_ROWS if recording else 0, seats)
    numbers = (int(requests.users), float(step_time.beyond_s), float(step_time.kv_s), float(step_time.attention_s))
    fruitless = 0
    while True:
        before = state.counts.copy()
        limits = float(until_s), CALLS_AT_ONCE, bool(counted), bool(recording)
        stop = Stop(advance(rules, inputs, pool, *numbers, state, tape, *limits))
        if on_progress is not None:
            on_progress(float(state.counts[st.NUM_DONE]) / n)
        if stop == Stop.FULL:
            if lacks_nodes(rules, seats, state.nodes, state.counts):
                state = with_more_nodes(rules, state)
            else:
                tape = SglangTape(**doubled(tape._asdict()))
        elif stop == Stop.CALLS:
            fruitless = 0 if is_fruitful(before, state.counts) else fruitless + 1
            if fruitless == FRUITLESS_ROUNDS:
                stop = Stop.STUCK
                break
        else:
            break
    settle(state.req, state.out_s, state.bins, state.counts, state.real)
    return state, tape, stop, order_of(pool.rows, requests, inputs.arrival_s, state)


def run_of(rules: SglangRules, state: SglangState, stop: Stop, tape: SglangTape | None, order: Ints | None) -> Run:
    """Collect a run from the final state."""
    num_requests = len(state.req) if order is None else len(order)
    s, n, req = state.out_s[:num_requests], state.out_n[:num_requests], state.req[:num_requests]
    return Run(
        outcome=Outcome(
            arrival_s=s[:, st.ARRIVAL_S],
            status=n[:, st.STATUS],
            first_scheduled_s=s[:, st.FIRST_SCHEDULED_S],
            first_token_s=s[:, st.FIRST_TOKEN_S],
            last_token_s=s[:, st.LAST_TOKEN_S],
            emitted=req[:, EMITTED],
            num_preemptions=n[:, st.PREEMPTED],
            recomputed_tokens=n[:, st.RECOMPUTED],
            pause_s=s[:, st.PAUSE_S],
            max_itl_s=s[:, st.MAX_ITL_S],
            memory_token_s=s[:, st.MEMORY_TOKEN_S],
            cached_tokens=n[:, st.CACHED],
        ),
        bins=state.bins[: int(state.counts[st.BIN]) + 1].copy(),
        bin_width_s=float(state.real[st.BIN_WIDTH]),
        gap_count=state.gap_hist[:, 0].copy(),
        gap_sum=state.gap_hist[:, 1].copy(),
        duration_s=float(state.real[st.CLOCK]),
        counters=counters_of(state.counts),
        stop=stop,
        order=order,
        steps=None if tape is None else step_table_of(state, tape),
    )


def step_table_of(state: SglangState, tape: SglangTape) -> StepTable:
    """The recorded steps, cut to their number. Free blocks are free pages, those with cached content included."""
    steps = int(state.counts[st.STEPS_RECORDED])
    n = tape.numbers[:steps]
    finished = starts(n[:, T_NUM_FINISHED])
    return StepTable(
        start_s=tape.times_s[:steps, 0],
        end_s=tape.times_s[:steps, 1],
        running=n[:, T_RUNNING],
        waiting=n[:, T_WAITING],
        free_scheduled=n[:, T_FREE_SCHEDULED],
        free_end=n[:, T_FREE_END],
        scheduled_start=np.append(n[:, T_SCHEDULED], state.counts[st.SCHEDULED_RECORDED]),
        scheduled=tape.scheduled[: state.counts[st.SCHEDULED_RECORDED]],
        preempted_start=np.append(n[:, T_PREEMPTED], state.counts[st.PREEMPTED_RECORDED]),
        preempted=tape.preempted[: state.counts[st.PREEMPTED_RECORDED]],
        finished_start=finished,
        finished=tape.finished[: finished[-1]],
    )


def starts(sizes: Ints) -> Ints:
    """Where lists of these sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
