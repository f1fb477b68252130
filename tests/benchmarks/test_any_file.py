"""Whatever the file, it is found out what it is."""

import pytest

from sim.benchmarks import Benchmark, Scrape, read_data
from sim.benchmarks.any_file import LAYOUTS
from sim.errors import DataError
from sim.workload import Trace
from tests.data_files import DATA

KINDS = {"traces": Trace, "benchmarks": Benchmark, "scrapes": Scrape}
FILES = [path for folder in KINDS for path in sorted((DATA / folder).iterdir())]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_kind_of_file_is_found_out(path):
    data = read_data(path)
    assert type(data) is KINDS[path.parent.name]
    assert data.name == path.name.replace("-dataset.json", "-trace.csv")


def test_plain_traces_and_uploads_of_two_files_are_found_out():
    assert isinstance(read_data(b"arrival_s,prompt_tokens,output_tokens\n0,1,2\n"), Trace)
    rates, lengths = (DATA / "traces" / name for name in ("chunk-1-trace.csv", "chunk-1-dataset.json"))
    trace = read_data(rates.read_bytes(), rates.name, others={lengths.name: lengths.read_bytes()})
    assert isinstance(trace, Trace)


@pytest.mark.parametrize(
    ("content", "pattern"),
    [
        (b"", "^d is empty; at least one result is needed$"),
        (b"name,age\nAnn,3\n", "^d begins with 'name,age'; known layouts are "),
        (b'{"a": 1', "^d line 1: .*; JSON is needed$"),
        (b"\x89PNG", "^d is not text: byte 0 is not UTF-8$"),
    ],
)
def test_unknown_files_are_refused(content, pattern):
    with pytest.raises(DataError, match=pattern):
        read_data(content, "d")


def test_the_sentence_about_an_unknown_file_names_every_layout():
    with pytest.raises(DataError) as caught:
        read_data(b"name,age\nAnn,3\n")
    assert all(layout in str(caught.value) for layout in LAYOUTS)
