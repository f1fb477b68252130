"""The naive simulator behind the engine's signature: the same step table and outcomes, built from lists."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sim.engine import Outcome, StepTable
from sim.engine.accounts import Status
from sim.engine.inputs import Requests, Rules, StepTime
from sim.vllm_releases import NEWEST, VllmRelease
from tests.naive import Call, Moment, NaiveRun, simulate
from tests.naive_state import Member


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
    release: VllmRelease = NEWEST,
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
    naive = simulate(rules, requests, step_time, release=release, until=until_s, max_calls=most, observe=add_memory)
    return NaiveTables(outcome_of(naive, held), step_table(naive.calls), naive.duration)


def step_table(calls: list[Call]) -> StepTable:
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


def outcome_of(naive: NaiveRun, memory_token_s: np.ndarray) -> Outcome:
    """Per-request results, each from the list of calls or of token times."""
    members, times = naive.members, naive.token_times
    first_scheduled, pause = _scheduling_times(naive)
    return Outcome(
        arrival_s=np.array([member.arrival for member in members]),
        status=np.array([_status(member) for member in members], np.int8),
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


def _status(member: Member) -> Status:
    if member.is_rejected:
        return Status.REJECTED
    return Status.FINISHED if member.is_done else Status.UNFINISHED


def _scheduling_times(naive: NaiveRun) -> tuple[list[float], list[float]]:
    """First start of service, and the time spent preempted."""
    first, pause = [math.nan] * len(naive.members), [0.0] * len(naive.members)
    paused_since: dict[int, float] = {}
    for call in naive.calls:
        for chunk in call.scheduled:
            if math.isnan(first[chunk.id]):
                first[chunk.id] = call.start
            pause[chunk.id] += call.start - paused_since.pop(chunk.id, call.start)
        for i, _ in call.preempted:
            paused_since[i] = call.start
    return first, pause


def _starts(lists: list[list[Any]]) -> np.ndarray:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)
