"""A run as the table of format `longtail-vllm-async-golden/1`.

Source: README of the asynchronous goldens, section 2.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from sim.engine import AsyncColumns, Outcome, StepTable
from sim.engine.inputs import Ints
from sim.golden.vllm_async_format import STEP_CELLS
from sim.golden.vllm_table import counts_of, crc, lists_of, requests_table, status_of, totals, whole_numbers


class AsyncRun(Protocol):
    """What an asynchronous run must tell. `first_scheduled_s` is the start of the step, not the time of the call."""

    @property
    def outcome(self) -> Outcome: ...
    @property
    def steps(self) -> StepTable | None: ...
    @property
    def async_columns(self) -> AsyncColumns | None: ...


def table_of(run: AsyncRun, row_of: Ints, first_arrival: float, detail: str) -> dict[str, Any]:
    """Steps, requests, status and summary of a run, in the golden's words.

    Parameters
    ----------
    run : AsyncRun
        With its steps recorded.
    row_of : (n,) int64
        The golden's row of each request of the run.
    first_arrival : float
        Where the golden's clock stands when the run's clock is 0.
    detail : str
        `full` or `aggregate`.
    """
    steps, extra = run.steps, run.async_columns
    if steps is None or extra is None:
        raise ValueError("the run has no step table; steps must be recorded")
    times = (whole_numbers(column + first_arrival) for column in (extra.called_s, steps.start_s, steps.end_s))
    cells = _full_cells if detail == "full" else _aggregate_cells
    rows = zip(*times, cells(steps, extra, row_of), strict=True)
    step_rows = [[k, called, start, end, *row] for k, (called, start, end, row) in enumerate(rows)]
    return {
        "steps": {"columns": list(STEP_CELLS[detail]), "rows": step_rows},
        "requests": requests_table(run.outcome, steps, row_of, list(range(len(step_rows))), first_arrival),
        "status": status_of(run.outcome),
        "summary": {"rows": len(step_rows), "calls": extra.num_calls, **totals(run.outcome, steps)},
    }


def _full_cells(steps: StepTable, extra: AsyncColumns, row_of: Ints) -> Iterator[list[Any]]:
    for k, (scheduled, preempted, finished) in enumerate(lists_of(steps, row_of)):
        running, waiting, free_scheduled, free_end = counts_of(steps, k)
        late, dropped = _late_and_dropped(extra, k, row_of)
        before = [scheduled, preempted, running, waiting, free_scheduled, *_ahead(extra, k)]
        yield [*before, finished, late, dropped, free_end]


def _aggregate_cells(steps: StepTable, extra: AsyncColumns, row_of: Ints) -> Iterator[list[Any]]:
    for k, (scheduled, preempted, finished) in enumerate(lists_of(steps, row_of)):
        running, waiting, free_scheduled, free_end = counts_of(steps, k)
        late, dropped = _late_and_dropped(extra, k, row_of)
        tokens = sum(chunk[1] for chunk in scheduled)
        before = [len(scheduled), tokens, len(preempted), running, waiting, free_scheduled, *_ahead(extra, k)]
        sizes = [len(finished), len(late), len(dropped), free_end]
        yield [*before, *sizes, crc(scheduled, preempted, finished, late, dropped)]


def _ahead(extra: AsyncColumns, k: int) -> list[int]:
    return [int(extra.placeholders[k]), int(extra.applied_after[k])]


def _late_and_dropped(extra: AsyncColumns, k: int, row_of: Ints) -> tuple[list[int], list[int]]:
    """The two lists of a row, with the golden's row numbers."""
    lists = ((extra.late, extra.late_start), (extra.dropped, extra.dropped_start))
    late, dropped = (np.take(row_of, ids[start[k] : start[k + 1]]).tolist() for ids, start in lists)
    return late, dropped
