"""What vLLM's and SGLang's benchmark clients write of a run, and, in parallel lists, of each of its requests.

Both have the same keys but for the time of a whole request, and both mean the same by them.
"""

import math
from collections.abc import Callable

import numpy as np

from sim.benchmarks.benchmark import Benchmark, MeasuredRequests, Point, Stats
from sim.benchmarks.fields import Fields
from sim.benchmarks.model_name import common_model
from sim.benchmarks.result_file import ResultFile
from sim.errors import DataError

WORDS = "TPOT is (E2E - TTFT) / (n - 1) of each request and ITL pools all gaps, both as here."


def benchmark_of(file: ResultFile, tool: str, *, e2e: str, model: Callable[[Fields], str | None]) -> Benchmark:
    """The results in a file of either client.

    Parameters
    ----------
    file : ResultFile
    tool : str
        Whose file it is.
    e2e : str
        What the tool calls the time of a whole request.
    model : callable
        What a run says of the model it measured.

    Raises
    ------
    DataError
        A value that is missing or cannot be right.
    """
    return Benchmark(
        name=file.text.name,
        sha256=file.text.sha256,
        tool=tool,
        model=common_model([(run, model(run)) for run in file.objects]),
        points=tuple(_point(run, e2e) for run in file.objects),
        words=WORDS,
    )


def _point(run: Fields, e2e: str) -> Point:
    completed = run.whole("completed")
    duration_s = run.number("duration", least=1e-9)
    output_tokens = run.number("total_output_tokens", least=1)
    return Point(
        concurrency=run.whole_if_any("max_concurrency"),
        request_rate_rps=_request_rate_rps(run),
        burstiness=run.number_if_any("burstiness"),
        num_prompts=completed,
        prompt_tokens=run.number("total_input_tokens", least=1) / completed,
        output_tokens=output_tokens / completed,
        ttft_ms=_stats(run, "ttft"),
        tpot_ms=_stats(run, "tpot"),
        itl_ms=_stats(run, "itl"),
        e2e_ms=_stats(run, e2e),
        requests_per_s=completed / duration_s,
        output_tokens_per_s=output_tokens / duration_s,
        duration_s=duration_s,
        requests=_requests(run),
    )


def _request_rate_rps(run: Fields) -> float | None:
    """The rate asked for; infinite where the tool writes 'inf', None where requests came by a trace."""
    rate = run.values.get("request_rate")
    if rate == "trace":
        return None
    if rate in ("inf", math.inf):
        return math.inf
    return run.number("request_rate", least=1e-9)


def _stats(run: Fields, metric: str) -> Stats:
    return Stats(*(run.number_if_any(f"{which}_{metric}_ms") for which in ("mean", "median", "p99")))


def _requests(run: Fields) -> MeasuredRequests | None:
    """The answered requests, where the run was saved with details."""
    if "ttfts" not in run.values:
        return None
    prompt_len, output_len = run.token_counts("input_lens", least=1), run.token_counts("output_lens", least=0)
    n = len(prompt_len)
    ttft_s, gaps_s = run.numbers("ttfts"), run.lists_of_numbers("itls")
    start_s = np.full(n, np.nan) if run.values.get("start_times") is None else run.numbers("start_times")
    answered = output_len > 0  # a failed request has 0, whatever its other lists hold
    for key in ("output_lens", "ttfts", "itls", "start_times", "errors"):
        _check_length(run, key, n)
    if run.values.get("errors") is not None:
        answered &= np.array([not error for error in run.values["errors"]], dtype=bool)
    sum_s = np.array([gaps.sum() for gaps in gaps_s])
    tpot_s = np.divide(sum_s, output_len - 1, out=np.full(n, np.nan), where=output_len > 1)
    return MeasuredRequests(
        prompt_len=prompt_len[answered],
        output_len=output_len[answered],
        start_s=start_s[answered],
        ttft_ms=1000 * ttft_s[answered],
        tpot_ms=1000 * tpot_s[answered],
        e2e_ms=1000 * (ttft_s + sum_s)[answered],
        max_itl_ms=1000 * np.array([gaps.max(initial=0.0) for gaps in gaps_s])[answered],
    )


def _check_length(run: Fields, key: str, n: int) -> None:
    """Refuse a list that has not one member a request; a list that is not there is fine."""
    values = run.values.get(key)
    if values is not None and not isinstance(values, list):
        raise run.refuse(key, "a list is needed")
    if values is not None and len(values) != n:
        raise DataError(f"{run.where}: {key} has {len(values)} values; {n} are needed, as input_lens has")
