"""A run as the table of format `longtail-vllm-golden/1`. Source: golden README, section 1."""

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.engine import Run, StepTable
from sim.engine.accounts import Status
from sim.engine.inputs import Floats, Ints
from sim.golden.vllm_format import REQUEST_CELLS, STEP_CELLS

Pairs = list[list[int]]


def table_of(run: Run, row_of: Ints, first_arrival: float, on_step_clock: bool, detail: str) -> dict[str, Any]:
    """Steps, requests, status and summary of a run, in the golden's words.

    Parameters
    ----------
    run : Run
        With its steps recorded.
    row_of : (n,) int64
        The golden's row of each request of the run.
    first_arrival : float
        Where the golden's clock stands when the run's clock is 0.
    on_step_clock : bool
        Steps are named by the clock's value, else by their number.
    detail : str
        `full` or `aggregate`.
    """
    steps = run.steps
    if steps is None:
        raise ValueError("the run has no step table; record_steps is needed")
    start = _whole_numbers(steps.start_s + first_arrival)
    names = start if on_step_clock else list(range(len(start)))
    times = [None] * len(start) if on_step_clock else start
    cells = _full_cells if detail == "full" else _aggregate_cells
    step_rows = [[name, time, *row] for name, time, row in zip(names, times, cells(steps, row_of), strict=True)]
    request_rows = _request_rows(run, steps, names, None if on_step_clock else first_arrival)
    is_complete = bool((run.outcome.status != Status.UNFINISHED).all())
    return {
        "steps": {"columns": list(STEP_CELLS[detail]), "rows": step_rows},
        "requests": {"columns": list(REQUEST_CELLS), "rows": [request_rows[i] for i in np.argsort(row_of)]},
        "status": "complete" if is_complete else "truncated",
        "summary": _summary(run, steps),
    }


def _full_cells(steps: StepTable, row_of: Ints) -> Iterator[list[Any]]:
    for k, (scheduled, preempted, finished) in enumerate(_lists(steps, row_of)):
        running, waiting, free_scheduled, free_end = _counts(steps, k)
        yield [scheduled, preempted, running, waiting, free_scheduled, finished, free_end]


def _aggregate_cells(steps: StepTable, row_of: Ints) -> Iterator[list[Any]]:
    for k, (scheduled, preempted, finished) in enumerate(_lists(steps, row_of)):
        running, waiting, free_scheduled, free_end = _counts(steps, k)
        tokens = sum(chunk[1] for chunk in scheduled)
        sizes = [len(scheduled), tokens, len(preempted), running, waiting, free_scheduled, len(finished), free_end]
        yield [*sizes, crc(scheduled, preempted, finished)]


def crc(scheduled: Pairs, preempted: Pairs, finished: list[int]) -> int:
    """CRC-32 of what a step did, over the text that the golden README defines."""
    parts = (
        ",".join(":".join(map(str, chunk)) for chunk in scheduled),
        ",".join(":".join(map(str, loss)) for loss in preempted),
        ",".join(map(str, finished)),
    )
    return zlib.crc32("|".join(parts).encode("ascii"))


def _lists(steps: StepTable, row_of: Ints) -> Iterator[tuple[Pairs, Pairs, list[int]]]:
    """Scheduled, preempted and finished of each step, with the golden's row numbers."""
    scheduled, preempted = steps.scheduled.copy(), steps.preempted.copy()
    scheduled[:, 0], preempted[:, 0] = row_of[scheduled[:, 0]], row_of[preempted[:, 0]]
    finished = row_of[steps.finished]
    starts = (steps.scheduled_start, steps.preempted_start, steps.finished_start)
    columns = (scheduled, preempted, finished)
    for k in range(len(steps.start_s)):
        chunks, losses, ends = (
            column[start[k] : start[k + 1]].tolist() for column, start in zip(columns, starts, strict=True)
        )
        yield chunks, losses, ends


def _counts(steps: StepTable, k: int) -> tuple[int, ...]:
    return tuple(int(column[k]) for column in (steps.running, steps.waiting, steps.free_scheduled, steps.free_end))


def _request_rows(run: Run, steps: StepTable, names: list[Any], first_arrival: float | None) -> list[list[Any]]:
    """One row a request of the run; `first_arrival` is None where time is not told."""
    outcome = run.outcome
    finish_s = np.where(outcome.status == Status.FINISHED, outcome.last_token_s, np.nan)
    first_step = _step_names(outcome.first_scheduled_s, steps.start_s, names)
    first_token_step = _step_names(outcome.first_token_s, steps.end_s, names)
    finish_step = _step_names(finish_s, steps.end_s, names)
    never = [None] * len(finish_s)
    finish_us = never if first_arrival is None else _whole_numbers(finish_s + first_arrival)
    cached = [None if step is None else int(n) for step, n in zip(first_step, outcome.cached_tokens, strict=True)]
    preemptions, emitted = outcome.num_preemptions.tolist(), outcome.emitted.tolist()
    columns = (first_step, first_token_step, finish_step, finish_us, preemptions, cached, emitted)
    return [list(row) for row in zip(*columns, strict=True)]


def _step_names(times: Floats, clock: Floats, names: list[Any]) -> list[Any]:
    """Names of the steps that start, or end, at these times; None for NaN."""
    places = np.minimum(np.searchsorted(clock, times), len(clock) - 1)
    return [None if np.isnan(time) else names[place] for time, place in zip(times, places, strict=True)]


def _whole_numbers(times: Floats) -> list[Any]:
    """As a golden writes times: whole numbers without a point; None for NaN."""
    return [None if np.isnan(t) else int(t) if t == int(t) else float(t) for t in times]


def _summary(run: Run, steps: StepTable) -> dict[str, int]:
    return {
        "calls": len(steps.start_s),
        "tokens": int(steps.scheduled[:, 1].sum()),
        "preemptions": int(run.outcome.num_preemptions.sum()),
        "recomputed_tokens": int(run.outcome.recomputed_tokens.sum()),
        "cached_tokens_first": int(run.outcome.cached_tokens.sum()),
    }
