"""A running server beside the simulation of the present scenario, quantity by quantity."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.benchmarks import Scrape
from sim.view.number_words import UNDEFINED, short_number, time_parts
from sim.view.run_view import RunView

Floats = NDArray[np.float64]
IN_USE = ("held_typical", "held_straggler", "fragmentation", "finished_held", "reserved_unused")  # what vLLM counts
WITHIN = (0.05, 0.5, 0.95)


class Beside(NamedTuple):
    """One quantity of both."""

    panel: str  # axis: "requests", "%" or "ms"
    name: str
    server: float | None
    low: float | None  # of the simulation
    middle: float | None
    high: float | None


def beside(scrape: Scrape, view: RunView) -> list[Beside]:
    """Server and simulation, in the units of the panels.

    Counts of a server with several engines are of one engine, as the simulation is. The simulation's counts range
    over time from the 5th to the 95th percentile; its latencies range by the error of the step time.
    """
    over_time = view.over_time
    used = np.sum([over_time.memory[row] for row in IN_USE], axis=0)
    usage = None if scrape.kv_usage is None else 100 * scrape.kv_usage
    rows = [
        Beside("requests", "running", _each(scrape.running, scrape.engines), *_range(over_time.running)),
        Beside("requests", "waiting", _each(scrape.waiting, scrape.engines), *_range(over_time.waiting)),
        Beside("%", "KV blocks in use", usage, *_range(100 * used)),
    ]
    error = (view.cost_band.percent or 0.0) / 100
    for name, stats in (("ttft", scrape.ttft_ms), ("tpot", scrape.tpot_ms)):
        for quantile in ("p50", "p99"):
            value = view.summary["metrics"][f"{name}_{quantile}_s"]
            middle = None if value is None else 1000 * float(value)
            ends = (None, None, None) if middle is None else (middle / (1 + error), middle, middle * (1 + error))
            rows.append(Beside("ms", f"{quantile} {name.upper()}", getattr(stats, quantile), *ends))
    return rows


def beside_rows(rows: list[Beside]) -> dict[str, list[Any]]:
    """The same as columns of a table."""
    return {
        "": [row.name for row in rows],
        "Server": [_shown(row.server, row.panel) for row in rows],
        "Simulation": [_shown(row.middle, row.panel) for row in rows],
        "Range": [_ends(row.low, row.high, row.panel) for row in rows],
    }


def _each(total: float | None, engines: int) -> float | None:
    return None if total is None else total / engines


def _range(values: Floats) -> tuple[float, float, float]:
    low, middle, high = np.quantile(values, WITHIN).tolist()
    return low, middle, high


def _shown(value: float | None, unit: str) -> str:
    return UNDEFINED if value is None else " ".join(_parts(value, unit))


def _ends(low: float | None, high: float | None, unit: str) -> str:
    """Two values, with their unit once where it is the same."""
    if low is None or high is None:
        return UNDEFINED
    (first, of_first), (last, of_last) = _parts(low, unit), _parts(high, unit)
    return f"{first}{'' if of_first == of_last else f' {of_first}'} to {last} {of_last}"


def _parts(value: float, unit: str) -> tuple[str, str]:
    return time_parts(value / 1e3) if unit == "ms" else (short_number(value), unit)
