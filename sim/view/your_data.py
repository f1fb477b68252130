"""What somebody's file is, in words, and the scenarios that use it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from sim.benchmarks import Benchmark, Scrape
from sim.cost.calibration import Calibration
from sim.cost.calibration_fit import PARAMETERS
from sim.cost.measured_point import MeasuredPoint, Simulated, points_of
from sim.lengths_spec import Lengths, Quantiles
from sim.scenario import Scenario
from sim.studies.length_profile import Outputs
from sim.studies.load_curve import mean_rate_rps
from sim.view.number_words import counted, short_number, short_percent
from sim.workload import Trace

Data = Trace | Benchmark | Scrape
FEWEST_POINTS = 2  # fewer say nothing of points left out
QUANTILES = 101
LEAST_CLIENT_MS = 0.5  # below it would show as 0
PARAMETER_LABELS = {
    "fixed_ms": "Fixed time of a step (ms)",
    "inv_eff_mem": "Reading weights (x datasheet time)",
    "inv_eff_kv": "Reading KV cache (x datasheet time)",
    "inv_eff_flop": "Matrix products (x datasheet time)",
    "inv_eff_attn": "Prefill attention (x datasheet time)",
}


class Kind(NamedTuple):
    """What can be brought, and what comes of it."""

    title: str
    gives: str
    formats: str
    example: str  # the plainest file that is taken


TRAFFIC = Kind(
    "Traffic",
    "A trace: its output lengths beside real data sets; replay it, or use its lengths under any load.",
    "Azure, BurstGPT, Mooncake, ServeGen (both files at once), Bailian, APEX, LLMServingSim, lengths only, or plain "
    "CSV.",
    "arrival_s,prompt_tokens,output_tokens\n0.0,512,180\n0.4,1350,42",
)
KINDS = (
    TRAFFIC,
    Kind(
        "Step times",
        "A benchmark of your deployment: step times fitted to it, with the error of every point that was left out.",
        "vllm bench serve, SGLang bench_serving, AIPerf, GenAI-Perf, GuideLLM, or a CSV of concurrency, lengths, TTFT "
        "and TPOT.",
        "concurrency,isl,osl,ttft_mean_ms,tpot_mean_ms\n1,512,128,20.5,7.5\n64,512,128,310,14.5",
    ),
    Kind(
        "Your server now",
        "Its metrics: running, waiting, KV use and latencies beside the simulation; its lengths and KV blocks to use.",
        "The Prometheus text of a vLLM server.",
        "curl http://server:8000/metrics > now.prom",
    ),
)


class Described(NamedTuple):
    """A file in words."""

    sentence: str
    notes: tuple[str, ...]  # what its reader had to decide


def described(data: Data) -> Described:
    """What a file is and how many rows it has."""
    if isinstance(data, Trace):
        return Described(_trace_sentence(data), data.notes)
    if isinstance(data, Benchmark):
        loads = ", ".join(point.load for point in points_of(data)[0]) or "neither users nor rate is known"
        model = f" of {data.model}" if data.model else ""
        runs = counted(len(data.points), "run")
        return Described(f"{data.name}: benchmark ({data.tool}){model}, {runs}: {loads}.", (data.words, *data.notes))
    parts = [f"{data.name}: metrics of a vLLM server" + (f" with {data.model}" if data.model else "")]
    parts.append(counted(data.engines, "engine"))
    if data.finished is not None:
        parts.append(f"{data.finished:,.0f} requests answered since its start")
    return Described(", ".join(parts) + ".", data.notes)


def _trace_sentence(trace: Trace) -> str:
    over = counted(len(trace), "request")
    if trace.arrival_s is None:
        over += ", lengths only"
    elif trace.arrival_s[-1] > 0:
        over += f" over {trace.arrival_s[-1]:,.0f} s, {short_number(mean_rate_rps(trace))} a second"
    else:
        over += " at one instant"
    prompt = "" if trace.prompt_len is None else f"median prompt {np.median(trace.prompt_len):,.0f}, "
    return (
        f"{trace.name}: trace ({trace.layout.partition(' (')[0]}), {over}; {prompt}median "
        f"output {np.median(trace.output_len):,.0f} tokens."
    )


def measured_points(benchmark: Benchmark) -> tuple[list[MeasuredPoint], list[str]]:
    """The runs that a fit can use, and one sentence for each of the others."""
    return points_of(benchmark)


def fit_key(scenario: Scenario) -> str:
    """What a fit depends on of a scenario: neither load, targets nor step time."""
    return scenario.model_dump_json(exclude={"about", "workload", "slo", "cost"})


def coefficient_rows(found: Calibration) -> dict[str, list[Any]]:
    """The five parameters before and after, as columns."""
    return {
        "Coefficient": [PARAMETER_LABELS[name] for name in PARAMETERS],
        "Catalogue": [round(value, 3) for value in found.catalogue],
        "Fitted": [round(value, 3) for value in found.values],
        "": ["not determined" if name in found.weak else "" for name in PARAMETERS],
    }


def point_rows(found: Calibration) -> dict[str, list[Any]]:
    """Every measured point with the simulation's deviations, as columns."""
    points = [each.point for each in found.points]
    return {
        "Load": [point.load for point in points],
        "Prompt": [round(point.prompt_tokens) for point in points],
        "Output": [round(point.output_tokens) for point in points],
        "TPOT (ms)": [round(point.tpot_ms, 2) for point in points],
        "Catalogue": [_deviation(each.point, each.catalogue) for each in found.points],
        "Fitted": [_deviation(each.point, each.fitted) for each in found.points],
        "Left out": [_deviation(each.point, each.left_out) for each in found.points],
    }


def fit_sentence(found: Calibration) -> str:
    """How good a fit is."""
    words = {"catalogue": "by the catalogue", "fitted": "fitted", "left_out": "left out of the fit"}
    errors = [f"{error:.1f} % {words[way]}" for way in words if (error := found.error_percent(way)) is not None]
    is_felt = found.client_ms is not None and found.client_ms >= LEAST_CLIENT_MS
    client = "" if not is_felt else f" TTFT holds {found.client_ms:.0f} ms that no step explains."
    return f"Mean TPOT error over {len(found.points)} points: {', '.join(errors)}.{client}"


def fit_warnings(found: Calibration) -> list[str]:
    """What makes a fit doubtful, with the parameters called as in the table."""
    names = {name: label.partition(" (")[0].lower().replace(" kv ", " KV ") for name, label in PARAMETER_LABELS.items()}
    return [f"{_replaced(sentence, names)}." for sentence in found.warnings]


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, by in words.items():
        text = text.replace(word, by)
    return text[:1].upper() + text[1:]


def with_calibration(scenario: Scenario, found: Calibration) -> Scenario:
    """The scenario with the step time that was fitted."""
    cost = scenario.cost.model_copy(update={"source": "calibrated", "coefficients": found.step})
    return scenario.model_copy(update={"cost": cost})


def with_lengths(scenario: Scenario, prompt: Lengths | None, output: Lengths | None) -> Scenario:
    """The scenario with measured lengths in place of its own; None keeps its first type's."""
    workload = scenario.workload
    first = workload.types[0]
    lengths = {"prompt": prompt or first.prompt, "output": output or first.output}
    task = first.model_copy(update={"name": "measured", "share": 1.0, "cap": None, **lengths})
    return scenario.model_copy(update={"workload": workload.model_copy(update={"types": (task,)})})


def with_cache_of(scenario: Scenario, scrape: Scrape) -> Scenario:
    """The scenario with the KV blocks that a server reports for one engine."""
    blocks = {"num_gpu_blocks_override": scrape.num_gpu_blocks, "block_size": scrape.block_size}
    known = {field: value for field, value in blocks.items() if value is not None}
    return scenario.model_copy(update={"deployment": scenario.deployment.model_copy(update=known)})


def trace_outputs(trace: Trace) -> Outputs:
    """A trace's output lengths, of one type."""
    return Outputs(trace.output_len, np.zeros(len(trace), np.int64), ("this trace",))


def trace_lengths(trace: Trace) -> tuple[Lengths | None, Lengths]:
    """Distributions of a trace's prompts and outputs, by quantiles."""
    prompt = None if trace.prompt_len is None else _quantiles(trace.prompt_len)
    return prompt, _quantiles(trace.output_len)


def scrape_lengths(scrape: Scrape) -> tuple[Lengths | None, Lengths | None]:
    """Distributions of prompts and outputs by a server's histograms."""
    prompt, output = scrape.prompt, scrape.output
    return (None if prompt is None else prompt.lengths), (None if output is None else output.lengths)


def _quantiles(lengths: "np.ndarray[Any, Any]") -> Quantiles:
    at = np.linspace(0.0, 1.0, QUANTILES)
    return Quantiles(points=tuple(zip(at.tolist(), np.quantile(lengths, at).tolist(), strict=True)))


def _deviation(point: MeasuredPoint, run: Simulated | None) -> str:
    return "-" if run is None else f"{100 * (run.tpot_ms / point.tpot_ms - 1):+.1f} %"


def length_words(name: str, count: int, mean: float | None) -> str:
    """Lengths of a server in words."""
    return f"{name}: {counted(count, 'request')}" + ("" if mean is None else f", mean {mean:,.0f} tokens")


def scrape_words(scrape: Scrape) -> Iterator[str]:
    """What a server says about lengths and cache."""
    for name, counts in (("prompts", scrape.prompt), ("outputs", scrape.output)):
        if counts is not None:
            yield length_words(name, counts.count, counts.mean)
    if scrape.num_gpu_blocks is not None:
        yield f"KV cache of one engine: {scrape.num_gpu_blocks:,} blocks of {scrape.block_size or '?'} tokens"
    if scrape.prefix_cache_hit_rate is not None:
        yield f"prefix cache: {short_percent(scrape.prefix_cache_hit_rate)} of the tokens looked up were found"
