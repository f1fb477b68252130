"""A golden that was altered is reported, one that was damaged is refused, in one sentence each.

The naive simulator does the replaying here: what is tested is reading, comparing and writing.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from sim.golden import GoldenError, Replay, replay, write_table
from tests.naive import tables as naive_tables
from tests.recorded import Golden, Recorded, text_of

FOLDER = Path(__file__).parent / "golden"
STEP_COLUMNS = ("step", "t_us", "sched", "preempted", "running", "waiting", "free_sched", "finished", "free_end")
AGGREGATE_COLUMNS = (
    "step", "t_us", "n_sched", "tokens", "n_preempted", "running", "waiting", "free_sched", "n_finished", "free_end",
    "crc",
)  # fmt: skip
REQUEST_COLUMNS = (
    "first_step", "first_token_step", "finish_step", "finish_us", "preemptions", "first_cached", "emitted",
)  # fmt: skip
SUMMARY = ("calls", "tokens", "preemptions", "recomputed_tokens", "cached_tokens_first")
RECORDED = Recorded(FOLDER, naive_tables.run)


def golden(name: str = "fuzz_05") -> Golden:
    return RECORDED.golden(name)


def replayed(table: Golden, folder: Path) -> Replay:
    """As `Recorded.replayed`, of a file that is not written by what is tested."""
    path = folder / "table.json"
    path.write_text(json.dumps(table))
    return replay(path, naive_tables.run)


def aggregated(full: Golden) -> Golden:
    """The same recording with aggregate rows, written from the README's definition."""
    rows = []
    for step, t_us, sched, preempted, running, waiting, free_sched, finished, free_end in full["steps"]["rows"]:
        text = ",".join(f"{i}:{tokens}:{before}:{blocks}" for i, tokens, before, blocks in sched)
        text += "|" + ",".join(f"{i}:{lost}" for i, lost in preempted) + "|" + ",".join(str(i) for i in finished)
        tokens = sum(chunk[1] for chunk in sched)
        counts = [len(sched), tokens, len(preempted), running, waiting, free_sched, len(finished), free_end]
        rows.append([step, t_us, *counts, crc32(text.encode())])
    return {**full, "detail": "aggregate", "steps": {"columns": list(AGGREGATE_COLUMNS), "rows": rows}}


def altered(value: Any, width: int) -> Any:
    """Another value of the same kind: the smallest step away."""
    if isinstance(value, list):
        return [*value[:-1], altered(value[-1], width)] if value else [0 if width == 1 else [0] * width]
    return 1 if value is None else value + 1


def altered_cell(table: Golden, key: str, column: str, row: int) -> Golden:
    place = table[key]["columns"].index(column)
    width = {"sched": 4, "preempted": 2}.get(column, 1)
    table[key]["rows"][row][place] = altered(table[key]["rows"][row][place], width)
    return table


@pytest.mark.parametrize("row", [0, 100, -1])
@pytest.mark.parametrize("column", STEP_COLUMNS)
def test_altered_step_cell_is_reported(column: str, row: int, tmp_path: Path) -> None:
    outcome = replayed(altered_cell(golden(), "steps", column, row), tmp_path)
    assert not outcome.identical
    assert outcome.difference is not None
    assert f"(row {row % 198}), {column}" in outcome.difference


@pytest.mark.parametrize("field", range(4))
def test_each_number_of_a_scheduled_request_is_compared(field: int, tmp_path: Path) -> None:
    table = golden()
    table["steps"]["rows"][100][2][0][field] += 1
    difference = replayed(table, tmp_path).difference
    assert difference is not None
    assert difference.startswith("step 100 (row 100), sched[0]: golden [")


@pytest.mark.parametrize("row", [0, 100, -1])
@pytest.mark.parametrize("column", AGGREGATE_COLUMNS)
def test_altered_aggregate_cell_is_reported(column: str, row: int, tmp_path: Path) -> None:
    difference = replayed(altered_cell(aggregated(golden()), "steps", column, row), tmp_path).difference
    assert difference is not None
    assert f"(row {row % 198}), {column}: golden" in difference


@pytest.mark.parametrize("column", REQUEST_COLUMNS)
def test_altered_request_cell_is_reported(column: str, tmp_path: Path) -> None:
    difference = replayed(altered_cell(golden(), "requests", column, 3), tmp_path).difference
    assert difference is not None
    assert difference.startswith(f"request 3, {column}: golden")


@pytest.mark.parametrize("name", SUMMARY[1:])
def test_altered_total_is_reported(name: str, tmp_path: Path) -> None:
    table = golden()
    table["summary"][name] += 1
    difference = replayed(table, tmp_path).difference
    assert difference is not None
    assert difference.startswith(f"summary, {name}: golden {table['summary'][name]}, own")


@pytest.mark.parametrize("column", ["arrival", "prompt_len", "output_len"])
def test_altered_workload_is_reported(column: str, tmp_path: Path) -> None:
    assert not replayed(altered_cell(golden("multiturn"), "workload", column, 2), tmp_path).identical


def test_altered_status_is_reported(tmp_path: Path) -> None:
    difference = replayed({**golden("stuck"), "status": "complete"}, tmp_path).difference
    assert difference == "status: golden complete, own truncated"


def test_difference_names_step_column_and_both_values(tmp_path: Path) -> None:
    table = golden("same_prompt")
    table["steps"]["rows"][5][4] = 99
    step, running = golden("same_prompt")["steps"]["rows"][5][0::4][:2]
    difference = replayed(table, tmp_path).difference
    assert difference == f"step {step} (row 5), running: golden 99, own {running}"


@pytest.mark.parametrize("keep", [197, 100, 1])
def test_steps_missing_at_the_end_are_reported(keep: int, tmp_path: Path) -> None:
    table = golden()
    del table["steps"]["rows"][keep:]
    table["summary"]["calls"] = keep
    difference = replayed(table, tmp_path).difference
    assert difference == f"step {keep} (row {keep}): only in the own table, golden ends after {keep} rows"


def test_a_step_too_many_is_reported(tmp_path: Path) -> None:
    table = golden()
    table["steps"]["rows"].append(table["steps"]["rows"][-1])
    table["summary"]["calls"] += 1
    assert replayed(table, tmp_path).difference == "step 197 (row 198): only in the golden, own ends after 198 rows"


def test_aggregate_rows_are_identical_too(tmp_path: Path) -> None:
    assert replayed(aggregated(golden("multiturn")), tmp_path).difference is None


def refused(path: Path) -> str:
    with pytest.raises(GoldenError) as caught:
        replay(path, naive_tables.run)
    message = str(caught.value)
    assert message.startswith(f"{path.name}: ")
    assert "\n" not in message
    return message


def refused_table(table: Golden, folder: Path) -> str:
    path = folder / "table.json"
    path.write_text(json.dumps(table))
    return refused(path)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_file_cut_short_is_refused(share: float, suffix: str, tmp_path: Path) -> None:
    data = text_of(FOLDER / "fuzz_05.json.gz") if suffix == ".json" else (FOLDER / "fuzz_05.json.gz").read_bytes()
    path = tmp_path / f"cut{suffix}"
    path.write_bytes(data[: max(3, int(len(data) * share))])
    assert "cut short" in refused(path)


def test_file_without_its_last_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.json.gz"
    path.write_bytes((FOLDER / "fuzz_05.json.gz").read_bytes()[:-1])
    assert "cut short" in refused(path)


def test_file_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    data = bytearray((FOLDER / "fuzz_05.json.gz").read_bytes())
    data[-6] ^= 1
    path = tmp_path / "damaged.json.gz"
    path.write_bytes(data)
    assert "CRC check failed" in refused(path)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.json.gz") == "none.json.gz: the file cannot be read: No such file or directory"


@pytest.mark.parametrize("data", [b"", b"\x00\xff\x00", b"[1, 2]", b'{"format": NaN}', b"{}", b'"text"'])
def test_file_that_is_no_golden_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(data)
    refused(path)


@pytest.mark.parametrize("name", ["longtail-vllm-golden/2", "", None, 1, ["longtail-vllm-golden/1"]])
def test_unknown_format_is_refused(name: Any, tmp_path: Path) -> None:
    message = refused_table({**golden(), "format": name}, tmp_path)
    assert f"format is {json.dumps(name)}; known are longtail-vllm-golden/1" in message


@pytest.mark.parametrize("key", list(golden()))
def test_missing_key_is_refused(key: str, tmp_path: Path) -> None:
    table = golden()
    del table[key]
    assert refused_table(table, tmp_path).endswith(f": {key} is missing")


@pytest.mark.parametrize(
    ("key", "inner"),
    [(key, inner) for key in ("config", "clock", "summary") for inner in golden()[key]]
    + [(key, inner) for key in ("workload", "steps", "requests") for inner in ("columns", "rows")],
)
def test_missing_inner_key_is_refused(key: str, inner: str, tmp_path: Path) -> None:
    table = golden()
    del table[key][inner]
    assert refused_table(table, tmp_path).endswith(f": {key}.{inner} is missing")


@pytest.mark.parametrize(
    ("key", "column"),
    [(key, column) for key in ("workload", "steps", "requests") for column in golden()[key]["columns"]],
)
def test_missing_column_is_refused(key: str, column: str, tmp_path: Path) -> None:
    table = golden()
    place = table[key]["columns"].index(column)
    for row in [table[key]["columns"], *table[key]["rows"]]:
        del row[place]
    assert f"{key}: column {column} is missing; needed are" in refused_table(table, tmp_path)


@pytest.mark.parametrize("column", AGGREGATE_COLUMNS)
def test_missing_aggregate_column_is_refused(column: str, tmp_path: Path) -> None:
    table = aggregated(golden())
    place = table["steps"]["columns"].index(column)
    for row in [table["steps"]["columns"], *table["steps"]["rows"]]:
        del row[place]
    assert f"steps: column {column} is missing; needed are" in refused_table(table, tmp_path)


def test_unknown_column_is_refused(tmp_path: Path) -> None:
    table = golden()
    table["requests"]["columns"][0] = "started"
    table["requests"]["columns"].append("first_step")
    for row in table["requests"]["rows"]:
        row.append(0)
    assert "requests: the columns are" in refused_table(table, tmp_path)


@pytest.mark.parametrize("key", ["workload", "steps", "requests"])
def test_row_of_the_wrong_width_is_refused(key: str, tmp_path: Path) -> None:
    table = golden()
    width = len(table[key]["columns"])
    table[key]["rows"][2].append(0)
    assert f"{key} row 2 has {width + 1} values; {width} are needed" in refused_table(table, tmp_path)


@pytest.mark.parametrize("value", ["7", 1.5, True, {"a": 1}, [["x", 1, 2, 3]]])
@pytest.mark.parametrize(("key", "column"), [("steps", "sched"), ("steps", "running"), ("requests", "emitted")])
def test_cell_that_is_no_number_is_refused(key: str, column: str, value: Any, tmp_path: Path) -> None:
    table = golden()
    table[key]["rows"][4][table[key]["columns"].index(column)] = value
    assert f"{key} row 4, column {column} is {json.dumps(value)}; " in refused_table(table, tmp_path)


def test_steps_that_do_not_match_the_number_of_calls_are_refused(tmp_path: Path) -> None:
    table = golden()
    del table["steps"]["rows"][-1]
    assert "steps has 197 rows; summary.calls is 198" in refused_table(table, tmp_path)


def test_requests_that_do_not_match_the_workload_are_refused(tmp_path: Path) -> None:
    table = golden()
    del table["requests"]["rows"][-1]
    assert "requests has 15 rows; workload has 16" in refused_table(table, tmp_path)


@pytest.mark.parametrize(
    ("key", "inner", "value", "sentence"),
    [
        ("config", "block_size", 0, "config.block_size is 0; a whole number of at least 1 is needed"),
        ("config", "num_gpu_blocks", 1, "config.num_gpu_blocks is 1; a whole number of at least 2 is needed"),
        ("config", "policy", ["fcfs"], 'config.policy is ["fcfs"]; allowed are fcfs, priority'),
        ("config", "policy", "sjf", 'config.policy is "sjf"; allowed are fcfs, priority'),
        ("config", "enable_prefix_caching", 1, "config.enable_prefix_caching is 1; true or false is needed"),
        ("config", "watermark", 1.0, "config.watermark is 1.0; a share from 0 to below 1 is needed"),
        ("config", "max_num_batched_tokens", 1, "config.max_num_batched_tokens is 1; at least max_num_seqs"),
        ("engine", "vllm", 33, 'engine.vllm is 33; a release such as "0.33.0" is needed'),
        ("engine", "vllm", "main", "engine.vllm: vLLM release 'main' has no release number such as 0.33.0"),
        ("engine", "vllm", "0.8.4", "engine.vllm: vLLM release '0.8.4' is older than the oldest known, 0.8.5"),
        ("clock", "mode", "wall", 'clock.mode is "wall"; allowed are step, time'),
        ("clock", "a_us", -1, "clock.a_us is -1; a whole number from 0 on is needed"),
    ],
)
def test_setting_out_of_range_is_refused(key: str, inner: str, value: Any, sentence: str, tmp_path: Path) -> None:
    table = golden()
    table[key][inner] = value
    assert sentence in refused_table(table, tmp_path)


@pytest.mark.parametrize("release", ["0.8.5", "0.9.2", "0.11.0"])
def test_priority_is_refused_where_it_does_not_work(release: str, tmp_path: Path) -> None:
    table = golden("priority_phantom")
    table["engine"]["vllm"] = release
    expected = f'config.policy is "priority"; vLLM {release} serves only "fcfs" reliably'
    assert expected in refused_table(table, tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"detail": {}}, "detail is {}; allowed are full, aggregate"),
        ({"detail": "none"}, 'detail is "none"; allowed are full, aggregate'),
        ({"status": "cut"}, 'status is "cut"; allowed are complete, truncated'),
        ({"status": "truncated"}, "max_steps is null; a truncated recording needs the number of its calls"),
        ({"max_steps": 0}, "max_steps is 0; null or a whole number of at least 1 is needed"),
        ({"workload": {"columns": golden()["workload"]["columns"], "rows": []}}, "workload has no rows"),
        ({"config": 3}, "config is 3; an object with named values is needed"),
    ],
)
def test_part_that_makes_no_sense_is_refused(change: Golden, sentence: str, tmp_path: Path) -> None:
    assert sentence in refused_table({**golden(), **change}, tmp_path)


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        (1, 0, "workload row 3, column prompt_len is 0; at least 1 is needed"),
        (2, 0, "workload row 3, column output_len is 0; at least 1 is needed"),
        (4, [[1000000, 10_000]], "workload row 3 has segments of 10000 tokens; its prompt_len is"),
    ],
)
def test_request_that_makes_no_sense_is_refused(column: int, value: Any, sentence: str, tmp_path: Path) -> None:
    table = golden()
    table["workload"]["rows"][3][column] = value
    assert sentence in refused_table(table, tmp_path)


def rows_moved(table: Golden, new_place: Callable[[int], tuple[float, int]]) -> Golden:
    """The same recording with its workload rows in another order, every id following its row."""
    rows = table["workload"]["rows"]
    order = sorted(range(len(rows)), key=new_place)
    place = {row: number for number, row in enumerate(order)}
    for row in rows:
        row[4] = [[place.get(content, content), n] for content, n in row[4]] if row[4] else None
    for step in table["steps"]["rows"]:
        step[2] = [[place[i], *rest] for i, *rest in step[2]]
        step[3] = [[place[i], lost] for i, lost in step[3]]
        step[7] = [place[i] for i in step[7]]
    table["workload"]["rows"] = [rows[row] for row in order]
    table["requests"]["rows"] = [table["requests"]["rows"][row] for row in order]
    return table


@pytest.mark.parametrize("name", ["multiturn", "fuzz_05", "stuck"])
def test_workload_need_not_be_sorted_by_arrival(name: str, tmp_path: Path) -> None:
    arrivals = [row[0] for row in golden(name)["workload"]["rows"]]
    moved = rows_moved(golden(name), lambda i: (-arrivals[i], i))  # the last arrival first; equal ones keep their order
    assert replayed(moved, tmp_path).difference is None


@pytest.mark.parametrize("name", ["multiturn", "stuck", "priority_phantom"])
@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_own_table_is_a_golden_again(name: str, suffix: str, tmp_path: Path) -> None:
    own = replay(FOLDER / f"{name}.json.gz", naive_tables.run).table
    path = tmp_path / f"own{suffix}"
    write_table(path, own)
    assert replay(path, naive_tables.run).identical
    recorded = golden(name)
    assert {**own, "engine": recorded["engine"]} == recorded
    assert own["engine"]["simulator"] == "longtail"


def test_table_is_written_byte_for_byte_the_same(tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        write_table(tmp_path / name, golden("stuck"))
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()
