"""Trace files that cannot be right are refused in one sentence that says where and why."""

import gzip

import pytest

from sim.errors import DataError
from sim.workload import read_trace

PLAIN = "arrival_s,prompt_tokens,output_tokens,type\n" + "".join(f"{i}.5,{100 + i},{10 + i},chat\n" for i in range(8))
AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2023-11-16 18:15:4{i}.6805900,{100 + i},{10 + i}\n" for i in range(8)
)
TOKENS = r"a whole number from 1 to 10485760 is needed"
OUTPUTS = r"a whole number from 0 to 10485760 is needed"
DATE = r"a date with time, such as 2023-11-16 18:17:03\.9799600, is needed"
TIME = r"a number from 0 to 9e\+09, or a date with time, is needed"


def line_7(text: str, old: str, new: str) -> str:
    """The text with something else in its seventh line."""
    lines = text.splitlines(keepends=True)
    assert old in lines[6]
    lines[6] = lines[6].replace(old, new)
    return "".join(lines)


BROKEN_PLAIN = {
    "not a number": (line_7(PLAIN, "105", "many"), rf"t\.csv line 7: prompt_tokens is 'many'; {TOKENS}"),
    "negative prompt": (line_7(PLAIN, "105", "-105"), rf"t\.csv line 7: prompt_tokens is '-105'; {TOKENS}"),
    "no prompt": (line_7(PLAIN, "105", "0"), rf"t\.csv line 7: prompt_tokens is '0'; {TOKENS}"),
    "negative output": (line_7(PLAIN, ",15", ",-1"), rf"t\.csv line 7: output_tokens is '-1'; {OUTPUTS}"),
    "fraction": (line_7(PLAIN, ",15", ",1.5"), rf"t\.csv line 7: output_tokens is '1\.5'; {OUTPUTS}"),
    "nan": (line_7(PLAIN, ",15", ",NaN"), rf"t\.csv line 7: output_tokens is 'NaN'; {OUTPUTS}"),
    "inf": (line_7(PLAIN, ",15", ",inf"), rf"t\.csv line 7: output_tokens is 'inf'; {OUTPUTS}"),
    "empty cell": (line_7(PLAIN, ",15", ","), rf"t\.csv line 7: output_tokens is ''; {OUTPUTS}"),
    "giant": (line_7(PLAIN, ",15", ",10485761"), rf"t\.csv line 7: output_tokens is '10485761'; {OUTPUTS}"),
    "arrival before zero": (line_7(PLAIN, "5.5", "-5.5"), rf"t\.csv line 7: arrival_s is '-5\.5'; {TIME}"),
    "arrival nan": (line_7(PLAIN, "5.5", "nan"), rf"t\.csv line 7: arrival_s is 'nan'; {TIME}"),
    "arrival never": (line_7(PLAIN, "5.5", "1e300"), rf"t\.csv line 7: arrival_s is '1e300'; {TIME}"),
    "date among numbers": (
        line_7(PLAIN, "5.5", "2023-11-16 18:15"),
        rf"t\.csv line 7: arrival_s is '2023-11-16 18:15'; {TIME}",
    ),
    "too few cells": (
        line_7(PLAIN, ",chat", ""),
        r"t\.csv line 7: '5\.5 105 15' has 3 cells; 4 are needed, as in line 1",
    ),
    "too many cells": (line_7(PLAIN, "chat", "a,b"), r"t\.csv line 7: '5\.5 105 15 a b' has 5 cells; 4 are needed"),
    "cut short": (PLAIN[: PLAIN.rindex("7.5") + 2], r"t\.csv line 9: '7\.' has 1 cell; 4 are needed"),
    "open quote": (
        line_7(PLAIN, "chat", '"chat'),
        r"t\.csv line 7: unexpected end of data; cells separated by ',' are",
    ),
    "no arrival": (
        PLAIN.replace("arrival_s", "when"),
        r"t\.csv line 1: the header \(when, prompt_tokens, output_tokens, type\) has no column arrival_s",
    ),
    "no prompts": (PLAIN.replace("prompt_tokens", "p"), r"t\.csv line 1: .* has no column prompt_tokens"),
    "no outputs": (PLAIN.replace("output_tokens", "o"), r"t\.csv line 1: .* has no column output_tokens"),
    "twice": (
        PLAIN.replace("type", "Prompt Tokens"),
        r"t\.csv line 1: the header has 'prompt_tokens' 2 times; 1 is needed",
    ),
    "header only": (PLAIN[: PLAIN.index("\n")], r"t\.csv has a header and no rows; at least one request is needed"),
}

BROKEN_AZURE = {
    "no date": (line_7(AZURE, "2023-11-16 18:15:45.6805900", ""), rf"t\.csv line 7: TIMESTAMP is ''; {DATE}"),
    "number": (line_7(AZURE, "2023-11-16 18:15:45.6805900", "45.68"), rf"t\.csv line 7: TIMESTAMP is '45\.68'; {DATE}"),
    "month 13": (line_7(AZURE, "-11-", "-13-"), rf"t\.csv line 7: TIMESTAMP is '2023-13-16 18:15:45\.6805900'; {DATE}"),
    "day only": (line_7(AZURE, " 18:15:45.6805900", ""), rf"t\.csv line 7: TIMESTAMP is '2023-11-16'; {DATE}"),
    "far future": (
        line_7(AZURE, "2023", "9023"),
        rf"t\.csv line 7: TIMESTAMP is '9023-11-16 18:15:45\.6805900'; {DATE}",
    ),
    "now": (line_7(AZURE, "2023-11-16 18:15:45.6805900", "now"), rf"t\.csv line 7: TIMESTAMP is 'now'; {DATE}"),
    "not a time": (line_7(AZURE, "2023-11-16 18:15:45.6805900", "NaT"), rf"t\.csv line 7: TIMESTAMP is 'NaT'; {DATE}"),
    "hour 25": (line_7(AZURE, " 18:", " 25:"), rf"t\.csv line 7: TIMESTAMP is '2023-11-16 25:15:45\.6805900'; {DATE}"),
    "negative": (line_7(AZURE, "105", "-105"), rf"t\.csv line 7: ContextTokens is '-105'; {TOKENS}"),
    "fraction": (line_7(AZURE, ",15", ",1.5"), rf"t\.csv line 7: GeneratedTokens is '1\.5'; {OUTPUTS}"),
    "words": (line_7(AZURE, ",15", ",none"), rf"t\.csv line 7: GeneratedTokens is 'none'; {OUTPUTS}"),
    "too few cells": (
        line_7(AZURE, ",15", ""),
        r"t\.csv line 7: '2023-11-16 18:15:45\.6805900 105' has 2 cells; 3 are",
    ),
    "cut short": (
        AZURE[: AZURE.rindex("2023") + 12],
        r"t\.csv line 9: '2023-11-16 1' has 1 cell; 3 are needed, as in line 1",
    ),
    "header only": (AZURE[: AZURE.index("\n") + 1], r"t\.csv has a header and no rows; at least one request is needed"),
}

BROKEN_FILES = {
    "empty": (b"", r"t\.csv is empty; at least one request is needed"),
    "blank": (b"\n \r\n\t\n", r"t\.csv is empty; at least one request is needed"),
    "no header": (b"0,100,10\n1,100,10\n", r"t\.csv begins with '0,100,10'; known layouts are Azure CSV \(TIMESTAMP,"),
    "other header": (b"name,age\nAnn,3\n", r"t\.csv begins with 'name,age'; known layouts are Azure CSV"),
    "json": (b'{"a": [1, 2]}', r"t\.csv begins with '{\"a\": \[1, 2\]}'; known layouts are"),
    "dense json": (b'{"a":1,"b":[2]}', r"t\.csv begins with '{\"a\":1,\"b\":\[2\]}'; known layouts are"),
    "binary": (b"\x89PNG\r\n\x1a\n\xff\xd8", r"t\.csv is not text: byte 0 is not UTF-8"),
    "zero byte": (PLAIN.replace("chat", "ch\0t").encode(), r"t\.csv is not text: character 56 is a zero byte"),
    "half utf-16": (PLAIN.encode("utf-16")[:-1], r"t\.csv is not text: byte \d+ is not UTF-16"),
    "latin-1": (PLAIN.replace("chat", "Größe").encode("latin-1"), r"t\.csv is not text: byte \d+ is not UTF-8"),
    "cut gzip": (gzip.compress(PLAIN.encode())[:-9], r"t\.csv is a damaged gzip file; a complete one is needed"),
    "altered gzip": (
        gzip.compress(PLAIN.encode())[:20] + b"xxxx" + gzip.compress(PLAIN.encode())[24:],
        r"t\.csv is a damaged gzip file; a complete one is needed",
    ),
    "open quote in header": (
        b'arrival_s,"prompt_tokens\n0,1,1\n',
        r"t\.csv begins with 'arrival_s,\"prompt_tokens'; known",
    ),
}


def refused(content: bytes, sentence: str) -> None:
    with pytest.raises(DataError, match=f"^{sentence}") as caught:
        read_trace(content, name="t.csv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("broken", BROKEN_PLAIN)
def test_broken_plain_csv_is_refused(broken):
    text, sentence = BROKEN_PLAIN[broken]
    refused(text.encode(), sentence)


@pytest.mark.parametrize("broken", BROKEN_AZURE)
def test_broken_azure_csv_is_refused(broken):
    text, sentence = BROKEN_AZURE[broken]
    refused(text.encode(), sentence)


@pytest.mark.parametrize("broken", BROKEN_FILES)
def test_broken_file_is_refused(broken):
    refused(*BROKEN_FILES[broken])


def test_line_is_counted_past_blank_lines_and_line_breaks_in_quotes():
    text = 'arrival_s,prompt_tokens,output_tokens,type\n\n0,1,1,"a\nb"\n\n1,x,1,c\n'
    refused(text.encode(), r"t\.csv line 6: prompt_tokens is 'x'")


def test_header_below_blank_lines_is_where_the_sentence_says():
    refused(
        b"\n\narrival_s,prompt_tokens\n0,1\n", r"t\.csv line 3: the header \(arrival_s, prompt_tokens\) has no column"
    )


def test_long_values_are_shortened():
    cell = "9" * 500
    with pytest.raises(DataError) as caught:
        read_trace(line_7(PLAIN, "105", cell).encode())
    assert len(str(caught.value)) < 200


def test_missing_file_is_refused_by_its_path(tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv does not exist; a trace file is needed$"):
        read_trace(tmp_path / "nowhere.csv")


def test_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot be read: is a directory"):
        read_trace(tmp_path)


def test_gzip_that_unpacks_beyond_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr("sim.workload.readers.text.MAX_TEXT_BYTES", 1000)
    refused(gzip.compress(b"0" * 1001), r"t\.csv has more than 1000 bytes of text; that is the most allowed")
    refused(b"0" * 1001, r"t\.csv has more than 1000 bytes of text; that is the most allowed")
