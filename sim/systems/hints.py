"""What some schedulers work out about requests before any of them runs."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sim.engine.general.batches import KEYS_A_GROUP
from sim.engine.general.choices import Hints
from sim.engine.general.told import LONGEST_AGE_S, TICKS_A_SECOND
from sim.engine.inputs import Predictions, StepTime

if TYPE_CHECKING:
    from sim.scheduler_spec import Scheduler

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Batch sizes by length bucket of 50 tokens; longer ones have the smallest. Source: schedulers.md 3.7.
BUCKET = 50
SIZE_OF_BUCKET = {50: 256, 100: 128, 150: 64, 200: 32}
SMALLEST_BATCH = 16

FREEDOM = 3.5  # of the log-t belief. Source: schedulers.md 4, `tie`
TAIL = 0.9
QUANTILES = 200
AGE_FACTOR, AGE_S = Decimal("0.9"), 30  # a score shrinks to so much in so many seconds of waiting


def length_buckets(point: Ints) -> Ints:
    """Predicted lengths rounded up to a multiple of 50 tokens."""
    rounded: Ints = -(-point // BUCKET) * BUCKET
    return rounded


def batch_sizes(buckets: Ints) -> Ints:
    """Most members of a batch of each bucket: shorter answers, larger batches."""
    sizes = np.full(len(buckets), SMALLEST_BATCH, np.int64)
    for bucket, size in SIZE_OF_BUCKET.items():
        sizes[buckets == bucket] = size
    return sizes


def planned_batches(hints: Hints, point: Ints, cap: Ints, knobs: "Scheduler", plain_size: int) -> Hints:
    """Sequence scheduling: groups in order of arrival, each sorted by predicted length and cut into batches.

    Parameters
    ----------
    hints : Hints
        Keys, groups, sizes and stops are filled in.
    point, cap : (n,) int64
        Predicted and largest allowed output tokens.
    knobs : Scheduler
        `group_size`, `batch_by_length` (VBS) and `recollect` (FCR) are read.
    plain_size : int
        Members of a batch without VBS.

    Source: schedulers.md 3.7.
    """
    n = len(point)
    key, group, size, stop = np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64), cap.copy()
    for number, first in enumerate(range(0, n, knobs.group_size)):
        members = np.arange(first, min(first + knobs.group_size, n))
        batches = by_length(members, point) if knobs.batch_by_length else by_size(members, point, plain_size)
        for place, batch in enumerate(batches):
            at = int(number * KEYS_A_GROUP) + place
            key[batch], group[batch], size[batch] = at, at, len(batch)
            if knobs.recollect:
                longest = point[batch].max()
                limit = length_buckets(np.array([longest]))[0] if knobs.batch_by_length else longest
                stop[batch] = np.minimum(cap[batch], limit)
    return hints._replace(key=key, group=group, group_size=size, stop=stop)


def by_size(members: Ints, point: Ints, size: int) -> list[Ints]:
    """A group sorted by predicted length and cut into batches of one size."""
    ordered = members[np.argsort(point[members], kind="stable")]
    return [ordered[k : k + size] for k in range(0, len(ordered), size)]


def by_length(members: Ints, point: Ints) -> list[Ints]:
    """A group cut into batches by bucket; a small remainder moves on to the next longer bucket."""
    ordered = members[np.argsort(point[members], kind="stable")]
    buckets = length_buckets(point[ordered])
    batches: list[Ints] = []
    carried = np.zeros(0, np.int64)
    present = np.unique(buckets)
    for k, bucket in enumerate(present):
        size = int(batch_sizes(np.array([bucket]))[0])
        left = np.concatenate([carried, ordered[buckets == bucket]])
        carried = np.zeros(0, np.int64)
        while len(left):
            is_small = len(left) < max(size / 2, SMALLEST_BATCH)
            if len(left) < size and is_small and k + 1 < len(present):
                carried = left
                break
            batches.append(left[:size])
            left = left[size:]
    return batches


def first_levels(prompt_len: Ints, step: StepTime, rules: dict[str, Any]) -> Ints:
    """FastServe: the first queue whose quantum is at least the profiled prefill time."""
    last = len(step.linear_s) - 1
    alone_s = step.linear_s[np.minimum(prompt_len, last)] + np.maximum(prompt_len - last, 0) * step.beyond_s
    alone_s = alone_s + step.attention_s * 0.5 * prompt_len.astype(np.float64) ** 2
    return first_queue(alone_s, rules["quantum_s"], rules["quantum_growth"])


def first_queue(prefill_s: Floats, quantum_s: float, growth: float) -> Ints:
    """Number of the first queue whose quantum, `quantum_s * growth ** number`, is at least the prefill time."""
    level = np.zeros(len(prefill_s), np.int64)
    quantum = np.full(len(prefill_s), quantum_s)
    for _ in range(64):
        is_short = quantum < prefill_s
        if growth <= 1 or not is_short.any():
            break
        level += is_short
        quantum = np.where(is_short, quantum * growth, quantum)
    return level


def tail_means(predictions: Predictions, cap: Ints) -> tuple[Floats, Floats]:
    """Mean output and mean beyond its 0.9 quantile, cut at the cap. Source: schedulers.md 4, `tie`."""
    levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
    z = stdtrit(FREEDOM, levels)
    mean = np.zeros(len(cap))
    tail = np.zeros(len(cap))
    in_tail = levels > TAIL
    for value, is_tail in zip(z, in_tail, strict=True):
        tokens = np.minimum(np.exp(np.minimum(predictions.log_mean + value * predictions.log_sd, 50.0)), cap)
        mean += tokens / QUANTILES
        tail += tokens * is_tail / in_tail.sum()
    grid = 2.0**20  # the same key on every machine
    return np.round(mean * grid) / grid, np.round(tail * grid) / grid


def ageing() -> Floats:
    """What an arrival later by each power of two of time makes of a key, (bits,) float64, rounded exactly."""
    bits = int(LONGEST_AGE_S * TICKS_A_SECOND).bit_length()
    seconds = [Decimal(2**bit) / int(TICKS_A_SECOND) for bit in range(bits)]
    return np.array([float(AGE_FACTOR ** (-each / AGE_S)) for each in seconds])
