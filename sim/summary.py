"""A run in numbers: one plain dict, ready for JSON, with None where a number is undefined or rests on too little.

Groups: `versions`, `scenario`, `requests` (counts by status, which add up to `total`), `tokens`, `metrics` (flat,
the unit is the end of each name), `steady_state`, `slo`, `memory_ledger` and `time_ledger` (rows, their sum and
what they must sum to), `paths`, `flags`, `step_time` (error to expect of it), `counters`.
"""

import math
import platform
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

import sim
from sim import metrics, slo, steady, utilization
from sim.cost import band
from sim.engine.accounts import Bin
from sim.metrics import Percentile
from sim.result import Result
from sim.scenario import Scenario
from sim.studies.saturated import plateau_tokens_per_s

Floats = NDArray[np.float64]
Group = dict[str, Any]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
HEAVY_TAIL_RATIO = 10.0  # of P99 to mean output length
LONGER = 1.2  # P99 of the output lengths over the one that the limits assume
FEWEST_WAITING = 100  # arrivals that a queue's trend is read off one by one
WAITED_LONG_S = 10.0  # a user who has seen nothing for so long is likely gone


def summary(result: Result) -> Group:
    """See the module's text. Counts are of the whole run; no figure is rounded."""
    groups = {
        "versions": versions(),
        "scenario": result.scenario.model_dump(mode="json"),
        "requests": requests(result),
        "tokens": tokens(result),
        "metrics": latencies(result) | throughputs(result) | efficiency(result),
        "steady_state": steady_state(result),
        "slo": service_level(result),
        "memory_ledger": memory_ledger(result),
        "time_ledger": time_ledger(result),
        "paths": result.ledger.paths_percent(),
        "flags": flags(result),
        "step_time": band(result.scenario)._asdict(),
        "counters": dict(result.run.counters),
    }
    plain: Group = _plain(groups)
    return plain


def versions() -> Group:
    """Whatever may change a result."""
    return {
        "longtail": sim.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
    }


def requests(result: Result) -> Group:
    """Requests by status, and how many of them clients sent because an answer had been cut."""
    group: Group = {"total": result.is_finished.size, **result.counts}
    if result.info.retry_of is not None:
        group["retries"] = int((result.info.retry_of >= 0).sum())
    return group


def tokens(result: Result) -> Group:
    """Tokens of the run."""
    outcome, total = result.run.outcome, result.run.bins.sum(axis=0)
    return {
        "prompt": int(result.inputs.prompt_len.sum()),
        "output": result.delivered_tokens,
        "cut_off": int((result.info.true_len - result.inputs.output_len)[result.is_cut_for_good].sum()),
        "prefilled": round(total[Bin.PREFILL_TOKENS]),
        "decoded": round(total[Bin.DECODE_TOKENS]),
        "recomputed": round(total[Bin.RECOMPUTED_TOKENS]),
        "found_in_cache": int(outcome.cached_tokens.sum()),
    }


def latencies(result: Result) -> Group:
    """Mean, percentiles and the number of values of every latency, in seconds."""
    values = {
        "ttft": result.ttft_s,
        "tpot": result.tpot_s,
        "e2e": result.e2e_s,
        "norm_latency": result.norm_latency_s,
        "queue_delay": result.queue_delay_s,
        "max_gap": result.max_gap_s,
    }
    group: Group = {"tpot_label": result.tpot_label}
    for name, value in values.items():
        group |= spread(name, value)
    group |= pooled_gaps(result)
    long_waits = metrics.share_waiting_longer(result.max_gap_s, WAITED_LONG_S)
    return group | {f"max_gap_over_{WAITED_LONG_S:.0f}s_share": long_waits}


def spread(name: str, values: Floats) -> Group:
    """Mean, percentiles, largest and count of one latency."""
    *inner, largest = metrics.percentiles(values, (*QUANTILES.values(), 1.0))
    shown = {f"{name}_{label}_s": in_display(q, at) for (label, q), at in zip(QUANTILES.items(), inner, strict=True)}
    return {f"{name}_mean_s": metrics.mean(values), **shown, f"{name}_max_s": largest.value, f"{name}_count": largest.m}


def pooled_gaps(result: Result) -> Group:
    """All gaps between tokens of all requests; undefined where a batch hands over all tokens at once."""
    if result.is_batch_delivery:
        return {f"itl_{label}_s": None for label in ("mean", *QUANTILES, "max")} | {"itl_count": 0}
    gaps = result.gaps
    shown = {f"itl_{label}_s": in_display(q, gaps.percentile(q)) for label, q in QUANTILES.items()}
    return {"itl_mean_s": gaps.mean_s(), **shown, "itl_max_s": largest_gap_s(result), "itl_count": gaps.m}


def largest_gap_s(result: Result) -> float:
    """Exact, from the requests' own largest gaps."""
    return float(np.max(result.run.outcome.max_itl_s, initial=0.0)) if result.gaps.m else math.nan


def in_display(q: float, at: Percentile) -> float | None:
    """The percentile, unless it rests on too few values."""
    return at.value if metrics.worth_showing(q, at.m) else None


def throughputs(result: Result) -> Group:
    """Amounts a second, from the first arrival to the last finish or the stop. Recomputed tokens are not output.

    The plateau, where all requests wait from the start, leaves out filling up and running empty.
    """
    duration_s = result.run.duration_s
    output = result.delivered_tokens
    answered = ~np.isnan(result.run.outcome.first_token_s)
    prompts = int(result.inputs.prompt_len[answered].sum())
    all_at_once = result.scenario.workload.arrivals.kind == "all_at_once"
    return {
        "duration_s": duration_s,
        "requests_per_s": metrics.per_second(int(result.is_finished.sum()), duration_s),
        "output_tokens_per_s": metrics.per_second(output, duration_s),
        "total_tokens_per_s": metrics.per_second(prompts + output, duration_s),
        "plateau_tokens_per_s": plateau_tokens_per_s(result) if all_at_once else None,
    }


def steady_state(result: Result) -> Group | None:
    """Throughputs between the end of the warm-up and the last arrival; None where all arrive at once."""
    run, outcome = result.run, result.run.outcome
    window = steady.steady_window(result.asked_s)
    if window is None:
        return None
    start_s, end_s = window.start_s, min(window.end_s, run.duration_s)
    window_s = end_s - start_s
    output = steady.amount_between(
        run.bins[:, Bin.OUTPUT_TOKENS], run.bin_width_s, run.duration_s, steady.Window(start_s, end_s)
    )
    finished = (result.finish_s > start_s) & (result.finish_s <= end_s)
    answered = (outcome.first_token_s > start_s) & (outcome.first_token_s <= end_s)
    prompts = int(result.inputs.prompt_len[answered].sum())
    return {
        "start_s": start_s,
        "end_s": end_s,
        "requests_per_s": metrics.per_second(int(finished.sum()), window_s),
        "output_tokens_per_s": metrics.per_second(output, window_s),
        "total_tokens_per_s": metrics.per_second(prompts + output, window_s),
    }


def efficiency(result: Result) -> Group:
    """How well slots and memory were used, and what was wasted."""
    ledger, counters, outcome = result.ledger, result.run.counters, result.run.outcome
    total = result.run.bins.sum(axis=0)
    slot_steps = result.resolved.max_num_seqs * counters["steps"]
    processed = total[Bin.PREFILL_TOKENS] + total[Bin.DECODE_TOKENS]
    straggler = outcome.memory_token_s @ (result.inputs.is_straggler > 0)
    return {
        "slot_util": _ratio(outcome.emitted.sum(), slot_steps),
        "effective_batch": _ratio(total[Bin.PRODUCING], result.run.duration_s),
        "padding_waste_slot_steps": counters["slot_steps_padding"],
        "kv_util": ledger.memory_share(Bin.HELD_TYPICAL, Bin.HELD_STRAGGLER),
        "kv_reserved_unused": ledger.memory_share(Bin.RESERVED_UNUSED),
        "kv_fragmentation": ledger.memory_share(Bin.FRAGMENTATION),
        "straggler_share": _ratio(straggler, outcome.memory_token_s.sum()),
        "recompute_share": _ratio(total[Bin.RECOMPUTED_TOKENS], processed),
        "mfu": utilization.mfu(result),
        "mbu": utilization.mbu(result),
        "preemptions": counters["preemptions"],
        "preempted_requests": int((outcome.num_preemptions > 0).sum()),
        "tail_ratio": metrics.tail_ratio(result.answer_len),
        "output_len_mean_tokens": metrics.mean(result.answer_len),
        "output_len_cv": metrics.cv(result.answer_len),
    }


def service_level(result: Result) -> Group:
    """Limits, attainment and goodput; None where the scenario sets no limit."""
    limits, met = result.limits, result.attainment
    if limits.is_empty:
        return {**limits._asdict(), "attainment": None, "goodput_rps": None}
    return {
        **limits._asdict(),
        "attainment": met.share,
        "goodput_rps": slo.goodput_rps(met.good, result.run.duration_s),
        "good": met.good,
        "counted": met.counted,
        "excluded_unfinished": met.excluded,
    }


def memory_ledger(result: Result) -> Group:
    """Rows in block-seconds."""
    rows = result.ledger.memory_block_s()
    whole = result.ledger.usable_blocks * result.run.duration_s
    return {"unit": "block_s", "rows": rows, "sum": math.fsum(rows.values()), "blocks_x_duration": whole}


def time_ledger(result: Result) -> Group:
    """Rows in seconds; of a pipeline, every stage has its own time."""
    rows, whole = result.ledger.time_s(), result.ledger.stages_x_duration_s
    return {
        "unit": "s",
        "rows": rows,
        "sum": math.fsum(rows.values()),
        "duration": result.run.duration_s,
        "stages_x_duration": whole,
    }


def flags(result: Result) -> Group:
    """Reasons to read the run with care; `unstable` is None where a queue has no trend to speak of."""
    by_number, by_work = (None, None) if result.inputs.users else _trends(result)
    is_growing = [trend.is_unstable for trend in (by_number, by_work) if trend is not None]
    last_s = float(np.nanmax(result.asked_s, initial=0.0))
    service = metrics.percentile(result.e2e_s - result.queue_delay_s, 0.5)
    service_s = service.value if service.m else math.inf  # nothing finished: shorter than any service
    return {
        "unstable": any(is_growing) if is_growing else None,
        "waiting_growth": None if by_number is None else by_number.growth,
        "waiting_work_growth": None if by_work is None else by_work.growth,
        "waiting_noise": None if by_number is None else by_number.noise,
        "too_short": steady.is_too_short(
            result.is_finished.size, result.inputs.users, last_s, service_s, period_s(result.scenario)
        ),
        "stopped_early": result.counts["unfinished"] > 0,
        **length_warnings(result),
    }


def period_s(scenario: Scenario) -> float:
    """In which the rate of arrivals swings; 0 where it does not."""
    arrivals = scenario.workload.arrivals
    return arrivals.period_s if arrivals.kind == "diurnal" and arrivals.swing else 0.0


def length_warnings(result: Result) -> Group:
    """Whether the lengths make service-level targets doubtful; None where the targets assume nothing."""
    assumed = result.scenario.slo.assumed
    p99 = metrics.percentile(result.answer_len, 0.99).value
    is_longer = None if assumed is None or assumed.p99 is None else p99 > LONGER * assumed.p99
    return {
        "heavy_tail": metrics.tail_ratio(result.answer_len) >= HEAVY_TAIL_RATIO,
        "longer_than_assumed": is_longer,
    }


def _trends(result: Result) -> tuple[steady.Trend | None, steady.Trend | None]:
    """Of the number waiting, and of the work in it, each request weighed by its output over the mean."""
    run, output_len = result.run, result.inputs.output_len
    is_seen = result.asked_s <= run.duration_s
    asked_s, asked_len = result.asked_s[is_seen], output_len[result.is_first_try][is_seen]
    width = result.ledger.bin_durations_s()
    waiting = run.bins[:, Bin.WAITING] / np.where(width > 0, width, np.nan)
    waits = steady.Waits(run.outcome.arrival_s, result.waited_until_s)
    by_number = steady.trend_of_run(waiting, run.bin_width_s, asked_s, asked_len)
    if by_number is None and asked_s.size >= FEWEST_WAITING:
        by_number = steady.trend_of_waits(waits, asked_s, asked_len)
    if by_number is None or np.ptp(asked_len) == 0:
        return by_number, None
    return by_number, steady.trend_of_waits(waits, asked_s, asked_len, output_len / output_len.mean())


def _ratio(part: Any, whole: Any) -> float:
    return float(part) / float(whole) if whole > 0 else math.nan


def _plain(value: Any) -> Any:
    """Python's own numbers, None for what is not finite."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
