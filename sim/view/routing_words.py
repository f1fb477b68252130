"""Task types apart or together, in words and rows: whether parting them helps, and who pays for it."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.metrics import CHANCE
from sim.studies.routing import Split
from sim.view.number_words import short_percent, short_time


def routing_sentence(one: Split, parted: Sequence[tuple[tuple[int, ...], Split]]) -> str:
    """Whether parting the types helps, with the best of the splits tried."""
    dealt, best = max(parted, key=lambda each: _rank(each[1]))
    pool = one.pools[0]
    names = ", ".join(f"{count} for {each.name}" for count, each in zip(dealt, best.pools, strict=True))
    spreads = ", ".join(f"{each.output_cv:.2f} ({each.name})" for each in best.pools)
    if np.isnan(one.attainment):
        return f"CV of output lengths {pool.output_cv:.2f} in one pool; apart {spreads}."
    if abs(best.attainment - one.attainment) <= CHANCE * math.sqrt(best.variance + one.variance):
        which = "Parting the types makes no clear difference"
    elif best.attainment > one.attainment:
        which = "Parting the types helps"
    else:
        which = "One pool is better than any split tried"
    return (
        f"{which}: {100 * best.attainment:.1f} % of requests within the limits with {names}, "
        f"{100 * one.attainment:.1f} % in one pool.{_worst_off(best, one)} CV of output lengths "
        f"{pool.output_cv:.2f} in one pool; apart {spreads}."
    )


def _worst_off(parted: Split, one: Split) -> str:
    """The pool that pays for the others, if any is worse off than all were together."""
    worst = min(parted.pools, key=lambda each: each.attainment)
    if worst.attainment >= one.attainment:
        return ""
    grows = "; its queue grows" if worst.is_unstable else ""
    return f" Worst off is {worst.name}: {short_percent(worst.attainment)} within{grows}."


def routing_table(one: Split, parted: Sequence[tuple[tuple[int, ...], Split]]) -> dict[str, list[Any]]:
    """One pool, then the pools of the best split."""
    _, best = max(parted, key=lambda each: _rank(each[1]))
    rows = [*one.pools, *best.pools]
    return {
        "Pool": [pool.name for pool in rows],
        "Replicas": [pool.replicas for pool in rows],
        "requests/s": [round(pool.rate_rps, 2) for pool in rows],
        "p99 TPOT": [short_time(pool.tpot_p99_s) for pool in rows],
        "p99 TTFT": [short_time(pool.ttft_p99_s) for pool in rows],
        "within": [short_percent(pool.attainment) for pool in rows],
        "preempted": [short_percent(pool.preempted) for pool in rows],
    }


def _rank(split: Split) -> tuple[float, float]:
    """Better splits are larger: attainment, then the worst p99 TPOT."""
    tpot = max(pool.tpot_p99_s if np.isfinite(pool.tpot_p99_s) else np.inf for pool in split.pools)
    return (-1.0 if np.isnan(split.attainment) else split.attainment), -tpot
