"""A run as the table of format `longtail-vllm-golden/1`. Source: golden README, section 1.

What the asynchronous format shares with it is public: lists, counts, request rows, totals.
"""

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.engine import Outcome, Run, StepTable
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
    start = whole_numbers(steps.start_s + first_arrival)
    names = start if on_step_clock else list(range(len(start)))
    times = [None] * len(start) if on_step_clock else start
    cells = _full_cells if detail == "full" else _aggregate_cells
    step_rows = [[name, time, *row] for name, time, row in zip(names, times, cells(steps, row_of), strict=True)]
    return {
        "steps": {"columns": list(STEP_CELLS[detail]), "rows": step_rows},
        "requests": requests_table(run.outcome, steps, row_of, names, None if on_step_clock else first_arrival),
        "status": status_of(run.outcome),
        "summary": {"calls": len(steps.start_s), **totals(run.outcome, steps)},
    }


def requests_table(
    outcome: Outcome, steps: StepTable, row_of: Ints, names: list[Any], first_arrival: float | None
) -> dict[str, Any]:
    """One row a request, in the golden's order; `first_arrival` is None where time is not told."""
    finish_s = np.where(outcome.status == Status.FINISHED, outcome.last_token_s, np.nan)
    is_working = np.diff(steps.scheduled_start) > 0  # a call that schedules nothing may begin when another does
    start_s, end_s = steps.start_s[is_working], steps.end_s[is_working]
    names = [name for name, works in zip(names, is_working, strict=True) if works]
    first_step = _step_names(outcome.first_scheduled_s, start_s, names)
    first_token_step = _step_names(outcome.first_token_s, end_s, names)
    finish_step = _step_names(finish_s, end_s, names)
    never = [None] * len(finish_s)
    finish_us = never if first_arrival is None else whole_numbers(finish_s + first_arrival)
    cached = [None if step is None else int(n) for step, n in zip(first_step, outcome.cached_tokens, strict=True)]
    preemptions, emitted = outcome.num_preemptions.tolist(), outcome.emitted.tolist()
    columns = (first_step, first_token_step, finish_step, finish_us, preemptions, cached, emitted)
    rows = [list(row) for row in zip(*columns, strict=True)]
    return {"columns": list(REQUEST_CELLS), "rows": [rows[i] for i in np.argsort(row_of)]}


def lists_of(steps: StepTable, row_of: Ints) -> Iterator[tuple[Pairs, Pairs, list[int]]]:
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


def counts_of(steps: StepTable, k: int) -> tuple[int, ...]:
    """Running, waiting, and free blocks after the call and at the end of the step."""
    return tuple(int(column[k]) for column in (steps.running, steps.waiting, steps.free_scheduled, steps.free_end))


def crc(scheduled: Pairs, preempted: Pairs, *ids: list[int]) -> int:
    """CRC-32 of what a step did, over the text that the golden README defines; `ids`: who finished and so on."""
    parts = (
        ",".join(":".join(map(str, chunk)) for chunk in scheduled),
        ",".join(":".join(map(str, loss)) for loss in preempted),
        *(",".join(map(str, each)) for each in ids),
    )
    return zlib.crc32("|".join(parts).encode("ascii"))


def whole_numbers(times: Floats) -> list[Any]:
    """As a golden writes times: whole numbers without a point; None for NaN."""
    return [None if np.isnan(t) else int(t) if t == int(t) else float(t) for t in times]


def status_of(outcome: Outcome) -> str:
    """Whether everybody was served."""
    return "complete" if bool((outcome.status != Status.UNFINISHED).all()) else "truncated"


def totals(outcome: Outcome, steps: StepTable) -> dict[str, int]:
    """Sums over the run."""
    return {
        "tokens": int(steps.scheduled[:, 1].sum()),
        "preemptions": int(outcome.num_preemptions.sum()),
        "recomputed_tokens": int(outcome.recomputed_tokens.sum()),
        "cached_tokens_first": int(outcome.cached_tokens.sum()),
    }


def _full_cells(steps: StepTable, row_of: Ints) -> Iterator[list[Any]]:
    for k, (scheduled, preempted, finished) in enumerate(lists_of(steps, row_of)):
        running, waiting, free_scheduled, free_end = counts_of(steps, k)
        yield [scheduled, preempted, running, waiting, free_scheduled, finished, free_end]


def _aggregate_cells(steps: StepTable, row_of: Ints) -> Iterator[list[Any]]:
    for k, (scheduled, preempted, finished) in enumerate(lists_of(steps, row_of)):
        running, waiting, free_scheduled, free_end = counts_of(steps, k)
        tokens = sum(chunk[1] for chunk in scheduled)
        sizes = [len(scheduled), tokens, len(preempted), running, waiting, free_scheduled, len(finished), free_end]
        yield [*sizes, crc(scheduled, preempted, finished)]


def _step_names(times: Floats, clock: Floats, names: list[Any]) -> list[Any]:
    """Names of the steps that start, or end, at these times; None for NaN."""
    places = np.minimum(np.searchsorted(clock, times), len(clock) - 1)
    return [None if np.isnan(time) else names[place] for time, place in zip(times, places, strict=True)]
