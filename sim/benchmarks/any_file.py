"""Whatever somebody has: a trace, the results of a benchmark, or the metrics of a running server."""

from collections.abc import Mapping

from sim.benchmarks import detect, scrape
from sim.benchmarks.benchmark import Benchmark
from sim.benchmarks.result_file import taken_apart
from sim.benchmarks.scrape import Scrape
from sim.errors import DataError
from sim.workload.readers import detect as trace_detect
from sim.workload.readers.text import NO_OTHERS, Source, text_file
from sim.workload.trace import Trace

LAYOUTS = (*trace_detect.LAYOUTS, *detect.LAYOUTS, scrape.LAYOUT)


def read_data(
    source: Source, name: str | None = None, *, others: Mapping[str, bytes] = NO_OTHERS
) -> Trace | Benchmark | Scrape:
    """Read a file and find out what it is; gzip is unpacked.

    Parameters
    ----------
    source : path or bytes
        Where the file is, or what is in it.
    name : str, optional
        How sentences and results call it; else the path's last part.
    others : mapping from name to bytes, optional
        Files that came with it, for layouts of two files.

    Raises
    ------
    DataError
        In one sentence that names file, line or key, value and what is wanted.
    """
    file = text_file(source, name, others=others, what="data")
    if scrape.recognises(file):
        return scrape.scrape_of(file)
    refusal = file.of_no_layout(LAYOUTS)
    try:
        results = taken_apart(file)
    except DataError as error:  # perhaps a trace all the same: lists are no results
        refusal = error
    else:
        benchmark = detect.benchmark_if_any(results)
        if benchmark is not None:
            return benchmark
    trace = trace_detect.trace_if_any(file)
    if trace is None:
        raise refusal
    return trace
