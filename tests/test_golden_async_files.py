"""Goldens of vLLM's asynchronous loop: every column is compared, every part that is missing or wrong is refused.

Reading and writing files is the same for all formats: see `test_golden_files`.
"""

from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from sim.golden import replay
from tests.naive import tables as naive_tables
from tests.recorded import Golden, Recorded

FOLDER = Path(__file__).parent / "golden" / "vllm_async"
STEP_COLUMNS = (
    "step", "t_us", "start_us", "end_us", "sched", "preempted", "running", "waiting", "free_sched", "placeholders",
    "applied_after", "finished", "late", "dropped", "free_end",
)  # fmt: skip
AGGREGATE_COLUMNS = (
    "step", "t_us", "start_us", "end_us", "n_sched", "tokens", "n_preempted", "running", "waiting", "free_sched",
    "placeholders", "applied_after", "n_finished", "n_late", "n_dropped", "free_end", "crc",
)  # fmt: skip
REQUEST_COLUMNS = (
    "first_step", "first_token_step", "finish_step", "finish_us", "preemptions", "first_cached", "emitted",
)  # fmt: skip
SUMMARY = ("rows", "calls", "tokens", "preemptions", "recomputed_tokens", "cached_tokens_first")

RECORDED = Recorded(FOLDER, naive_tables.run_async)
replayed, difference, refused = RECORDED.replayed, RECORDED.difference, RECORDED.refused


def golden(name: str = "late_finish_eos") -> Golden:
    return RECORDED.golden(name)


def with_cell(table: Golden, key: str, row: int, column: str, value: Any) -> Golden:
    table[key]["rows"][row][table[key]["columns"].index(column)] = value
    return table


def aggregated(full: Golden) -> Golden:
    """The same recording with aggregate rows, written from the README's definition."""
    rows = []
    for step, t_us, start, end, sched, preempted, *state, finished, late, dropped, free_end in full["steps"]["rows"]:
        text = ",".join(f"{i}:{tokens}:{before}:{blocks}" for i, tokens, before, blocks in sched)
        text += "|" + ",".join(f"{i}:{lost}" for i, lost in preempted)
        text += "".join("|" + ",".join(map(str, ids)) for ids in (finished, late, dropped))
        counts = [len(sched), sum(chunk[1] for chunk in sched), len(preempted)]
        sizes = [len(finished), len(late), len(dropped)]
        rows.append([step, t_us, start, end, *counts, *state, *sizes, free_end, crc32(text.encode())])
    return {**full, "detail": "aggregate", "steps": {"columns": list(AGGREGATE_COLUMNS), "rows": rows}}


def altered(value: Any, width: int) -> Any:
    """Another value of the same kind: the smallest step away."""
    if isinstance(value, list):
        return [*value[:-1], altered(value[-1], width)] if value else [0 if width == 1 else [0] * width]
    return value + 1


def altered_cell(table: Golden, key: str, column: str, row: int) -> Golden:
    width = {"sched": 4, "preempted": 2}.get(column, 1)
    value = table[key]["rows"][row][table[key]["columns"].index(column)]
    return with_cell(table, key, row, column, altered(value, width))


@pytest.mark.parametrize("row", [0, 100, -1])
@pytest.mark.parametrize("column", STEP_COLUMNS)
def test_altered_step_cell_is_reported(column: str, row: int, tmp_path: Path) -> None:
    found = difference(altered_cell(golden(), "steps", column, row), tmp_path)
    assert f"(row {row % 298}), {column}" in found


@pytest.mark.parametrize("row", [0, 100, -1])
@pytest.mark.parametrize("column", AGGREGATE_COLUMNS)
def test_altered_aggregate_cell_is_reported(column: str, row: int, tmp_path: Path) -> None:
    found = difference(altered_cell(aggregated(golden()), "steps", column, row), tmp_path)
    assert f"(row {row % 298}), {column}: golden" in found


@pytest.mark.parametrize("name", ["late_finish_eos", "priority_phantom", "lone_request_b"])
def test_aggregate_rows_are_identical_too(name: str, tmp_path: Path) -> None:
    assert replayed(aggregated(golden(name)), tmp_path).difference is None


@pytest.mark.parametrize("column", REQUEST_COLUMNS)
def test_altered_request_cell_is_reported(column: str, tmp_path: Path) -> None:
    assert difference(altered_cell(golden(), "requests", column, 3), tmp_path).startswith(f"request 3, {column}: ")


@pytest.mark.parametrize("name", SUMMARY[1:])
def test_altered_total_is_reported(name: str, tmp_path: Path) -> None:
    table = golden()
    table["summary"][name] += 1
    assert difference(table, tmp_path).startswith(f"summary, {name}: golden {table['summary'][name]}, own")


@pytest.mark.parametrize("change", [{"stop": "length"}, {"clock": {**golden()["clock"], "a_us": 2}}])
def test_recording_under_other_conditions_differs(change: Golden, tmp_path: Path) -> None:
    assert not replayed({**golden(), **change}, tmp_path).identical


def test_pause_counts(tmp_path: Path) -> None:
    table = golden("lone_request_b")
    table["clock"]["pause_us"] += 1
    assert "t_us" in difference(table, tmp_path)


@pytest.mark.parametrize("name", ["late_finish_eos", "lone_request_b"])
def test_own_table_is_a_golden_again(name: str, tmp_path: Path) -> None:
    own = replay(FOLDER / f"{name}.json.gz", naive_tables.run_async).table
    assert replayed(own, tmp_path).identical
    assert {**own, "engine": golden(name)["engine"]} == golden(name)


@pytest.mark.parametrize("key", list(golden()))
def test_missing_key_is_refused(key: str, tmp_path: Path) -> None:
    table = golden()
    del table[key]
    assert refused(table, tmp_path).endswith(f": {key} is missing")


@pytest.mark.parametrize(
    ("key", "inner"),
    [("clock", name) for name in golden()["clock"]]
    + [("summary", name) for name in SUMMARY]
    + [("engine", name) for name in ("vllm", "async_scheduling", "batch_queue_size")],
)
def test_missing_inner_key_is_refused(key: str, inner: str, tmp_path: Path) -> None:
    table = golden()
    del table[key][inner]
    assert refused(table, tmp_path).endswith(f": {key}.{inner} is missing")


@pytest.mark.parametrize("detail", ["full", "aggregate"])
def test_missing_step_column_is_refused(detail: str, tmp_path: Path) -> None:
    for column in STEP_COLUMNS if detail == "full" else AGGREGATE_COLUMNS:
        table = golden("lone_request_b") if detail == "full" else aggregated(golden("lone_request_b"))
        place = table["steps"]["columns"].index(column)
        for row in [table["steps"]["columns"], *table["steps"]["rows"]]:
            del row[place]
        assert f"steps: column {column} is missing; needed are" in refused(table, tmp_path)


@pytest.mark.parametrize(
    ("key", "inner", "value", "sentence"),
    [
        ("engine", "async_scheduling", False, "engine.async_scheduling is false; true is needed"),
        ("engine", "batch_queue_size", 3, "engine.batch_queue_size is 3; 2 is needed"),
        ("engine", "vllm", "0.8.4", "engine.vllm: vLLM release '0.8.4' is older than the oldest known, 0.8.5"),
        ("clock", "mode", "step", 'clock.mode is "step"; "time" is needed'),
        ("clock", "pause_us", -1, "clock.pause_us is -1; a whole number from 0 on is needed"),
        ("config", "block_size", 0, "config.block_size is 0; a whole number of at least 1 is needed"),
        ("summary", "rows", 3, "steps has 298 rows; summary.rows is 3"),
    ],
)
def test_setting_out_of_range_is_refused(key: str, inner: str, value: Any, sentence: str, tmp_path: Path) -> None:
    table = golden()
    table[key][inner] = value
    assert sentence in refused(table, tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"stop": "word"}, 'stop is "word"; allowed are length, eos'),
        ({"detail": "none"}, 'detail is "none"; allowed are full, aggregate'),
        ({"status": "truncated"}, 'status is "truncated"; an asynchronous recording must be complete'),
    ],
)
def test_part_that_makes_no_sense_is_refused(change: Golden, sentence: str, tmp_path: Path) -> None:
    assert sentence in refused({**golden(), **change}, tmp_path)
