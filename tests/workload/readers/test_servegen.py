"""ServeGen chunks: two files, of which either names the other, and requests drawn as they say."""

import ast
import csv
import gzip
import json
import re
from itertools import pairwise

import numpy as np
import pytest

from sim.errors import DataError
from sim.workload import read_trace
from sim.workload.readers import servegen_rates
from tests.broken import refused
from tests.shared import SHARED, needs_shared
from tests.workload.readers.layouts import FOLDER

TRACE, DATASET = "chunk-1-trace.csv", "chunk-1-dataset.json"
RATES, LENGTHS = (FOLDER / TRACE).read_text(), (FOLDER / DATASET).read_text()
REAL = sorted((SHARED / "data/traces").glob("servegen_*-trace.csv.gz")) if SHARED.exists() else []
FIRST_S = 600.0  # of the small chunk: its first window with requests


def counts(trace, edges):
    return np.histogram(trace.arrival_s, edges)[0].tolist()


def read(rates=RATES, lengths=LENGTHS):
    return read_trace(rates.encode(), TRACE, others={DATASET: lengths.encode()})


def test_either_file_is_enough_with_the_other_beside_it():
    one, other = read_trace(FOLDER / TRACE), read_trace(FOLDER / DATASET)
    third = read_trace(LENGTHS.encode(), DATASET, others={TRACE: RATES.encode()})
    for trace in (other, third, read()):
        assert (trace.name, trace.sha256, trace.layout) == (one.name, one.sha256, one.layout)
        assert np.array_equal(trace.arrival_s, one.arrival_s)
        assert np.array_equal(trace.prompt_len, one.prompt_len)
        assert np.array_equal(trace.output_len, one.output_len)
    assert one.name == TRACE
    assert one.layout.startswith("ServeGen")


def test_a_gzipped_partner_is_found(tmp_path):
    (tmp_path / f"{TRACE}.gz").write_bytes(gzip.compress(RATES.encode()))
    (tmp_path / f"{DATASET}.gz").write_bytes(gzip.compress(LENGTHS.encode()))
    assert len(read_trace(tmp_path / f"{DATASET}.gz")) == len(read())


def test_each_window_gets_the_requests_that_its_rate_says_and_only_a_day_of_them():
    trace = read()
    # 150 from 600 s, 300 from 1200 s, 300 from 1800 s, 60 from 3000 s, 60 from 86400 s; 87000 s is the next day.
    edges = np.array([600, 1200, 1800, 2400, 3000, 3600, 86400, 87000]) - FIRST_S
    offset = next(each for each in np.arange(0, 60, 0.5) if counts(trace, edges - each)[0] == 150)
    assert counts(trace, edges - offset) == [150, 300, 300, 0, 60, 0, 60]
    assert len(trace) == 870
    assert trace.notes == (
        "870 requests were drawn from rates and length distributions, with a fixed seed.",
        "They are those from 600 s to 87000 s; 60 later ones were left out.",
        f"{np.count_nonzero(trace.output_len[450:810] == 1)} of 870 requests have 0 output tokens; they count as 1.",
    )


def test_lengths_are_those_of_the_window_in_force():
    trace = read()
    assert set(trace.prompt_len[:450].tolist()) == {100, 200, 300}
    assert set(trace.prompt_len[450:810].tolist()) == {5}
    assert set(trace.output_len[450:810].tolist()) == {1, 9}
    assert set(trace.output_len[810:].tolist()) == {2}
    share = np.mean(trace.prompt_len[:450] == 100)
    assert abs(share - 0.5) < 3.3 * np.sqrt(0.25 / 450)


def test_gaps_have_the_spread_of_their_family():
    windows = "0,20,2.0,Gamma,0.25,1\n3000,20,1.5,Weibull,0.6848,1\n6000,0,0,,0,0\n"
    trace = read(windows, '{"0": {"input_tokens": "{1: 1}", "output_tokens": "{1: 1}"}}')
    for first, cv in ((0, 2.0), (60_000, 1.5)):
        gaps = np.diff(trace.arrival_s[first : first + 60_000])
        assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.03)


def test_a_draw_stops_at_whole_windows_before_it_grows_too_large(monkeypatch):
    monkeypatch.setattr(servegen_rates, "MOST_REQUESTS", 500)
    assert len(read()) == 450
    monkeypatch.setattr(servegen_rates, "MOST_REQUESTS", 100)
    assert len(read()) == 150


@pytest.mark.parametrize(("name", "text", "other"), [(TRACE, RATES, DATASET), (DATASET, LENGTHS, TRACE)])
def test_one_file_without_the_other_is_refused(name, text, other):
    has = "rates" if name == TRACE else "lengths"
    refused(read_trace, text, name, f" has the {has} of a ServeGen chunk only; {other} is needed beside it")


def test_a_name_that_says_no_partner_is_refused():
    refused(read_trace, RATES, "rates.csv", " has the rates of a ServeGen chunk only; rates.csv-dataset.json is needed")


BUSY = "1200,0.5,2.0,Gamma,0.25,8.0"  # line 3
BROKEN_RATES = {
    "start is a word": ("soon,0.5,2.0,Gamma,0.25,8.0", " line 3: start is 'soon'; a number from 0 to"),
    "start before zero": ("-5,0.5,2.0,Gamma,0.25,8.0", " line 3: start is '-5'"),
    "rate is a word": ("1200,many,2.0,Gamma,0.25,8.0", " line 3: rate is 'many'"),
    "rate is negative": ("1200,-0.5,2.0,Gamma,0.25,8.0", " line 3: rate is '-0.5'"),
    "rate is no number": ("1200,nan,2.0,Gamma,0.25,8.0", " line 3: rate is 'nan'"),
    "rate is a giant": ("1200,1e9,2.0,Gamma,0.25,8.0", " line 3: rate is '1e9'; a number from 0 to 5000"),
    "family is unknown": ("1200,0.5,2.0,Pareto,0.25,8.0", " line 3: family is 'Pareto'; Gamma or Weibull is needed"),
    "family is empty": ("1200,0.5,2.0,,0.25,8.0", " line 3: family is ''"),
    "shape is zero": ("1200,0.5,2.0,Gamma,0,8.0", " line 3: shape is '0'; a number from 0.01 to 10000 is needed"),
    "shape is a word": ("1200,0.5,2.0,Gamma,wide,8.0", " line 3: shape is 'wide'"),
    "a cell too few": ("1200,0.5,2.0,Gamma,0.25", r" line 3: .* has 5 cells; 6 are needed \(start, rate, cv"),
    "a cell too many": ("1200,0.5,2.0,Gamma,0.25,8,9", " line 3: .* has 7 cells; 6 are needed"),
    "open quote": ('1200,0.5,2.0,"Gamma,0.25,8', " line 3: unexpected end of data"),
    "window twice": ("600,0.5,2.0,Gamma,0.25,8.0", " has the window 600 before one no later"),
    "windows backwards": ("500,0.5,2.0,Gamma,0.25,8.0", " has the window 600 before one no later"),
}


@pytest.mark.parametrize("broken", BROKEN_RATES)
def test_broken_rates_are_refused(broken):
    line, pattern = BROKEN_RATES[broken]
    assert BUSY in RATES
    refused(read_trace, RATES.replace(BUSY, line), TRACE, pattern, others={DATASET: LENGTHS.encode()})


def test_a_chunk_without_requests_is_refused():
    refused(read_trace, "0,0,0,,0,0\n", TRACE, ": rate is 0 in every window", others={DATASET: b"{}"})


INPUT = '"{100: 0.5, 200: 0.25, 300: 0.25}"'
BROKEN_LENGTHS = {
    "cut short": (LENGTHS[:60], " line 3: "),
    "no object": ("[1, 2]", " has no windows by their start"),
    "window is a word": (LENGTHS.replace('"1800"', '"noon"'), " has no windows by their start"),
    "begins too late": (
        LENGTHS.replace('"0"', '"1000"'),
        " begins with window 1000; one by 600 is",
    ),
    **{
        label: (LENGTHS.replace(INPUT, wrong), " window 0: input_tokens is ")
        for label, wrong in {
            "null": "null",
            "a number": "7",
            "an object": '{"100": 1.0}',
            "empty": '"{}"',
            "no dictionary": '"100, 200"',
            "half a pair": '"{100: 0.5, 200}"',
            "three in one": '"{100: 0.5: 0.5, 200: 0.5, 300}"',
            "words": '"{many: 1.0}"',
            "code": '"{exit(): 1.0}"',
            "half a token": '"{100.5: 1.0}"',
            "negative probability": '"{100: 1.5, 200: -0.5}"',
            "probabilities too small": '"{100: 0.5}"',
            "not a number": '"{100: nan}"',
        }.items()
    },
    "a prompt of none": (LENGTHS.replace("{100:", "{0:"), " window 0: input_tokens has 0 tokens; from 1"),
    "a giant prompt": (
        LENGTHS.replace("{100:", "{10485761:"),
        " window 0: input_tokens has 10485761 tokens; from 1 to",
    ),
    "a negative output": (LENGTHS.replace("{1: 0.125", "{-1: 0.125"), " window 0: output_tokens has -1 tokens; from 0"),
    "output missing": (LENGTHS.replace("output_tokens", "outputs", 1), " window 0: output_tokens is None"),
}


@pytest.mark.parametrize("broken", BROKEN_LENGTHS)
def test_broken_lengths_are_refused(broken):
    text, pattern = BROKEN_LENGTHS[broken]
    assert text != LENGTHS
    with pytest.raises(DataError, match=f"^{re.escape(DATASET)}{pattern}") as caught:
        read(lengths=text)
    assert "\n" not in str(caught.value)


@needs_shared
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_servegens_own_chunks_are_drawn_as_they_say(path):
    trace = read_trace(path)
    with gzip.open(path, "rt") as file:
        windows = [(float(row[0]), float(row[1])) for row in csv.reader(file)]
    with gzip.open(path.with_name(path.name.replace("-trace.csv", "-dataset.json")), "rt") as file:
        lengths = json.load(file)
    busy = [i for i, (_, rate) in enumerate(windows) if rate]
    begin = windows[busy[0]][0]
    expected = 0
    for (start, rate), (end, _) in pairwise([*windows, (windows[-1][0] + 600, 0)]):
        if begin <= start < begin + 86_400:
            requests = round(rate * (end - start))
            if expected + requests > 1_000_000:
                break
            expected += requests
    assert len(trace) == expected
    first = str(max(int(key) for key in lengths if int(key) <= begin))
    rows = round(windows[busy[0]][1] * 600)
    for drawn, key in ((trace.prompt_len, "input_tokens"), (trace.output_len, "output_tokens")):
        table = {max(k, 1): 0.0 for k in ast.literal_eval(lengths[first][key])}
        for tokens, probability in ast.literal_eval(lengths[first][key]).items():
            table[max(tokens, 1)] += probability
        tokens = np.array(sorted(table))
        cumulative = np.cumsum([table[each] for each in tokens])
        share = np.searchsorted(np.sort(drawn[:rows]), tokens, side="right") / rows
        assert np.abs(share - cumulative / cumulative[-1]).max() < 1.95 / np.sqrt(rows)  # Kolmogorov, 0.1 %
