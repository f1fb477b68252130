"""Every layout: recognised by itself, read to the last number, refused when broken."""

import json

import pytest

from sim.workload import read_trace
from tests.broken import refused
from tests.workload.readers.layouts import FOLDER, LAYOUTS

BROKEN = [
    pytest.param(layout.file, text, pattern, id=f"{layout.file}-{label}")
    for layout in LAYOUTS
    for label, (text, pattern) in layout.broken().items()
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.file)
def test_layout_is_recognised(layout):
    trace = read_trace(FOLDER / layout.file)
    assert trace.layout.startswith(layout.reader)
    assert trace.name == layout.file


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.file)
def test_layout_has_ten_broken_variants_and_more(layout):
    texts = {text for text, _ in layout.broken().values()}
    assert len(texts) >= 10
    assert layout.text not in texts


@pytest.mark.parametrize(("name", "text", "pattern"), BROKEN)
def test_broken_file_is_refused(name, text, pattern):
    refused(read_trace, text, name, pattern)


@pytest.mark.parametrize(
    ("file", "arrival", "seconds", "prompt", "output"),
    [
        ("apex.jsonl", "StartTimeOffset", 1e-9, "ContextTokens", "GeneratedTokens"),
        ("llmservingsim.jsonl", "arrival_time_ns", 1e-9, "input_toks", "output_toks"),
        ("llmservingsim_measured.jsonl", "arrival_time", 1, "input_toks", "output_toks"),
        ("bailian.jsonl", "timestamp", 1, "input_length", "output_length"),
    ],
)
def test_json_lines_are_read_to_the_last_number(file, arrival, seconds, prompt, output):
    records = [json.loads(line) for line in (FOLDER / file).read_text().splitlines()]
    trace = read_trace(FOLDER / file)
    since_first = [(record[arrival] - records[0][arrival]) * seconds for record in records]
    assert trace.arrival_s.tolist() == pytest.approx(since_first, abs=1e-9)
    assert trace.prompt_len.tolist() == [record[prompt] for record in records]
    assert trace.output_len.tolist() == [record[output] for record in records]
    assert trace.notes == ()


def test_blank_lines_between_json_lines_do_not_matter():
    text = (FOLDER / "apex.jsonl").read_text()
    spaced = read_trace(("\n \n" + text.replace("\n", "\r\n\n")).encode())
    assert spaced.arrival_s.tolist() == read_trace(text.encode()).arrival_s.tolist()
    lines = text.splitlines()
    broken = "\n\n".join([*lines[:3], "{}", *lines[4:]])
    refused(read_trace, broken, "t.jsonl", r" line 7: GeneratedTokens is missing")


def test_burstgpt_failures_are_left_out_and_noted():
    trace = read_trace(FOLDER / "burstgpt.csv")
    assert trace.output_len.tolist() == [18, 19, 20, 21, 23, 24, 25]
    assert trace.prompt_len.tolist() == [400, 401, 402, 403, 405, 406, 407]
    assert trace.arrival_s.tolist() == [0, 40, 80, 120, 200, 240, 280]
    assert trace.type_names == ("Conversation log", "API log")
    assert trace.type_id.tolist() == [0, 1, 0, 1, 1, 0, 1]
    assert trace.notes == ("1 of 8 requests were left out: they failed (0 response tokens).",)


def test_burstgpt_of_failures_only_is_refused():
    head, row = (FOLDER / "burstgpt.csv").read_text().splitlines()[:2]
    refused(read_trace, f"{head}\n{row.replace(',18,', ',0,')}\n", "b.csv", ": Response tokens is 0 in every row")


@pytest.mark.parametrize("column", ["Timestamp", "Request tokens", "Response tokens"])
def test_burstgpt_without_a_column_is_refused(column):
    text = (FOLDER / "burstgpt.csv").read_text().replace(column, "Other")
    refused(read_trace, text, "b.csv", rf" line 1: the header \(.*Other.*\) has no column {column}")
