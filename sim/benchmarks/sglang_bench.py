"""SGLang's `bench_serving`: a JSON object a line, one for each run; details with `--output-details`.

Source: github.com/sgl-project/sglang, python/sglang/bench_serving.py.
"""

from sim.benchmarks.benchmark import Benchmark
from sim.benchmarks.client_rows import benchmark_of
from sim.benchmarks.fields import Fields
from sim.benchmarks.result_file import ResultFile

TOOL = "SGLang bench_serving"
LAYOUT = f"{TOOL} JSON lines"
MARKS = {"total_output_tokens_retokenized", "mean_e2e_latency_ms", "random_range_ratio"}


def recognises(file: ResultFile) -> bool:
    """Whether the first object has what only this tool writes."""
    return not MARKS.isdisjoint(file.first.values)


def read(file: ResultFile) -> Benchmark:
    """The results in such a file; raises as `benchmark_of`."""
    return benchmark_of(file, TOOL, e2e="e2e_latency", model=_model)


def _model(run: Fields) -> str | None:
    """What the server says it serves, where it was asked."""
    return run.setting("server_info").text_if_any("model_path")
