"""SGLang's `bench_serving`: a JSON object a line, one for each run; details with `--output-details`.

Source: github.com/sgl-project/sglang, python/sglang/bench_serving.py.
"""

from sim.benchmarks.benchmark import Benchmark
from sim.benchmarks.client_rows import point_of
from sim.benchmarks.fields import Fields
from sim.benchmarks.model_name import common_model
from sim.benchmarks.result_file import ResultFile
from sim.benchmarks.vllm_bench import request_rate_rps

TOOL = "SGLang bench_serving"
LAYOUT = f"{TOOL} JSON lines"
WORDS = "TPOT is (E2E - TTFT) / (n - 1) of each request and ITL pools all gaps, both as here."
MARKS = {"total_output_tokens_retokenized", "mean_e2e_latency_ms", "random_range_ratio"}


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
        model=common_model([(run, _model(run)) for run in file.objects]),
        points=tuple(point_of(run, e2e="e2e_latency", request_rate_rps=request_rate_rps(run)) for run in file.objects),
        words=WORDS,
    )


def _model(run: Fields) -> str | None:
    """What the server says it serves, where it was asked."""
    return run.setting("server_info").text_if_any("model_path")
