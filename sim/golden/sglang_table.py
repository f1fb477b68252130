"""A run of SGLang as the rows of a golden, and the first place where two tables differ.

Source: README of the SGLang goldens, file format. A row names only what is not empty or zero.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sim.engine.inputs import Ints
from sim.engine.sglang.inputs import StepKind
from sim.golden.compare import values
from sim.golden.sglang_format import KINDS
from sim.golden.sglang_run import SglangRun, SglangSteps

KIND_NAMES = {kind: name for name, kind in KINDS.items()}
Row = dict[str, Any]
EMPTY: Row = {
    **{name: [] for name in ("prefill", "retracted", "aborted", "finished")},
    **dict.fromkeys(("hit", "n_decode", "ntr_reset", "full"), 0),
}


def table_of(run: SglangRun, requests: list[Row], row_of: Ints) -> dict[str, Any]:
    """Requests, steps and summary of a run, in the golden's words.

    Parameters
    ----------
    run : SglangRun
    requests : list of dict
        The golden's.
    row_of : (n,) int64
        The golden's row of each request of the run.
    """
    steps = step_rows(run.steps, row_of)
    place_of = np.argsort(row_of)
    own_requests = [
        {**row, "effective_max_new_tokens": int(run.max_new_tokens[place])}
        for row, place in zip(requests, place_of, strict=True)
    ]
    return {"requests": own_requests, "steps": steps, "summary": summary_of(steps)}


def step_rows(steps: SglangSteps, row_of: Ints) -> list[Row]:
    """One row an iteration; the list of those who decode is told only when it changes."""
    rows = []
    told: list[int] = []
    for k in range(len(steps.step)):
        row = _row(steps, k, row_of)
        decode = row_of[_entries(steps.decode, steps.decode_start, k)].tolist()
        if row["kind"] != "idle":
            row["n_decode"] = len(decode)
        if decode and decode != told:
            row["decode"] = told = decode
        rows.append(row)
    return rows


def first_difference(golden: Mapping[str, Any], own: Mapping[str, Any]) -> str | None:
    """Where the own table departs from the golden first: steps, then requests, then the totals.

    Every field of every row must be the same, floats bit for bit; one that is absent is empty or zero.
    """
    for key in ("steps", "requests"):
        for number, (row, own_row) in enumerate(zip(golden[key], own[key], strict=False)):
            full, own_full = _filled(row), _filled(own_row)
            for name in row | own_row | full:
                if full.get(name) != own_full.get(name):
                    where = f"request {number}" if key == "requests" else f"step {row['step']} (row {number})"
                    return f"{where}, {name}{values(full.get(name), own_full.get(name))}"
        if len(golden[key]) != len(own[key]):
            return f"{key}: golden has {len(golden[key])} rows, own {len(own[key])}"
    for name, value in golden["summary"].items():
        if value != own["summary"].get(name):
            return f"summary, {name}: golden {value}, own {own['summary'].get(name)}"
    return None


def summary_of(rows: list[Row]) -> dict[str, int]:
    """Totals of a table."""

    def how_many(kind: str) -> int:
        return sum(row["kind"] == kind for row in rows)

    return {
        "steps": len(rows),
        **{kind: how_many(kind) for kind in ("prefill", "decode", "mixed", "idle")},
        "retractions": sum(len(row.get("retracted", ())) for row in rows),
        "aborted": 0,  # by finding 10 every request fits an empty pool
        "chunk_steps": sum("chunked" in row for row in rows),
        "hit_tokens": sum(row.get("hit", 0) for row in rows),
        "prefill_tokens": sum(tokens for row in rows for _, tokens, _ in row.get("prefill", ())),
        "decode_tokens": sum(row.get("n_decode", 0) for row in rows),
        "min_avail": min(row["avail"] for row in rows),
        "max_queue": max(row["queue"] for row in rows),
    }


def _filled(row: Row) -> Row:
    """A row with what it does not name. Absent, `chunked` is nobody and `decode` the list told last."""
    return EMPTY | ({"ntr_end": row["ntr"]} if "ntr" in row else {}) | row


def _row(steps: SglangSteps, k: int, row_of: Ints) -> Row:
    """Everything but who decodes."""
    kind = StepKind(int(steps.kind[k]))
    row: Row = {
        "step": int(steps.step[k]),
        "kind": KIND_NAMES[kind],
        "run": int(steps.running[k]),
        "queue": int(steps.waiting[k]),
        "avail": int(steps.available[k]),
        "evictable": int(steps.evictable[k]),
        "ntr": float(steps.ratio[k]),
    }
    if kind in (StepKind.PREFILL, StepKind.MIXED):
        prefill = _entries(steps.prefill, steps.prefill_start, k).copy()
        prefill[:, 0] = row_of[prefill[:, 0]]
        row["prefill"] = prefill.tolist()
        row["hit"] = int(steps.hit[k])
    for name, ids, start in (
        ("retracted", steps.retracted, steps.retracted_start),
        ("finished", steps.finished, steps.finished_start),
    ):
        if start[k] < start[k + 1]:
            row[name] = row_of[_entries(ids, start, k)].tolist()
    if steps.chunked[k] >= 0:
        row["chunked"] = int(row_of[steps.chunked[k]])
    if steps.ratio_end[k] != steps.ratio[k]:
        row["ntr_end"] = float(steps.ratio_end[k])
    return row | {name: 1 for name, is_set in (("full", steps.is_full), ("ntr_reset", steps.is_reset)) if is_set[k]}


def _entries(column: Ints, start: Ints, k: int) -> Ints:
    return column[start[k] : start[k + 1]]
