"""The naive simulators behind the engine's signature: the same step tables and outcomes, built from lists."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sim.engine import AsyncColumns, Outcome, StepTable
from sim.engine.accounts import Status
from sim.engine.inputs import Requests, Rules, StepTime
from tests.naive import asynchronous as naive_async
from tests.naive.asynchronous import AsyncCall
from tests.naive.state import Member
from tests.naive.synchronous import Call, Moment, simulate
from tests.naive.vllm import VllmScheduler


class NaiveTables(NamedTuple):
    """The parts of `engine.Run` that the naive simulator knows."""

    outcome: Outcome
    steps: StepTable
    duration_s: float


def run(
    rules: Rules,
    requests: Requests,
    step_time: StepTime,
    *,
    until_s: float = math.inf,
    max_calls: int | None = None,
) -> Any:
    """What `engine.run` is asked to return, from the naive simulator."""
    held = np.zeros(len(requests.prompt_len))

    def add_memory(moment: Moment) -> None:
        for member in moment.scheduler.running:
            if not member.is_done:  # what a finished member of a held batch keeps is in the ledger's own row
                held[member.id] += member.computed * (moment.end - moment.start)

    most = math.inf if max_calls is None else max_calls
    naive = simulate(rules, requests, step_time, until=until_s, max_calls=most, observe=add_memory)
    outcome = outcome_of(naive.members, naive.calls, naive.token_times, held)
    return NaiveTables(outcome, step_table(naive.calls), naive.duration)


class NaiveAsyncTables(NamedTuple):
    """The same for the asynchronous loop."""

    outcome: Outcome
    steps: StepTable
    async_columns: AsyncColumns
    duration_s: float


def run_async(
    rules: Rules,
    requests: Requests,
    step_time: StepTime,
    *,
    pause: float = 0.0,
    max_calls: int | None = None,
) -> Any:
    """The same as `run` for the asynchronous loop."""
    held = np.zeros(len(requests.prompt_len))

    def add_memory(start: float, end: float, scheduler: VllmScheduler) -> None:
        for member in scheduler.running:
            held[member.id] += member.computed * (end - start)

    most = math.inf if max_calls is None else max_calls
    naive = naive_async.simulate(rules, requests, step_time, pause=pause, max_calls=most, observe=add_memory)
    outcome = outcome_of(naive.members, naive.calls, naive.token_times, held)
    return NaiveAsyncTables(outcome, step_table(naive.calls), async_columns(naive), naive.duration)


def async_columns(naive: naive_async.NaiveAsyncRun) -> AsyncColumns:
    """What only the asynchronous loop records."""
    late, dropped = ([getattr(call.applied, name) for call in naive.calls] for name in ("late", "dropped"))
    return AsyncColumns(
        called_s=np.array([call.called for call in naive.calls]),
        placeholders=np.array([call.placeholders for call in naive.calls], np.int64),
        applied_after=np.array([call.applied_after for call in naive.calls], np.int64),
        late_start=_starts(late),
        late=np.array([i for each in late for i in each], np.int64),
        dropped_start=_starts(dropped),
        dropped=np.array([i for each in dropped for i in each], np.int64),
        num_calls=naive.num_calls,
    )


def step_table(calls: Sequence[Call | AsyncCall]) -> StepTable:
    """The engine's arrays for a list of calls."""
    return StepTable(
        start_s=np.array([call.start for call in calls]),
        end_s=np.array([call.end for call in calls]),
        running=np.array([call.running for call in calls], np.int64),
        waiting=np.array([call.waiting for call in calls], np.int64),
        free_scheduled=np.array([call.free_scheduled for call in calls], np.int64),
        free_end=np.array([call.free_end for call in calls], np.int64),
        scheduled_start=_starts([call.scheduled for call in calls]),
        scheduled=np.array([chunk for call in calls for chunk in call.scheduled], np.int64).reshape(-1, 4),
        preempted_start=_starts([call.preempted for call in calls]),
        preempted=np.array([loss for call in calls for loss in call.preempted], np.int64).reshape(-1, 2),
        finished_start=_starts([call.finished for call in calls]),
        finished=np.array([i for call in calls for i in call.finished], np.int64),
    )


def outcome_of(
    members: list[Member], calls: Sequence[Call | AsyncCall], times: list[list[float]], memory_token_s: np.ndarray
) -> Outcome:
    """Per-request results, each from the list of calls or of token times."""
    first_scheduled, pause = _scheduling_times(len(members), calls)
    return Outcome(
        arrival_s=np.array([member.arrival for member in members]),
        status=np.array([_status(member, each) for member, each in zip(members, times, strict=True)], np.int8),
        first_scheduled_s=np.array(first_scheduled),
        first_token_s=np.array([each[0] if each else math.nan for each in times]),
        last_token_s=np.array([each[-1] if each else math.nan for each in times]),
        emitted=np.array([member.emitted for member in members], np.int32),
        num_preemptions=np.array([member.num_preemptions for member in members], np.int32),
        recomputed_tokens=np.array([member.recomputed for member in members], np.int32),
        pause_s=np.array(pause),
        max_itl_s=np.array([max((b - a for a, b in pairwise(each)), default=0.0) for each in times]),
        memory_token_s=memory_token_s,
        cached_tokens=np.array([member.first_cached or 0 for member in members], np.int32),
    )


def _status(member: Member, token_times: list[float]) -> Status:
    """A request is finished when its answer is delivered: with batch delivery that is when the batch ends."""
    if member.is_rejected:
        return Status.REJECTED
    return Status.FINISHED if member.is_done and token_times else Status.UNFINISHED


def _scheduling_times(num_members: int, calls: Sequence[Call | AsyncCall]) -> tuple[list[float], list[float]]:
    """First start of service, and the time spent preempted."""
    first, pause = [math.nan] * num_members, [0.0] * num_members
    paused_since: dict[int, float] = {}
    for call in calls:
        for chunk in call.scheduled:
            if math.isnan(first[chunk.id]):
                first[chunk.id] = call.start
            pause[chunk.id] += call.start - paused_since.pop(chunk.id, call.start)
        for i, _ in call.preempted:
            paused_since[i] = call.start
    return first, pause


def _starts(lists: list[list[Any]]) -> np.ndarray:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)
