"""Goldens of SGLang: every field is compared, every part that is missing or wrong is refused.

Reading and writing files is the same for all formats: see `test_golden_files`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.golden import replay
from tests.naive import sglang_tables as naive_sglang_tables
from tests.recorded import Golden, Recorded

FOLDER = Path(__file__).parent / "golden" / "sglang"
STEP_FIELDS = ("step", "run", "queue", "avail", "evictable", "n_decode", "ntr")
LISTS = {"prefill": 3, "decode": 1, "retracted": 1, "finished": 1}
SUMMARY = (
    "steps", "prefill", "decode", "mixed", "idle", "retractions", "aborted", "chunk_steps", "hit_tokens",
    "prefill_tokens", "decode_tokens", "min_avail", "max_queue",
)  # fmt: skip

RECORDED = Recorded(FOLDER, naive_sglang_tables.run)
replayed, difference, refused = RECORDED.replayed, RECORDED.difference, RECORDED.refused


def golden(name: str = "p20_mixed_tight_chunk") -> Golden:
    return RECORDED.golden(name)


def rows_with(table: Golden, field: str) -> list[int]:
    """Numbers of the rows that name a field; of many the first, one in the middle and the last."""
    numbers = [number for number, row in enumerate(table["steps"]) if row.get(field)]
    return [numbers[0], numbers[len(numbers) // 2], numbers[-1]]


@pytest.mark.parametrize("field", STEP_FIELDS)
def test_altered_number_is_reported(field: str, tmp_path: Path) -> None:
    for number in rows_with(golden(), field):
        table = golden()
        table["steps"][number][field] += 1
        assert f"(row {number}), {field}: golden" in difference(table, tmp_path)


def test_ratio_is_compared_to_the_last_bit(tmp_path: Path) -> None:
    table = golden()
    ratio = table["steps"][60]["ntr"]
    table["steps"][60]["ntr"] = ratio * (1 + 2**-52)
    assert difference(table, tmp_path).startswith("step 60 (row 60), ntr: golden 0.90131168")


@pytest.mark.parametrize("field", LISTS)
def test_altered_entry_of_a_list_is_reported(field: str, tmp_path: Path) -> None:
    for number in rows_with(golden(), field):
        for column in range(LISTS[field]):
            table = golden()
            entries = table["steps"][number][field]
            if LISTS[field] == 1:
                entries[-1] += 1
            else:
                entries[-1][column] += 1
            assert f"(row {number}), {field}[" in difference(table, tmp_path)


@pytest.mark.parametrize(
    "field", ["hit", "full", "chunked", "retracted", "finished", "prefill", "ntr_reset", "ntr_end"]
)
def test_field_that_is_not_named_is_reported(field: str, tmp_path: Path) -> None:
    for number in rows_with(golden(), field):
        table = golden()
        del table["steps"][number][field]
        assert f"(row {number}), {field}" in difference(table, tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("full", 1), ("chunked", 0), ("ntr_reset", 1), ("ntr_end", 0.25), ("decode", [0])],
)
def test_field_too_many_is_reported(field: str, value: Any, tmp_path: Path) -> None:
    table = golden()
    assert field not in table["steps"][12]
    table["steps"][12][field] = value
    assert f"(row 12), {field}: golden {json.dumps(value)}, own" in difference(table, tmp_path)


def test_aborted_request_is_reported(tmp_path: Path) -> None:
    table = golden()
    table["steps"][12]["aborted"] = [3]
    assert difference(table, tmp_path) == "step 12 (row 12), aborted[0]: golden 3, own nothing"


def test_zero_and_empty_may_be_named(tmp_path: Path) -> None:
    table = golden()
    table["steps"][11] |= {"hit": 0, "full": 0, "finished": [], "ntr_end": table["steps"][11]["ntr"]}
    assert replayed(table, tmp_path).identical


def test_kind_is_compared(tmp_path: Path) -> None:
    table = golden()
    table["steps"][11]["kind"] = "mixed"
    assert difference(table, tmp_path) == 'step 11 (row 11), kind: golden "mixed", own "decode"'


def test_clipped_output_is_compared(tmp_path: Path) -> None:
    table = golden()
    table["requests"][3]["effective_max_new_tokens"] += 1
    assert difference(table, tmp_path) == "request 3, effective_max_new_tokens: golden 81, own 80"


@pytest.mark.parametrize("name", SUMMARY[1:])
def test_altered_total_is_reported(name: str, tmp_path: Path) -> None:
    table = golden()
    table["summary"][name] += 1
    assert difference(table, tmp_path).startswith(f"summary, {name}: golden {table['summary'][name]}, own")


def test_steps_missing_at_the_end_are_reported(tmp_path: Path) -> None:
    table = golden()
    del table["steps"][100:]
    table["summary"]["steps"] = 100
    assert difference(table, tmp_path).startswith("steps: golden has 100 rows, own ")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("max_total_num_tokens", 2700), ("chunked_prefill_size", 65), ("enable_mixed_chunk", False), ("page_size", 2),
        ("init_new_token_ratio", 0.4), ("retract_decode_steps", 19), ("disable_radix_cache", True), ("overlap", True),
        ("clip_max_new_tokens", 10), ("max_running_requests", 19), ("schedule_conservativeness", 1.1),
        ("context_len", 1050), ("prefill_max_requests", 1),
    ],
)  # fmt: skip
def test_recording_under_another_setting_differs(setting: str, value: Any, tmp_path: Path) -> None:
    table = golden()
    table["config"][setting] = value
    assert not replayed(table, tmp_path).identical


@pytest.mark.parametrize("name", ["p01_tiny", "p16_overlap_mixed_lpm"])
def test_own_table_is_a_golden_again(name: str, tmp_path: Path) -> None:
    own = replay(FOLDER / f"{name}.json.gz", naive_sglang_tables.run).table
    assert replayed(own, tmp_path).identical
    assert own == {**golden(name), "simulator": "longtail"}


def test_number_of_steps_is_told(tmp_path: Path) -> None:
    assert replayed(golden("p01_tiny"), tmp_path).steps == 125


def test_requests_need_not_be_sorted_by_arrival(tmp_path: Path) -> None:
    table = golden("p01_tiny")
    order = sorted(range(4), key=lambda i: -table["requests"][i]["arrival_step"])
    place = {row: number for number, row in enumerate(order)}
    table["requests"] = [{**table["requests"][row], "id": place[row]} for row in order]
    for step in table["steps"]:
        for field in ("decode", "finished"):
            if field in step:
                step[field] = [place[i] for i in step[field]]
        if "prefill" in step:
            step["prefill"] = [[place[i], *rest] for i, *rest in step["prefill"]]
        if "chunked" in step:
            step["chunked"] = place[step["chunked"]]
    assert replayed(table, tmp_path).difference is None


@pytest.mark.parametrize("key", [key for key in golden() if key not in ("format", "engine")])
def test_missing_key_is_refused(key: str, tmp_path: Path) -> None:
    table = golden()
    del table[key]
    assert refused(table, tmp_path).endswith(f": {key} is missing")


def test_file_without_its_engine_is_of_no_known_format(tmp_path: Path) -> None:
    table = golden()
    del table["engine"]
    assert "format is 1; known are" in refused(table, tmp_path)


@pytest.mark.parametrize(
    ("key", "inner"),
    [("config", name) for name in golden()["config"] if name != "prefill_decode_interval"]
    + [("summary", name) for name in SUMMARY],
)
def test_missing_inner_key_is_refused(key: str, inner: str, tmp_path: Path) -> None:
    table = golden()
    del table[key][inner]
    assert refused(table, tmp_path).endswith(f": {key}.{inner} is missing")


@pytest.mark.parametrize(
    ("key", "field"),
    [("steps", name) for name in ("step", "kind", "run", "queue", "avail", "evictable", "ntr")]
    + [("requests", name) for name in golden()["requests"][2]],
)
def test_row_that_lacks_a_field_is_refused(key: str, field: str, tmp_path: Path) -> None:
    table = golden()
    del table[key][2][field]
    assert refused(table, tmp_path).endswith(f": {key} row 2.{field} is missing")


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("steps", "run", -1), ("steps", "run", 1.5), ("steps", "run", True), ("steps", "kind", "swap"),
        ("steps", "kind", ["idle"]), ("steps", "ntr", "0.5"), ("steps", "prefill", [[1, 2]]),
        ("steps", "decode", [[1]]), ("steps", "chunked", None), ("requests", "prompt_len", "9"),
        ("requests", "ignore_eos", 1), ("requests", "prefix", [[1]]), ("requests", "parent", None),
    ],
)  # fmt: skip
def test_value_that_cannot_stand_there_is_refused(key: str, field: str, value: Any, tmp_path: Path) -> None:
    table = golden()
    table[key][4][field] = value
    expected = f"{key} row 4, field {field} is {json.dumps(value)}, which cannot stand there"
    assert expected in refused(table, tmp_path)


@pytest.mark.parametrize("key", ["steps", "requests"])
def test_unknown_field_is_refused(key: str, tmp_path: Path) -> None:
    table = golden()
    table[key][4]["colour"] = 3
    assert f'{key} row 4 has the unknown field "colour"' in refused(table, tmp_path)


@pytest.mark.parametrize(
    ("setting", "value", "sentence"),
    [
        ("page_size", 0, "config.page_size is 0; a whole number of at least 1 is needed"),
        ("chunked_prefill_size", 0, "config.chunked_prefill_size is 0; a whole number of at least 1 is needed"),
        ("max_total_num_tokens", None, "config.max_total_num_tokens is null; a whole number of at least 1 is needed"),
        ("overlap", 1, "config.overlap is 1; true or false is needed"),
        ("init_new_token_ratio", -0.1, "config.init_new_token_ratio is -0.1; a number from 0 on is needed"),
        ("schedule_policy", "random", 'config.schedule_policy is "random"; allowed are fcfs, lpm, lof'),
        ("schedule_policy", [], "config.schedule_policy is []; allowed are fcfs, lpm, lof"),
        ("prefill_decode_interval", 2, "config.prefill_decode_interval is 2; 0 is needed"),
    ],
)
def test_setting_out_of_range_is_refused(setting: str, value: Any, sentence: str, tmp_path: Path) -> None:
    table = golden()
    table["config"][setting] = value
    assert sentence in refused(table, tmp_path)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("id", 7, "requests row 3 has the id 7; 3 is needed"),
        ("prompt_len", 0, "requests row 3, field prompt_len is 0; at least 1 is needed"),
        ("true_output_len", 0, "requests row 3, field true_output_len is 0; at least 1 is needed"),
        ("true_output_len", 81, "requests row 3 has true_output_len 81; at most max_new_tokens, 80, is needed"),
        ("effective_max_new_tokens", 0, "requests row 3, field effective_max_new_tokens is 0; at least 1 is needed"),
        ("parent", 3, "requests row 3 has the parent 3; an earlier row is needed"),
        ("parent", 2, "requests row 3 begins with 105 quoted tokens; its prompt_len is 30"),
        ("prefix", [[1, 20], [2, 11]], "requests row 3 begins with 31 quoted tokens; its prompt_len is 30"),
    ],
)
def test_request_that_makes_no_sense_is_refused(field: str, value: Any, sentence: str, tmp_path: Path) -> None:
    table = golden()
    table["requests"][3][field] = value
    assert sentence in refused(table, tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"requests": []}, "requests has no rows; at least one request is needed"),
        ({"requests": {}}, "requests is {}; a list is needed"),
        ({"steps": [3]}, "steps row 0 is 3; an object with named values is needed"),
        ({"config": 3}, "config is 3; an object with named values is needed"),
        ({"summary": {**golden()["summary"], "steps": 5}}, "rows; summary.steps is 5"),
    ],
)
def test_part_that_makes_no_sense_is_refused(change: Golden, sentence: str, tmp_path: Path) -> None:
    assert sentence in refused({**golden(), **change}, tmp_path)
