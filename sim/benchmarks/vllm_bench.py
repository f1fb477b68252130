"""`vllm bench serve --save-result`, with and without `--save-detailed`; several results may be appended to a file.

Source: github.com/vllm-project/vllm, vllm/benchmarks/serve.py.
"""

from sim.benchmarks.benchmark import Benchmark
from sim.benchmarks.client_rows import benchmark_of
from sim.benchmarks.result_file import ResultFile

TOOL = "vllm bench serve"
LAYOUT = f"{TOOL} JSON"
MARKS = {"total_token_throughput", "tokenizer_id", "endpoint_type"}


def recognises(file: ResultFile) -> bool:
    """Whether the first object has what only this tool writes."""
    return not MARKS.isdisjoint(file.first.values)


def read(file: ResultFile) -> Benchmark:
    """The results in such a file; raises as `benchmark_of`."""
    return benchmark_of(file, TOOL, e2e="e2el", model=lambda run: run.text_if_any("model_id"))
