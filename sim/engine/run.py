"""From Python into the kernels and back: one run of one engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sim.engine import state as st
from sim.engine.accounts import Status
from sim.engine.first_state import first_state, first_tape, inputs_of
from sim.engine.general.choices import GeneralRules
from sim.engine.inputs import Floats, Ints, Requests, Rules, StepTime
from sim.engine.loop import Stop, advance, settle
from sim.engine.retries import order_of, pool_of
from sim.engine.state import State, Tape

CALLS_AT_ONCE = 100_000  # scheduler calls between two reports of progress, some 10 ms
FIRST_RECORDED_ROWS = 1024
FRUITLESS_ROUNDS = 10  # a million calls without a token or an arrival: preemptions that undo each other for ever


class Outcome(NamedTuple):
    """What happened to each request; times in seconds since the first arrival."""

    arrival_s: Floats  # (n,) NaN: not yet arrived (closed loop)
    status: np.ndarray  # (n,) int32, `accounts.Status`
    first_scheduled_s: Floats  # (n,) NaN: never
    first_token_s: Floats  # (n,) NaN: never
    last_token_s: Floats  # (n,) newest token so far, so the finish of a finished request; NaN: none
    emitted: np.ndarray  # (n,) int32 tokens
    num_preemptions: np.ndarray  # (n,) int32
    recomputed_tokens: np.ndarray  # (n,) int32
    pause_s: Floats  # (n,) between preemption and resumption
    max_itl_s: Floats  # (n,) largest gap between two tokens, 0 where there are fewer than two
    memory_token_s: Floats  # (n,) integral of the KV tokens held
    cached_tokens: np.ndarray  # (n,) int32 found in the prefix cache at the first admission


class StepTable(NamedTuple):
    """One row a scheduler call; the lists of call `k` are rows `start[k]` to `start[k + 1]`.

    Asynchronous scheduling: calls that neither scheduled nor preempted have no row.
    """

    start_s: Floats  # (s,) when the call's step began
    end_s: Floats  # (s,)
    running: Ints  # (s,) right after scheduling, as the next two
    waiting: Ints  # (s,)
    free_scheduled: Ints  # (s,) blocks
    free_end: Ints  # (s,) blocks, after finished requests left
    scheduled_start: Ints  # (s + 1,)
    scheduled: Ints  # (m, 4) request, tokens, computed before, blocks held
    preempted_start: Ints  # (s + 1,)
    preempted: Ints  # (p, 2) request, tokens lost
    finished_start: Ints  # (s + 1,)
    finished: Ints  # (f,)


class AsyncColumns(NamedTuple):
    """What the step table of an asynchronous run holds beside `StepTable`, a row for each of its rows."""

    called_s: Floats  # (s,) when the call was made
    placeholders: Ints  # (s,) tokens ahead of all running requests, right after the call
    applied_after: Ints  # (s,) last row whose call was made before the outputs of this one were applied
    late_start: Ints  # (s + 1,)
    late: Ints  # (l,) requests preempted after the call that got its token all the same
    dropped_start: Ints  # (s + 1,)
    dropped: Ints  # (d,) requests that had ended before, so that their token was thrown away
    num_calls: int  # empty ones too


@dataclass(frozen=True)
class Run:
    """What the engine measured."""

    outcome: Outcome
    bins: Floats  # (k, len(Bin)); columns as in `accounts.Bin`
    bin_width_s: float
    gap_count: Floats  # (NUM_GAP_BINS,) gaps between tokens, pooled, by size
    gap_sum: Floats  # (NUM_GAP_BINS,) seconds
    duration_s: float  # first arrival to last finish, or to the stop
    counters: dict[str, int]
    stop: Stop
    steps: StepTable | None = None
    async_columns: AsyncColumns | None = None
    order: Ints | None = None  # (n,) row of each request in `Requests`; None: rows are in order of arrival
    service: Floats | None = None  # (task types,) where classes are served in turn: the counter of each


def run(
    rules: Rules,
    requests: Requests,
    step_time: StepTime,
    *,
    until_s: float = np.inf,
    max_calls: int | None = None,
    record_steps: bool = False,
    on_progress: Callable[[float], None] | None = None,
) -> Run:
    """Simulate all requests on one engine.

    Parameters
    ----------
    until_s : float
        Seconds after the first arrival at which no further iteration begins.
    max_calls : int, optional
        Stop after so many calls of the scheduler, even if it is stuck.
    record_steps : bool
        Keep the full step table.
    on_progress : callable, optional
        Called about every 10 ms with the share of requests done.
    """
    rules = plain_rules(rules)
    inputs = inputs_of(requests, step_time.linear_s)
    state, pool = first_state(rules, requests, inputs), pool_of(requests, inputs.asked)
    tape = first_tape(FIRST_RECORDED_ROWS if record_steps else 0, len(state.slots))
    numbers = (int(requests.users), float(step_time.beyond_s), float(step_time.kv_s), float(step_time.attention_s))

    def advance_by(calls: int, tape: Tape) -> int:
        return int(advance(rules, inputs, pool, *numbers, state, tape, float(until_s), calls, bool(record_steps)))

    stop, tape = drive(advance_by, state, tape, max_calls, on_progress)
    settle(
        inputs.asked,
        state.live,
        state.live_s,
        state.out_s,
        state.out_n,
        state.gap_stack,
        state.bins,
        state.counts,
        state.real,
    )
    order = order_of(pool, requests, inputs.arrival_s, state)
    return run_of(rules, state, stop, tape if record_steps else None, order)


def drive(
    advance_by: Callable[[int, Tape], int],
    state: State,
    tape: Tape,
    max_calls: int | None,
    on_progress: Callable[[float], None] | None,
) -> tuple[Stop, Tape]:
    """Call a loop until it is done, giving it room to record; why it stopped, and the tape."""
    calls_left = max_calls
    fruitless = 0
    while True:
        at_once = CALLS_AT_ONCE if calls_left is None else min(CALLS_AT_ONCE, calls_left)
        before = state.counts.copy()
        stop = Stop(advance_by(at_once, tape))
        if calls_left is not None:
            calls_left -= int(state.counts[st.PUSHED] - before[st.PUSHED])
        if on_progress is not None:
            on_progress(float(state.counts[st.NUM_DONE]) / len(state.out_n))
        if stop == Stop.CALLS:
            fruitless = 0 if is_fruitful(before, state.counts) else fruitless + 1
        if fruitless == FRUITLESS_ROUNDS and calls_left is None:
            stop = Stop.STUCK
        if stop == Stop.FULL:
            tape = with_more_room(tape)
        elif stop in (Stop.DONE, Stop.TIME) or (stop == Stop.STUCK and calls_left is None) or calls_left == 0:
            return stop, tape


def is_fruitful(before: Ints, after: Ints) -> bool:
    """Whether a token came out or somebody arrived in between."""
    return bool(after[st.SUM_OUTPUT] > before[st.SUM_OUTPUT] or after[st.ARRIVED] > before[st.ARRIVED])


def plain_rules(rules: Rules) -> Rules:
    """Rules of one type each, so that the loop compiles once."""
    whole = {name: int(value) for name, value in rules._asdict().items() if not name.endswith("_s")}
    return Rules(**whole, batch_wait_s=float(rules.batch_wait_s), pause_s=float(rules.pause_s))


def with_more_room(tape: Tape) -> Tape:
    """The same recording with twice the room."""
    return Tape(**doubled(tape._asdict()))


def doubled(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays of twice the length that begin with these."""
    longer = {}
    for name, old in columns.items():
        longer[name] = np.zeros((2 * len(old), *old.shape[1:]), old.dtype)
        longer[name][: len(old)] = old
    return longer


def run_of(rules: Rules | GeneralRules, state: State, stop: Stop, tape: Tape | None, order: Ints | None) -> Run:
    """Collect a run from the final state."""
    count = state.counts
    outcome = outcome_of(rules, state)
    last_bin = int(count[st.BIN]) + 1
    return Run(
        outcome=outcome if order is None else Outcome(*(column[: len(order)] for column in outcome)),
        bins=state.bins[:last_bin].copy(),
        bin_width_s=float(state.real[st.BIN_WIDTH]),
        gap_count=state.gap_hist[:, 0].copy(),
        gap_sum=state.gap_hist[:, 1].copy(),
        duration_s=float(state.real[st.CLOCK]),
        counters=counters_of(count),
        stop=stop,
        order=order,
        steps=None if tape is None else step_table_of(state, tape),
        async_columns=None if tape is None or not rules.is_async else async_columns_of(state, tape),
    )


def counters_of(count: Ints) -> dict[str, int]:
    """Totals of a run."""
    return {
        "calls": int(count[st.PUSHED]),
        "steps": int(count[st.SUM_STEPS]),
        "scheduled_tokens": int(count[st.SUM_TOKENS]),
        "output_tokens": int(count[st.SUM_OUTPUT]),
        "preemptions": int(count[st.SUM_PREEMPTED]),
        "blocks_allocated": int(count[st.SUM_BLOCKS]),
        "blocks_hit": int(count[st.SUM_HIT_BLOCKS]),
        "slot_steps_padding": int(count[st.SUM_PADDING]),
        "waiting_at_end": int(count[st.NUM_WAITING]),
        "running_at_end": int(count[st.NUM_RUNNING]),
    }


def outcome_of(rules: Rules | GeneralRules, state: State) -> Outcome:
    """Per-request columns; with batch delivery nothing is delivered before the batch ends."""
    s, n = state.out_s, state.out_n
    if rules.batch_delivery:
        s[n[:, st.STATUS] != Status.FINISHED, st.LAST_TOKEN_S] = np.nan
        s[n[:, st.STATUS] != Status.FINISHED, st.FIRST_TOKEN_S] = np.nan
    return Outcome(
        arrival_s=s[:, st.ARRIVAL_S],
        status=n[:, st.STATUS],
        first_scheduled_s=s[:, st.FIRST_SCHEDULED_S],
        first_token_s=s[:, st.FIRST_TOKEN_S],
        last_token_s=s[:, st.LAST_TOKEN_S],
        emitted=n[:, st.EMITTED],
        num_preemptions=n[:, st.PREEMPTED],
        recomputed_tokens=n[:, st.RECOMPUTED],
        pause_s=s[:, st.PAUSE_S],
        max_itl_s=s[:, st.MAX_ITL_S],
        memory_token_s=s[:, st.MEMORY_TOKEN_S],
        cached_tokens=n[:, st.CACHED],
    )


def step_table_of(state: State, tape: Tape) -> StepTable:
    """The recorded calls, cut to their number."""
    steps = int(state.counts[st.STEPS_RECORDED])
    n = tape.numbers[:steps]
    return StepTable(
        start_s=tape.times_s[:steps, 0],
        end_s=tape.times_s[:steps, 1],
        running=n[:, st.T_RUNNING],
        waiting=n[:, st.T_WAITING],
        free_scheduled=n[:, st.T_FREE],
        free_end=n[:, st.T_FREE_END],
        **recorded_list("scheduled", st.T_SCHEDULED, st.SCHEDULED_RECORDED, state, tape),
        **recorded_list("preempted", st.T_PREEMPTED, st.PREEMPTED_RECORDED, state, tape),
        **recorded_list("finished", st.T_FINISHED, st.FINISHED_RECORDED, state, tape),
    )


def async_columns_of(state: State, tape: Tape) -> AsyncColumns:
    """The recorded calls' asynchronous columns."""
    steps = int(state.counts[st.STEPS_RECORDED])
    return AsyncColumns(
        called_s=tape.times_s[:steps, 2],
        placeholders=tape.numbers[:steps, st.T_AHEAD],
        applied_after=tape.numbers[:steps, st.T_APPLIED_AFTER],
        num_calls=int(state.counts[st.PUSHED]),
        **recorded_list("late", st.T_LATE, st.LATE_RECORDED, state, tape),
        **recorded_list("dropped", st.T_DROPPED, st.DROPPED_RECORDED, state, tape),
    )


def recorded_list(name: str, start_column: int, total: int, state: State, tape: Tape) -> dict[str, np.ndarray]:
    """One list of the tape and where each call's part of it starts."""
    steps, size = int(state.counts[st.STEPS_RECORDED]), int(state.counts[total])
    return {f"{name}_start": np.append(tape.numbers[:steps, start_column], size), name: getattr(tape, name)[:size]}
