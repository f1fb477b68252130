"""Tables of a result, as pandas frames."""

from typing import TYPE_CHECKING

import numpy as np

from sim.engine import StepTable
from sim.engine.accounts import Bin

if TYPE_CHECKING:  # pandas is imported on first use: a summary does not need it
    import pandas as pd

    from sim.result import Result

STATUSES = ("finished", "truncated", "rejected", "aborted", "unfinished")  # each request has exactly one

RATES = {  # columns that are sums over a bin, as amounts a second
    "prefill_tokens_per_s": Bin.PREFILL_TOKENS,
    "decode_tokens_per_s": Bin.DECODE_TOKENS,
    "output_tokens_per_s": Bin.OUTPUT_TOKENS,
    "recomputed_tokens_per_s": Bin.RECOMPUTED_TOKENS,
    "preemptions_per_s": Bin.PREEMPTIONS,
}


def requests(result: "Result") -> "pd.DataFrame":
    """One row a request, in order of arrival; `attrs["tpot_s"]` says what that column is."""
    import pandas as pd

    outcome, info = result.run.outcome, result.info
    columns = {
        "arrival_s": outcome.arrival_s,
        "type": pd.Categorical.from_codes(info.type_id, list(info.type_names)),
        "prompt_tokens": result.inputs.prompt_len,
        "output_tokens": outcome.emitted,
        "status": pd.Categorical.from_codes(result.status_codes(), list(STATUSES)),
        "queue_delay_s": result.queue_delay_s,
        "ttft_s": result.ttft_s,
        "tpot_s": result.tpot_s,
        "max_itl_s": np.where(outcome.emitted > 1, outcome.max_itl_s, np.nan),
        "max_gap_s": result.max_gap_s,
        "e2e_s": result.e2e_s,
        "norm_latency_s": result.norm_latency_s,
        "slowdown": result.slowdown,
        "hol_delay_s": result.hol_delay_s,
        "preemptions": outcome.num_preemptions,
        "recomputed_tokens": outcome.recomputed_tokens,
        "pause_s": outcome.pause_s,
        "cached_tokens": outcome.cached_tokens,
        "memory_token_s": outcome.memory_token_s,
    }
    if info.retry_of is not None:
        columns["retry_of"] = pd.arrays.IntegerArray(info.retry_of, info.retry_of < 0)
    frame = pd.DataFrame(columns, copy=False).rename_axis("request")
    frame.attrs["tpot_s"] = result.tpot_label
    return frame


def over_time(result: "Result") -> "pd.DataFrame":
    """One row a time bin (index: its start): means over the bin, rates a second, and KV blocks by use."""
    import pandas as pd

    bins, width = result.run.bins, result.ledger.bin_durations_s()
    divisor = np.where(width > 0, width, np.nan)
    mean = bins / divisor[:, None]
    start_s = np.arange(len(bins)) * result.run.bin_width_s
    columns = {
        "end_s": start_s + width,
        "running": mean[:, Bin.RUNNING],
        "waiting": mean[:, Bin.WAITING],
        "requests_per_s": finishes(result) / divisor,
        **{name: mean[:, column] for name, column in RATES.items()},
        "kv_used_blocks": mean[:, Bin.HELD_TYPICAL] + mean[:, Bin.HELD_STRAGGLER],
        "kv_fragmentation_blocks": mean[:, Bin.FRAGMENTATION],
        "kv_reserved_blocks": mean[:, Bin.RESERVED_UNUSED],
        "kv_cached_blocks": mean[:, Bin.CACHED_PREFIX],
    }
    return pd.DataFrame(columns, index=pd.Index(start_s, name="start_s"))


def finishes(result: "Result") -> np.ndarray:
    """Requests finished in each time bin; a finish on a border belongs to the bin it ends."""
    place = np.ceil(result.finish_s[result.is_finished] / result.run.bin_width_s).astype(np.int64) - 1
    last = len(result.run.bins) - 1
    return np.bincount(np.clip(place, 0, last), minlength=last + 1)


def steps(table: StepTable) -> "pd.DataFrame":
    """One row a call of the scheduler; `free_blocks_end` is -1 where the run was cut before its outputs came."""
    import pandas as pd

    tokens_before = np.concatenate(([0], np.cumsum(table.scheduled[:, 1])))
    columns = {
        "start_s": table.start_s,
        "end_s": table.end_s,
        "running": table.running,
        "waiting": table.waiting,
        "scheduled_requests": np.diff(table.scheduled_start),
        "scheduled_tokens": np.diff(tokens_before[table.scheduled_start]),
        "preempted_requests": np.diff(table.preempted_start),
        "finished_requests": np.diff(table.finished_start),
        "free_blocks_scheduled": table.free_scheduled,
        "free_blocks_end": table.free_end,
    }
    return pd.DataFrame(columns).rename_axis("step")


def scheduled(table: StepTable) -> "pd.DataFrame":
    """One row for each request in each step."""
    import pandas as pd

    frame = pd.DataFrame(table.scheduled, columns=["request", "tokens", "computed_before", "blocks"])
    frame.insert(0, "step", np.repeat(np.arange(len(table.start_s)), np.diff(table.scheduled_start)))
    return frame
