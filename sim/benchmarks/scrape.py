"""One scrape of vLLM's Prometheus metrics: what a server is asked for, and how it does.

Source: docs.vllm.ai, design/metrics (V1), with the names of earlier versions.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sim.benchmarks.benchmark import Stats
from sim.benchmarks.histograms import lengths_of, stats_ms_of
from sim.benchmarks.prometheus import Histogram, Samples, histogram_of, samples_of
from sim.errors import DataError, shown
from sim.lengths_spec import Quantiles
from sim.workload.readers.text import Source, TextFile, text_file

PROGRAM = "vllm:"
METRIC = re.compile(rf"^[\w:]*{PROGRAM}\w+[ {{]", re.MULTILINE)
LAYOUT = "vLLM Prometheus text (vllm:...)"
ONE_TOKEN = "vLLM counts answers of one token with a TPOT of 0."
# Names, newest first.
KV_USAGE = ("kv_cache_usage_perc", "gpu_cache_usage_perc")
ITL = ("inter_token_latency_seconds", "time_per_output_token_seconds")


@dataclass(frozen=True, eq=False)
class TokenCounts:
    """Lengths of finished requests since the server started.

    Parameters
    ----------
    count : int
        Requests.
    mean : float or None
        Tokens.
    lengths : Quantiles
        Their distribution, for a scenario: straight lines between the edges of the server's buckets.
    """

    count: int
    mean: float | None
    lengths: Quantiles


@dataclass(frozen=True, eq=False)
class Scrape:
    """A server at one moment, and since it started. None: the scrape does not say.

    Parameters
    ----------
    name, sha256 : str
        File name without folders, and hash of its bytes.
    model : str or None
        As the server calls it.
    engines : int
        Engines that report, whose counts are added up (data parallel).
    running, waiting : float or None
        Requests at this moment.
    kv_usage : float or None
        Share of the KV blocks in use at this moment, mean over engines.
    preemptions, finished, prompt_tokens, output_tokens : float or None
        Since the start.
    prefix_cache_hit_rate : float or None
        Share of the tokens looked up that were found, since the start.
    prompt, output : TokenCounts or None
        Lengths, since the start.
    ttft_ms, tpot_ms, itl_ms, e2e_ms, queue_ms : Stats
        Since the start, quantiles interpolated in the server's buckets; TPOT of each request, all gaps pooled.
    num_gpu_blocks, block_size : int or None
        Of one engine's KV cache.
    notes : tuple of str
        What the reader had to decide, one sentence each.
    """

    name: str
    sha256: str
    model: str | None
    engines: int
    running: float | None
    waiting: float | None
    kv_usage: float | None
    preemptions: float | None
    finished: float | None
    prompt_tokens: float | None
    output_tokens: float | None
    prefix_cache_hit_rate: float | None
    prompt: TokenCounts | None
    output: TokenCounts | None
    ttft_ms: Stats
    tpot_ms: Stats
    itl_ms: Stats
    e2e_ms: Stats
    queue_ms: Stats
    num_gpu_blocks: int | None
    block_size: int | None
    notes: tuple[str, ...] = ()


def recognises(file: TextFile) -> bool:
    """Whether there is a line that begins with a metric of vLLM's."""
    return METRIC.search(file.text) is not None


def read_scrape(source: Source, name: str | None = None) -> Scrape:
    """Read what `curl http://server:8000/metrics` prints; gzip is unpacked.

    Parameters
    ----------
    source : path or bytes
        Where the file is, or what is in it.
    name : str, optional
        How sentences and results call it; else the path's last part.

    Raises
    ------
    DataError
        In one sentence that names file, line or metric, value and what is wanted.
    """
    return scrape_of(text_file(source, name, what="metrics"))


def scrape_of(file: TextFile) -> Scrape:
    """As `read_scrape`, of a file that has been opened."""
    samples = samples_of(file, PROGRAM)
    tpot = histogram_of(samples, "request_time_per_output_token_seconds")
    return Scrape(
        name=file.name,
        sha256=file.sha256,
        model=_model(samples),
        engines=max(1, len(samples.of.get("num_requests_running", ()))),
        running=samples.total("num_requests_running"),
        waiting=samples.total("num_requests_waiting"),
        kv_usage=_kv_usage(samples),
        preemptions=samples.total("num_preemptions_total"),
        finished=samples.total("request_success_total"),
        prompt_tokens=samples.total("prompt_tokens_total"),
        output_tokens=samples.total("generation_tokens_total"),
        prefix_cache_hit_rate=_hit_rate(samples),
        prompt=_token_counts(samples, "request_prompt_tokens"),
        output=_token_counts(samples, "request_generation_tokens"),
        ttft_ms=stats_ms_of(histogram_of(samples, "time_to_first_token_seconds")),
        tpot_ms=stats_ms_of(tpot),
        itl_ms=stats_ms_of(_first_histogram(samples, ITL)),
        e2e_ms=stats_ms_of(histogram_of(samples, "e2e_request_latency_seconds")),
        queue_ms=stats_ms_of(histogram_of(samples, "request_queue_time_seconds")),
        num_gpu_blocks=_cache_setting(samples, "num_gpu_blocks"),
        block_size=_cache_setting(samples, "block_size"),
        notes=() if tpot is None else (ONE_TOKEN,),
    )


def _model(samples: Samples) -> str | None:
    names = samples.label_values("model_name")
    if len(names) > 1:
        raise DataError(f"{samples.file}: model_name is '{names[0]}' and '{names[1]}'; one model a scrape is needed")
    return names[0] if names else None


def _kv_usage(samples: Samples) -> float | None:
    for metric in KV_USAGE:
        for sample in samples.of.get(metric, ()):
            if sample.value > 1:
                where = f"{samples.file} line {sample.line}: {metric}"
                raise DataError(f"{where} is {shown(sample.value)}; a share from 0 to 1 is needed")
        if (usage := samples.mean(metric)) is not None:
            return usage
    return None


def _hit_rate(samples: Samples) -> float | None:
    queries, hits = samples.total("prefix_cache_queries_total"), samples.total("prefix_cache_hits_total")
    return hits / queries if queries and hits is not None else None


def _token_counts(samples: Samples, metric: str) -> TokenCounts | None:
    histogram = histogram_of(samples, metric)
    if histogram is None:
        return None
    return TokenCounts(round(histogram.total), histogram.mean, lengths_of(histogram))


def _first_histogram(samples: Samples, metrics: Sequence[str]) -> Histogram | None:
    found = (histogram_of(samples, metric) for metric in metrics)
    return next((histogram for histogram in found if histogram is not None), None)


def _cache_setting(samples: Samples, label: str) -> int | None:
    """A number that vLLM reports as a label of its cache configuration."""
    for sample in samples.of.get("cache_config_info", ()):
        text = sample.labels.get(label)
        if text is not None and text.isdecimal():
            return int(text)
    return None
