"""`vllm bench serve --save-result`, with and without `--save-detailed`; several results may be appended to a file.

Source: github.com/vllm-project/vllm, vllm/benchmarks/serve.py.
"""

import math

from sim.benchmarks.benchmark import Benchmark
from sim.benchmarks.client_rows import point_of
from sim.benchmarks.fields import Fields
from sim.benchmarks.model_name import common_model
from sim.benchmarks.result_file import ResultFile

TOOL = "vllm bench serve"
LAYOUT = f"{TOOL} JSON"
WORDS = "TPOT is (E2E - TTFT) / (n - 1) of each request and ITL pools all gaps, both as here."
MARKS = {"total_token_throughput", "tokenizer_id", "endpoint_type"}


def recognises(file: ResultFile) -> bool:
    """Whether the first object has what only this tool writes."""
    return not MARKS.isdisjoint(file.first.values)


def read(file: ResultFile) -> Benchmark:
    """The results in such a file.

    Raises
    ------
    DataError
        A value that is missing or cannot be right.
    """
    return Benchmark(
        name=file.text.name,
        sha256=file.text.sha256,
        tool=TOOL,
        model=common_model([(run, run.text_if_any("model_id")) for run in file.objects]),
        points=tuple(point_of(run, e2e="e2el", request_rate_rps=request_rate_rps(run)) for run in file.objects),
        words=WORDS,
    )


def request_rate_rps(run: Fields) -> float | None:
    """The rate asked for; infinite where the tool writes 'inf', None where requests came by a trace."""
    rate = run.values.get("request_rate")
    if rate == "trace":
        return None
    if rate in ("inf", math.inf):
        return math.inf
    return run.number("request_rate", least=1e-9)
