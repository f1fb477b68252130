"""AIPerf's and GenAI-Perf's summary JSON: a block of statistics for each metric, one run a file.

Source: github.com/ai-dynamo/aiperf, docs/reference/json-export-schema.md; github.com/triton-inference-server/
perf_analyzer, genai-perf.
"""

import math

from sim.benchmarks.benchmark import NOT_MEASURED, Benchmark, Point, Stats
from sim.benchmarks.fields import LARGEST, Fields
from sim.benchmarks.result_file import ResultFile

LAYOUT = "AIPerf or GenAI-Perf JSON"
WORDS = (
    "Inter token latency is (E2E - TTFT) / (n - 1) of each request: TPOT here. Inter chunk latency pools all gaps: "
    "ITL here."
)
NO_LOAD = "The file says neither concurrency nor request rate."
TTFT = ("time_to_first_token", "ttft")  # newest name first
TPOT, ITL, E2E = "inter_token_latency", "inter_chunk_latency", "request_latency"
MS_PER_UNIT = {"ms": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3, "us": 1e-3, "ns": 1e-6}


def recognises(file: ResultFile) -> bool:
    """Whether it has a block of statistics for one of the metrics."""
    blocks = _blocks(file.first)
    return any(isinstance(blocks.values.get(name), dict) for name in (*TTFT, TPOT, E2E, "request_throughput"))


def read(file: ResultFile) -> Benchmark:
    """The result in such a file.

    Raises
    ------
    DataError
        A value that is missing or cannot be right.
    """
    run, blocks = file.first, _blocks(file.first)
    config = run.setting("input_config")
    is_aiperf = "records" in run.values or not {"aiperf_version", "schema_version"}.isdisjoint(run.values)
    is_aiperf |= not {"loadgen", "phases"}.isdisjoint(config.values)
    concurrency, rate = _load(config)
    point = Point(
        concurrency=concurrency,
        request_rate_rps=rate,
        num_prompts=blocks.part("request_count").whole_if_any("avg"),
        prompt_tokens=blocks.part("input_sequence_length").number("avg", least=1),
        output_tokens=blocks.part("output_sequence_length").number("avg", least=1),
        ttft_ms=_stats(blocks.part(next((name for name in TTFT if name in blocks.values), TTFT[0]))),
        tpot_ms=_stats(blocks.part(TPOT)),
        itl_ms=_stats(blocks.part(ITL)),
        e2e_ms=_stats(blocks.part(E2E)),
        requests_per_s=_single(blocks, "request_throughput"),
        output_tokens_per_s=_single(blocks, "output_token_throughput"),
        duration_s=_single(blocks, "benchmark_duration"),
    )
    return Benchmark(
        name=file.text.name,
        sha256=file.text.sha256,
        tool="AIPerf" if is_aiperf else "GenAI-Perf",
        model=_model(config),
        points=(point,),
        words=WORDS,
        notes=() if rate is not None else (NO_LOAD,),
    )


def ms_per_unit(block: Fields) -> float:
    """What makes milliseconds of the values in a block.

    Raises
    ------
    DataError
        Its unit is none of time.
    """
    unit = block.values.get("unit")
    if not isinstance(unit, str) or unit not in MS_PER_UNIT:
        raise block.refuse("unit", f"one of {', '.join(MS_PER_UNIT)} is needed")
    return MS_PER_UNIT[unit]


def _blocks(run: Fields) -> Fields:
    """Where the blocks are: early versions of AIPerf had them one level down."""
    return run.part("records") if isinstance(run.values.get("records"), dict) else run


def _single(blocks: Fields, name: str) -> float | None:
    return blocks.part(name).number_if_any("avg")


def _stats(block: Fields) -> Stats:
    if not block.values:
        return NOT_MEASURED
    factor = ms_per_unit(block)
    values = (block.number_if_any(which, most=LARGEST / factor) for which in ("avg", "p50", "p99"))
    return Stats(*(None if value is None else value * factor for value in values))


def _load(config: Fields) -> tuple[int | None, float | None]:
    """Concurrency and request rate, wherever this version has them."""
    phases = config.parts("phases") if isinstance(config.values.get("phases"), list) else []
    profiling = [each for each in phases if each.values.get("name") in ("profiling", None)]
    places = [*profiling, config.setting("loadgen"), config.setting("perf_analyzer", "stimulus"), config]
    for place in places:
        concurrency = place.whole_if_any("concurrency")
        rate = place.number_if_any("request_rate", least=1e-9) or place.number_if_any("rate", least=1e-9)
        if concurrency is not None or rate is not None:
            return concurrency, rate or math.inf
    return None, None


def _model(config: Fields) -> str | None:
    for place, key in ((config.setting("endpoint"), "model_names"), (config, "model_names"), (config, "model")):
        names = place.values.get(key)
        if isinstance(names, list) and names:
            names = names[0]
        if isinstance(names, str):
            return names
    return None
