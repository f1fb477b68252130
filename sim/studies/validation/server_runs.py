"""Real server runs, request by request: the same arrivals and lengths on the same deployment, simulated."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim import Result, Scenario, Trace, simulate
from sim.catalog import gpu, gpu_names, model, model_names
from sim.engine.accounts import Bin
from sim.errors import DataError
from sim.gpu_memory import CUDA_GRAPHS_GIB
from sim.studies.validation.figures import Floats, Row, deviation_percent, error_percent, thinned
from sim.studies.validation.folder import catalogue_name
from sim.studies.validation.server_files import (
    OVER_TIME,
    REQUESTS,
    SERIES,
    Run,
    Settings,
    read_run,
    read_series,
    settings_of,
)
from sim.vllm_releases import NEWEST, vllm_release
from sim.workload.trace import trace_of

GRAPHS_COUNTED_SINCE = (0, 21)  # release from which on CUDA graphs are part of the memory budget
ASYNC_SINCE = (0, 14)  # release from which on a server schedules asynchronously unless told otherwise
STARVED_PERCENT = 95.0  # median KV use from which on a run is bound by its memory
HELD = (Bin.HELD_TYPICAL, Bin.HELD_STRAGGLER, Bin.FRAGMENTATION)
SHOWN = 120  # seconds of a time series that are kept


def server_runs(folder: Path, benchmarks: Path | None) -> Row:
    """All runs in a folder, each simulated.

    Parameters
    ----------
    folder : Path
        `NAME_requests.jsonl` and, if there is one, `NAME_timeseries.csv`; NAME is GPU and model.
    benchmarks : Path or None
        `serving_benchmarks.csv`, whose row of the same GPU and model says how the server was started.

    Raises
    ------
    DataError
        A file cannot be read.
    """
    runs, left_out = [], []
    for path in sorted(folder.glob(f"*{REQUESTS}")):
        name = path.name.removesuffix(REQUESTS)
        card_text, _, model_text = name.partition("_")
        card, shape = catalogue_name(card_text, gpu_names()), catalogue_name(model_text, model_names())
        if card is None or shape is None:
            left_out.append(f"{path.name}: '{card_text if card is None else model_text}' is not in the catalogue")
            continue
        try:
            runs.append(_compared(name, path, card, shape, settings_of(benchmarks, card, model_text)))
        except DataError:
            raise
        except ValueError as error:  # does not fit, or a release of unknown rules
            left_out.append(f"{path.name}: {error}")
    return {"runs": runs, "left_out": left_out}


def scenario_of(card: str, shape: str, settings: Settings) -> Scenario:
    """One replica of the server."""
    release = _numbers(settings.release)
    memory = Scenario().deployment.gpu_memory_utilization
    if release < GRAPHS_COUNTED_SINCE:
        memory += CUDA_GRAPHS_GIB / gpu(card).usable_memory_gib
    values: dict[str, Any] = {
        "deployment": {
            "model": shape,
            "gpu": card,
            "tensor_parallel_size": settings.gpus,
            "weight_dtype": settings.weight_dtype,
            "gpu_memory_utilization": memory,
        },
        "workload": {"arrivals": {"kind": "trace"}},
        "scheduler": {
            "max_num_seqs": settings.max_num_seqs,
            "max_num_batched_tokens": settings.max_num_batched_tokens,
            "vllm_release": vllm_release(settings.release or NEWEST.group).group,
            "async_scheduling": release >= ASYNC_SINCE,
        },
    }
    return Scenario(**values)


def _numbers(release: str) -> tuple[int, ...]:
    """A release's number; the newest where it is not known."""
    return tuple(int(part) for part in re.findall(r"\d+", release or NEWEST.group)[:3])


def _compared(name: str, path: Path, card: str, shape: str, settings: Settings) -> Row:
    measured = read_run(path)
    simulated, results = _simulated(scenario_of(card, shape, settings), measured, settings.replicas)
    over_time = _over_time(read_series(path.with_name(f"{name}{OVER_TIME}")), results)
    kv = over_time.get("kv_cache_pct")
    pairs = zip(measured.tpot_s.tolist(), simulated.tpot_s.tolist(), strict=True)
    return {
        "name": name,
        "gpu": card,
        "model": shape,
        "settings": settings._asdict(),
        "requests": len(measured.arrival_s),
        "kv_tokens": results[0].resolved.kv_tokens,
        "is_starved_for_kv": kv is not None and kv["measured_median"] >= STARVED_PERCENT,
        "caution": _caution(card, shape, settings),
        "figures": _figures(measured, simulated),
        "over_time": over_time,
        "parity": thinned([{"measured_ms": 1000 * real, "simulated_ms": 1000 * ours} for real, ours in pairs]),
    }


def _caution(card: str, shape: str, settings: Settings) -> str | None:
    """Why a run is not one that the simulator is held to."""
    if settings.replicas > 1:
        return "data parallel with experts spread over the replicas, which step together; simulated as independent"
    if settings.gpus > 1 and not gpu(card).has_fast_link:
        return "several GPUs without NVLink, predicted too fast"
    return "mixture of experts" if model(shape).is_moe else None


def _simulated(scenario: Scenario, measured: Run, replicas: int) -> tuple[Run, list[Result]]:
    """Requests dealt to the replicas in turn, and what became of all of them."""
    first, finish = np.full((2, len(measured.arrival_s)), np.nan)
    results = []
    for replica in range(min(replicas, len(first))):
        rows = np.arange(replica, len(first), replicas)
        result = simulate(scenario, _trace(measured, rows))
        first[rows] = measured.arrival_s[rows[0]] + result.run.outcome.first_token_s
        finish[rows] = measured.arrival_s[rows[0]] + result.finish_s
        results.append(result)
    return measured._replace(first_token_s=first, finish_s=finish), results


def _trace(measured: Run, rows: NDArray[np.int64]) -> Trace:
    return trace_of(
        "measured",
        "0" * 64,
        "server run",
        instant_ns=np.round(measured.arrival_s[rows] * 1e9).astype(np.int64),
        prompt_len=measured.prompt_len[rows],
        output_len=measured.output_len[rows],
    )


def _figures(measured: Run, simulated: Run) -> Row:
    """Errors of every request, medians and throughput."""
    pairs = {
        "ttft_p50_s": (float(np.nanmedian(measured.ttft_s)), float(np.nanmedian(simulated.ttft_s))),
        "tpot_p50_s": (float(np.nanmedian(measured.tpot_s)), float(np.nanmedian(simulated.tpot_s))),
        "e2e_p50_s": (float(np.nanmedian(measured.e2e_s)), float(np.nanmedian(simulated.e2e_s))),
        "output_tokens_per_s": (measured.output_tokens_per_s, simulated.output_tokens_per_s),
    }
    return {
        "tpot_error_percent": error_percent(simulated.tpot_s, measured.tpot_s),
        "e2e_error_percent": error_percent(simulated.e2e_s, measured.e2e_s),
        "ttft_difference_p50_s": float(np.nanmedian(np.abs(simulated.ttft_s - measured.ttft_s))),
        **{
            name: {"measured": real, "simulated": ours, "error_percent": deviation_percent(ours, real)}
            for name, (real, ours) in pairs.items()
        },
    }


def _over_time(series: dict[str, Floats] | None, results: list[Result]) -> Row:
    """Running, waiting and KV use second by second; series that were recorded as zeros throughout are left out."""
    if series is None:
        return {}
    ours = np.sum([_states(result, series["t"]) for result in results], axis=0)
    ours[2] /= len(results)
    shown = np.linspace(0, len(series["t"]) - 1, min(SHOWN, len(series["t"]))).round().astype(int)
    compared = {}
    for name, simulated in zip(SERIES, ours, strict=True):
        if series[name].any():
            compared[name] = {
                "mean_absolute_difference": float(np.mean(np.abs(simulated - series[name]))),
                "measured_median": float(np.median(series[name])),
                "simulated_median": float(np.median(simulated)),
                "t_s": series["t"][shown].tolist(),
                "measured": series[name][shown].tolist(),
                "simulated": simulated[shown].tolist(),
            }
    return compared


def _states(result: Result, at_s: Floats) -> Floats:
    """(3, times): running, waiting and KV use in percent, as means over the time bins that hold the times."""
    bins, width_s = result.run.bins, result.run.bin_width_s
    length_s = np.maximum(result.ledger.bin_durations_s(), 1e-12)
    used = bins[:, list(HELD)].sum(axis=1)
    means = (
        np.array([bins[:, Bin.RUNNING], bins[:, Bin.WAITING], 100 * used / result.resolved.usable_blocks]) / length_s
    )
    place = np.clip((at_s / width_s).astype(np.int64), 0, len(bins) - 1)
    ended = at_s > result.run.duration_s
    return np.where(ended, 0.0, means[:, place])
