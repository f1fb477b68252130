"""Which tool wrote a benchmark's results: the list that every reader joins."""

from typing import Protocol

from sim.benchmarks import guidellm, nvidia, nvidia_csv, nvidia_records, points_csv, sglang_bench, vllm_bench
from sim.benchmarks.benchmark import Benchmark
from sim.benchmarks.result_file import ResultFile, result_file
from sim.workload.readers.text import Source


class Reader(Protocol):
    """A module that reads one layout."""

    LAYOUT: str  # its name, with what it looks like

    def recognises(self, file: ResultFile) -> bool:
        """Whether the file claims to have this layout."""

    def read(self, file: ResultFile) -> Benchmark:
        """The results in a file that is recognised."""


# The first that recognises a file reads it.
READERS: tuple[Reader, ...] = (
    *(sglang_bench, vllm_bench, guidellm),
    *(nvidia_records, nvidia, nvidia_csv),
    points_csv,
)
LAYOUTS = tuple(reader.LAYOUT for reader in READERS)


def read_benchmark(source: Source, name: str | None = None) -> Benchmark:
    """Read the results of a serving benchmark, whatever tool wrote them; gzip is unpacked.

    Parameters
    ----------
    source : path or bytes
        Where the file is, or what is in it.
    name : str, optional
        How sentences and results call it; else the path's last part.

    Raises
    ------
    DataError
        In one sentence that names file, line or key, value and what is wanted.
    """
    file = result_file(source, name)
    benchmark = benchmark_if_any(file)
    if benchmark is not None:
        return benchmark
    raise file.text.of_no_layout(LAYOUTS)


def benchmark_if_any(file: ResultFile) -> Benchmark | None:
    """The results in a file; None where no reader recognises it."""
    return next((reader.read(file) for reader in READERS if reader.recognises(file)), None)
