"""Mooncake and Bailian: hashes become shared texts, and binned arrivals are spread."""

import gzip
import json
from itertools import combinations, takewhile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.engine.inputs import SHARED_TEXT
from sim.errors import DataError
from sim.scenario import Scenario
from sim.workload import make_requests, read_trace
from tests.broken import refused
from tests.shared import SHARED, needs_shared
from tests.workload.readers.layouts import FOLDER

REAL = SHARED / "data/traces/mooncake_conversation_trace.first_2_3.jsonl.gz"


def texts(trace):
    """The content of each prompt, token by token; what is its own is its row number."""
    start, content, length = trace.segments
    for i, tokens in enumerate(trace.prompt_len):
        rows = slice(start[i], start[i + 1])
        shared = np.repeat(content[rows], length[rows])
        assert len(shared) <= tokens
        yield np.concatenate([shared, np.full(tokens - len(shared), i)])


def common_beginning(a, b):
    """Equal elements before the first that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def mooncake(*records, **changes):
    """Requests by (timestamp, prompt tokens, hashes)."""
    lines = [
        json.dumps({"timestamp": t, "input_length": n, "output_length": 1, "hash_ids": hashes, **changes})
        for t, n, hashes in records
    ]
    return "\n".join(lines)


@pytest.mark.parametrize(("file", "block"), [("mooncake.jsonl", 512), ("bailian.jsonl", 16)])
def test_prompts_share_exactly_the_text_that_their_hashes_say(file, block):
    records = [json.loads(line) for line in (FOLDER / file).read_text().splitlines()]
    prompts = list(texts(read_trace(FOLDER / file)))
    assert [len(prompt) for prompt in prompts] == [record["input_length"] for record in records]
    for i, j in combinations(range(len(records)), 2):
        equal = common_beginning(records[i]["hash_ids"], records[j]["hash_ids"])
        shortest = min(records[i]["input_length"], records[j]["input_length"])
        assert common_beginning(prompts[i], prompts[j]) == min(equal * block, shortest), (i, j)


def test_blocks_that_nobody_shares_are_left_to_the_request():
    trace = read_trace(mooncake((0, 1500, [7, 8, 9]), (1, 1500, [7, 1, 2]), (2, 600, [3, 4])).encode())
    assert trace.segments.start.tolist() == [0, 1, 2, 2]
    assert trace.segments.length.tolist() == [512, 512]
    assert len(set(trace.segments.content.tolist())) == 1
    assert trace.segments.content.min() >= SHARED_TEXT


def test_a_block_of_its_own_before_a_shared_one_is_kept():
    trace = read_trace(mooncake((0, 1100, [7, 8, 9]), (1, 1536, [1, 8, 2])).encode())
    assert trace.segments.length.tolist() == [512, 512, 512, 512]
    first, second = list(texts(trace))
    assert first[0] != second[0]
    assert first[600] == second[600]


def test_the_last_block_ends_with_the_prompt():
    trace = read_trace(mooncake((0, 700, [1, 2]), (1, 700, [1, 2])).encode())
    assert trace.segments.length.tolist() == [512, 188, 512, 188]


def test_hashes_may_be_as_large_as_they_like_and_fewer_than_the_prompt_has_blocks():
    trace = read_trace(mooncake((0, 5000, [2**63 - 1]), (1, 900, [2**63 - 1, 4]), (2, 10, [])).encode())
    assert trace.segments.start.tolist() == [0, 1, 2, 2]


def test_shared_text_stays_with_its_request_when_rows_are_sorted():
    rows = [(50, 520, [1, 2]), (10, 1030, [1, 2, 3]), (20, 30, [9])]
    trace = read_trace(mooncake(*rows).encode())
    assert trace.prompt_len.tolist() == [1030, 30, 520]
    prompts = list(texts(trace))
    assert common_beginning(prompts[0], prompts[2]) == 520
    assert common_beginning(prompts[0], prompts[1]) == 0


@pytest.mark.parametrize(
    ("hashes", "pattern"),
    [
        ("7", "is '7'; a list of whole numbers is needed"),
        (None, "is None; a list of whole numbers is needed"),
        ({"a": 1}, "is {'a': 1}; a list of whole numbers is needed"),
        ([1, "2"], "has '2'; whole numbers from 0 to"),
        ([1.5], "has 1.5; whole numbers from 0 to"),
        ([True], "has True; whole numbers from 0 to"),
        ([[1]], r"has \[1\]; whole numbers from 0 to"),
        ([-1], "has -1; whole numbers from 0 to"),
        ([2**63], "has 9223372036854775808; whole numbers from 0 to"),
        ([1, 2, 3], "has 3 blocks of 512 tokens; the prompt has room for 2"),
    ],
)
def test_broken_hashes_are_refused(hashes, pattern):
    text = mooncake((0, 1024, [1, 2]), (1, 1024, hashes))
    with pytest.raises(DataError, match=f"^m line 2: hash_ids {pattern}"):
        read_trace(text.encode(), "m")


def test_hashes_that_only_some_lines_have_are_refused():
    with_hashes = mooncake((0, 10, [1]))
    text = f'{with_hashes}\n{{"timestamp": 1, "input_length": 10, "output_length": 1}}\n'
    refused(read_trace, text, "m", " line 2: hash_ids is missing")


def test_mooncake_without_hashes_shares_nothing():
    trace = read_trace(b'{"timestamp": 5, "input_length": 10, "output_length": 1}\n')
    assert trace.segments is None


def test_binned_arrivals_are_spread_over_their_bins_in_the_order_of_the_rows():
    text = (FOLDER / "mooncake.jsonl").read_text()
    trace = read_trace(text.encode())
    assert trace.notes == ("Arrivals were rounded to 3 s; they were spread evenly over each bin.",)
    assert np.all(np.diff(trace.arrival_s) > 0)
    records = [json.loads(line) for line in text.splitlines()]
    assert trace.prompt_len.tolist() == [record["input_length"] for record in records]
    assert np.array_equal(trace.arrival_s, read_trace(text.encode()).arrival_s)
    # The first arrival is time 0, somewhere in the first bin.
    bins = np.array([round(record["timestamp"] / 3000) for record in records])
    origin = np.arange(0, 3, 0.001)
    fits = [np.array_equal((trace.arrival_s + each) // 3, bins) for each in origin]
    assert any(fits)


@given(seconds=st.lists(st.integers(0, 30), min_size=2, max_size=60, unique=True))
def test_arrivals_that_are_not_binned_are_taken_as_they_are(seconds):
    milliseconds = sorted(1000 * s + 500 for s in seconds)
    trace = read_trace(mooncake(*[(ms, 10, []) for ms in milliseconds]).encode())
    assert trace.arrival_s.tolist() == pytest.approx([(ms - milliseconds[0]) / 1000 for ms in milliseconds])
    assert trace.notes == ()


def test_requests_of_one_instant_are_no_bin():
    trace = read_trace(mooncake((0, 10, []), (0, 20, []), (1, 30, [])).encode())
    assert trace.arrival_s.tolist() == [0, 0, 0.001]


def test_spread_fills_a_bin_evenly():
    text = mooncake(*[(3000 * (i // 2000), 10, []) for i in range(6000)])
    middle = read_trace(text.encode()).arrival_s[2000:4000]
    inside = np.sort((middle - middle.min()) / (middle.max() - middle.min()))
    assert np.abs(inside - np.linspace(0, 1, 2000)).max() < 1.63 / np.sqrt(2000)  # Kolmogorov, 1 %


def test_shared_texts_reach_the_engine():
    trace = read_trace(FOLDER / "bailian.jsonl")
    requests, info = make_requests(Scenario(), trace, max_model_len=10_000)
    assert requests.segment_content.tolist() == trace.segments.content.tolist()
    assert requests.segment_start.tolist() == trace.segments.start.tolist()
    assert info.type_names == ("text", "search", "image", "file")


@needs_shared
def test_mooncakes_own_file_shares_as_much_as_its_hashes_say():
    with gzip.open(REAL, "rt") as file:
        records = [json.loads(line) for line in file]
    trace = read_trace(REAL)
    assert len(trace) == len(records) == 8020
    assert trace.prompt_len.tolist() == [record["input_length"] for record in records]
    assert trace.output_len.tolist() == [record["output_length"] for record in records]
    assert trace.arrival_s[-1] < records[-1]["timestamp"] / 1000 + 3
    times = {}
    for record in records:
        for each in record["hash_ids"]:
            times[each] = times.get(each, 0) + 1
    shared = sum(times[each] > 1 for record in records for each in record["hash_ids"])
    _, repeats = np.unique(trace.segments.content, return_counts=True)
    assert repeats[repeats > 1].sum() == shared
    assert trace.segments.length.max() == 512
    for i in range(0, 8020, 401):
        rows = slice(trace.segments.start[i], trace.segments.start[i + 1])
        assert trace.segments.length[rows].sum() <= records[i]["input_length"]


@needs_shared
def test_bailians_documented_example_is_read():
    trace = read_trace(SHARED / "data/traces/bailian_format_example.jsonl")
    assert trace.prompt_len.tolist() == [521]
    assert trace.output_len.tolist() == [132]
    assert trace.type_names == ("text",)
