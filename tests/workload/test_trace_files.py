"""Reading traces: what is accepted, and what comes out."""

import csv
import gzip
import hashlib
import io
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload import Trace, read_trace
from sim.workload.readers import table
from tests.shared import SHARED, needs_shared

HEADER = "arrival_s,prompt_tokens,output_tokens"
PLAIN = f"{HEADER},type\n0.5,100,10,chat\n1.25,200,20,code\n4,300,30,chat\n"
AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:15:46.6805900,374,44\n"
    "2023-11-16 18:15:50.9951690,396,109\n"
    "2023-11-16 18:15:51.2224671,879,55\n"
)
ROWS = [(0.5, 100, 10), (1.25, 200, 20), (4.0, 300, 30)]


def read(text: str) -> Trace:
    return read_trace(text.encode())


def assert_is_plain(trace):
    assert trace.arrival_s.tolist() == [0, 0.75, 3.5]
    assert trace.prompt_len.tolist() == [100, 200, 300]
    assert trace.output_len.tolist() == [10, 20, 30]


def test_plain_csv_is_read():
    trace = read(PLAIN)
    assert_is_plain(trace)
    assert trace.layout.startswith("plain CSV")
    assert trace.type_names == ("chat", "code")
    assert trace.type_id.tolist() == [0, 1, 0]
    assert len(trace) == 3
    assert trace.notes == ()


def test_azure_csv_is_read_to_the_last_decimal():
    trace = read(AZURE)
    assert trace.layout.startswith("Azure CSV")
    assert trace.arrival_s.tolist() == [0, 4.314579, 4.5418771]
    assert trace.prompt_len.tolist() == [374, 396, 879]
    assert trace.output_len.tolist() == [44, 109, 55]
    assert trace.type_names == ()
    assert trace.type_id.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "header",
    [
        "Arrival_S, Prompt_Tokens ,OUTPUT TOKENS",
        "arrival,prompt_len,output_len",
        "timestamp,input_tokens,completion_tokens",
        "Arrival Time,num_prefill_tokens,num_decode_tokens",
        "arrived_at,ContextTokens,GeneratedTokens",
        "start_time,ISL,OSL",
        "Timestamp,Request tokens,Response tokens",
        '"arrival_s","prompt_tokens","output_tokens"',
        "arrival_time_s,input_toks,output_toks",
    ],
)
def test_headers_in_use_elsewhere_are_understood(header):
    rows = "".join(f"{arrival},{prompt},{output}\n" for arrival, prompt, output in ROWS)
    assert_is_plain(read(f"{header}\n{rows}"))


@pytest.mark.parametrize(("unit", "factor"), [("ms", 10**3), ("us", 10**6), ("ns", 10**9), ("sec", 1)])
def test_unit_in_the_header_is_heeded(unit, factor):
    rows = "".join(f"{arrival * factor:.0f},{prompt},{output}\n" for arrival, prompt, output in ROWS)
    if unit == "sec":
        rows = rows.replace("0,100", "0.5,100").replace("1,200", "1.25,200")
    assert_is_plain(read(f"arrival_time_{unit},prompt_tokens,output_tokens\n{rows}"))


def test_columns_may_stand_in_any_order_among_others():
    rows = "".join(f"{output},x,{prompt},{i},{arrival}\n" for i, (arrival, prompt, output) in enumerate(ROWS))
    assert_is_plain(read(f"output_tokens,user,prompt_tokens,id,arrival_s\n{rows}"))


@pytest.mark.parametrize("separator", [";", "\t", ", "])
def test_separator_is_found(separator):
    assert_is_plain(read(PLAIN.replace(",", separator)))


FORMS = {
    "crlf": PLAIN.replace("\n", "\r\n").encode(),
    "cr": PLAIN.replace("\n", "\r").encode(),
    "no last newline": PLAIN.rstrip("\n").encode(),
    "blank lines": PLAIN.replace("\n", "\n\n,,,\n  \n").encode(),
    "blank start": ("\n \n" + PLAIN).encode(),
    "byte order mark": PLAIN.encode("utf-8-sig"),
    "utf-16": PLAIN.encode("utf-16"),
    "gzip": gzip.compress(PLAIN.encode()),
    "gzip in parts": gzip.compress(PLAIN[:40].encode()) + gzip.compress(PLAIN[40:].encode()),
    "numbers": PLAIN.replace("100", '"100"').replace("200", "200.0").replace("300", "3e2").encode(),
    "newline in quotes": PLAIN.replace("chat", '"cha\nt"').encode(),
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_form_of_the_file_does_not_matter(content):
    assert_is_plain(read_trace(content))


def test_rows_are_sorted_and_rows_of_one_instant_keep_their_order():
    trace = read(f"{HEADER}\n5,1,1\n3,2,2\n5,3,3\n3,4,4\n")
    assert trace.prompt_len.tolist() == [2, 4, 1, 3]
    assert trace.output_len.tolist() == [2, 4, 1, 3]
    assert trace.arrival_s.tolist() == [0, 0, 2, 2]
    assert trace.notes == ("Rows were not in order of arrival; they were sorted.",)


def test_type_stays_with_its_row_when_rows_are_sorted():
    trace = read(f"{HEADER},type\n5,1,1,late\n3,2,2,early\n")
    assert [trace.type_names[i] for i in trace.type_id] == ["early", "late"]


def test_answer_of_no_tokens_counts_as_one_and_is_noted():
    trace = read(f"{HEADER}\n0,5,0\n1,5,7\n2,5,0\n")
    assert trace.output_len.tolist() == [1, 7, 1]
    assert trace.notes == ("2 of 3 requests have 0 output tokens; they count as 1.",)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-05-10 00:00:00.009930+00:00", "2024-05-10 00:00:01.25993+00:00"),
        ("2024-05-10T00:00:00.009930Z", "2024-05-10T02:00:01.259930+02:00"),
        ("2024-05-10 00:00:00.009930", "2024-05-10 00:00:01.259930"),
        ("2024-05-10 00:00:01", "2024-05-10 00:00:02.25"),
        ("2024-05-09 19:00-0500", "2024-05-10 00:00:01.25Z"),
        ("1715299200.5", "1715299201.75"),
    ],
)
def test_dates_and_their_time_zones_are_understood(first, second):
    assert read(f"{HEADER}\n{first},1,1\n{second},2,2\n").arrival_s.tolist() == [0, 1.25]


def test_trace_knows_its_name_and_the_hash_of_its_bytes(tmp_path):
    path = tmp_path / "monday.csv.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    for source in (path, str(path)):
        trace = read_trace(source)
        assert trace.name == "monday.csv.gz"
        assert trace.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_trace(PLAIN.encode(), name="upload.csv").name == "upload.csv"


def test_large_files_are_read_in_parts_without_a_seam(monkeypatch):
    rows = [(i, 1 + i % 50, i % 7, f"t{i % 3}") for i in range(100)]
    text = f"{HEADER},type\n" + "".join(f"{a},{p},{o},{t}\n" for a, p, o, t in rows)
    whole = read(text)
    monkeypatch.setattr(table, "CHUNK_ROWS", 7)
    parts = read(text)
    assert np.array_equal(whole.arrival_s, parts.arrival_s)
    assert np.array_equal(whole.prompt_len, parts.prompt_len)
    assert np.array_equal(whole.output_len, parts.output_len)
    assert np.array_equal(whole.type_id, parts.type_id)


REQUESTS = st.lists(
    st.tuples(
        st.integers(0, 10**15),  # nanoseconds
        st.integers(1, 10**7),
        st.integers(1, 10**7),
        st.text(min_size=0, max_size=8).filter(lambda text: "\0" not in text and "\r" not in text),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=REQUESTS, separator=st.sampled_from(",;\t"))
def test_what_is_written_as_plain_csv_is_read_back(rows, separator):
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    writer.writerow(["arrival_ns", "prompt_tokens", "output_tokens", "type"])
    writer.writerows(rows)
    trace = read_trace(out.getvalue().encode())
    ordered = sorted(rows, key=lambda row: row[0])
    assert np.rint(trace.arrival_s * 1e9).tolist() == [row[0] - ordered[0][0] for row in ordered]
    assert trace.prompt_len.tolist() == [row[1] for row in ordered]
    assert trace.output_len.tolist() == [row[2] for row in ordered]
    assert [trace.type_names[i] for i in trace.type_id] == [row[3].strip() for row in ordered]


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 10**11), st.integers(1, 10**5), st.integers(0, 10**5)), min_size=1, max_size=30
    )
)
def test_what_is_written_as_azure_csv_is_read_back(rows):
    out = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    for tenths_of_us, prompt, output in rows:
        moment = datetime(2023, 11, 16, 23, 59) + timedelta(microseconds=tenths_of_us // 10)
        out += f"{moment:%Y-%m-%d %H:%M:%S.%f}{tenths_of_us % 10},{prompt},{output}\n"
    trace = read(out)
    ordered = sorted(rows, key=lambda row: row[0])
    assert np.rint(trace.arrival_s * 1e7).tolist() == [row[0] - ordered[0][0] for row in ordered]
    assert trace.prompt_len.tolist() == [row[1] for row in ordered]
    assert trace.output_len.tolist() == [max(row[2], 1) for row in ordered]


@needs_shared
@pytest.mark.parametrize(("part", "requests"), [("code", 5879), ("conv", 12910)])
def test_azures_own_files_are_read_to_the_last_row_and_decimal(part, requests):
    path = SHARED / f"data/traces/AzureLLMInferenceTrace_{part}.first_2_3.csv"
    trace = read_trace(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(trace) == len(rows) == requests
    assert trace.prompt_len.tolist() == [int(row["ContextTokens"]) for row in rows]
    assert trace.output_len.tolist() == [int(row["GeneratedTokens"]) for row in rows]
    seconds = [exact_seconds(row["TIMESTAMP"]) for row in rows]
    assert trace.arrival_s.tolist() == [float(s - seconds[0]) for s in seconds]
    assert trace.notes == ()


def exact_seconds(stamp):
    """Seconds since 1970 as a decimal number."""
    whole, decimals = stamp.split(".")
    return (datetime.fromisoformat(whole) - datetime(1970, 1, 1)) // timedelta(seconds=1) + Decimal(f"0.{decimals}")
