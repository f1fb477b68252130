"""What a serving benchmark measured, in the words of this project whatever tool wrote it down."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Stats:
    """Mean, median and 99th percentile in milliseconds; None: not measured."""

    mean: float | None = None
    p50: float | None = None
    p99: float | None = None


NOT_MEASURED = Stats()


@dataclass(frozen=True, eq=False)
class MeasuredRequests:
    """Requests that were answered, one a row, in the order of the file. NaN: not measured.

    Parameters
    ----------
    prompt_len, output_len : (n,) int64
        Tokens.
    start_s : (n,) float64
        When the client sent it, from any origin.
    ttft_ms, tpot_ms, e2e_ms : (n,) float64
        As in metrics.md; `tpot_ms` of an answer of one token is NaN.
    max_itl_ms : (n,) float64
        Longest gap between two tokens.
    """

    prompt_len: Ints
    output_len: Ints
    start_s: Floats
    ttft_ms: Floats
    tpot_ms: Floats
    e2e_ms: Floats
    max_itl_ms: Floats


@dataclass(frozen=True, eq=False)
class Point:
    """One run of a benchmark at one load. None: the file does not say.

    Parameters
    ----------
    concurrency : int or None
        Most requests in flight at a time; None also where there is no limit.
    request_rate_rps : float or None
        Requests per second that were sent; infinite where all were ready at once.
    burstiness : float or None
        Of the arrivals, as vLLM's benchmark has it: 1 is Poisson.
    num_prompts : int or None
        Requests answered.
    prompt_tokens, output_tokens : float
        Mean lengths.
    ttft_ms, tpot_ms, itl_ms, e2e_ms : Stats
        TTFT; mean time per output token of each request; all gaps pooled; whole requests.
    requests_per_s, output_tokens_per_s : float or None
        Throughput over the run.
    duration_s : float or None
        Of the run.
    requests : MeasuredRequests or None
        One by one, where the file has them.

    Source: metrics.md, sections 1 and 5.
    """

    concurrency: int | None
    request_rate_rps: float | None
    num_prompts: int | None
    prompt_tokens: float
    output_tokens: float
    ttft_ms: Stats = NOT_MEASURED
    tpot_ms: Stats = NOT_MEASURED
    itl_ms: Stats = NOT_MEASURED
    e2e_ms: Stats = NOT_MEASURED
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    duration_s: float | None = None
    burstiness: float | None = None
    requests: MeasuredRequests | None = None

    @property
    def arrivals(self) -> Literal["closed_loop", "open_loop", "all_at_once", "unknown"]:
        """How the requests came."""
        if self.request_rate_rps is None:
            return "unknown"
        if math.isfinite(self.request_rate_rps):
            return "open_loop"
        return "all_at_once" if self.concurrency is None else "closed_loop"


@dataclass(frozen=True, eq=False)
class Benchmark:
    """All runs in a file.

    Parameters
    ----------
    name : str
        File name, without folders.
    sha256 : str
        Of the file's bytes.
    tool : str
        Which tool wrote it.
    model : str or None
        As the tool calls it.
    points : tuple of Point
        In the order of the file.
    words : str
        What the tool's words mean here.
    notes : tuple of str
        What the reader had to decide, one sentence each.
    """

    name: str
    sha256: str
    tool: str
    model: str | None
    points: tuple[Point, ...]
    words: str
    notes: tuple[str, ...] = ()


def stats_of(values: Floats) -> Stats:
    """Of measured values in milliseconds; NaN are left out.

    Source: metrics.md, section 2 (linear interpolation between order statistics).
    """
    values = values[~np.isnan(values)]
    if not len(values):
        return NOT_MEASURED
    return Stats(float(values.mean()), *(float(each) for each in np.quantile(values, [0.5, 0.99])))
