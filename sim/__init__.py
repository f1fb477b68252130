"""Longtail: what unknown output lengths do to an LLM server's throughput, latency and KV memory.

From a shipped scenario to numbers, arrays, frames and a picture:

>>> from sim import preset, simulate, with_values
>>> from sim.view import curves, figures
>>> scenario = with_values(preset("chat"), {"workload.arrivals.rate_rps": 12.0, "workload.num_requests": 2_000})
>>> result = simulate(scenario)
>>> figure = figures.memory(curves.over_time(result))  # Plotly: a notebook draws it
>>> result.summary()["metrics"]["output_tokens_per_s"] > 2_000  # figures of the whole run, see sim.summary
True
>>> result.ttft_s.shape  # an array a metric, one row a request
(2000,)
>>> list(result.requests.columns[:3])  # the same as pandas frames: requests, over_time, steps
['arrival_s', 'type', 'prompt_tokens']

`preset_names()` lists the scenarios, `Scenario` has every field with its limits, `load_scenario` and `read_trace` read
files. What cannot run is refused with `ScenarioError` or `DataError`, in one sentence.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from sim.simulate import simulate

if TYPE_CHECKING:
    from sim.deployment import Resolved, resolve
    from sim.errors import DataError, ScenarioError
    from sim.presets import preset, preset_names
    from sim.result import Result
    from sim.scenario import Scenario, load_scenario, with_values
    from sim.workload import Trace, read_trace

__version__ = "0.1.0"

# Imported on first use: pydantic, numba and pandas take most of a second, and a command's help needs none of them.
HOMES = {
    "Resolved": "sim.deployment",
    "resolve": "sim.deployment",
    "DataError": "sim.errors",
    "ScenarioError": "sim.errors",
    "preset": "sim.presets",
    "preset_names": "sim.presets",
    "Result": "sim.result",
    "Scenario": "sim.scenario",
    "load_scenario": "sim.scenario",
    "with_values": "sim.scenario",
    "Trace": "sim.workload",
    "read_trace": "sim.workload",
}

__all__ = [
    "DataError",
    "Resolved",
    "Result",
    "Scenario",
    "ScenarioError",
    "Trace",
    "load_scenario",
    "preset",
    "preset_names",
    "read_trace",
    "resolve",
    "simulate",
    "with_values",
]


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module 'sim' has no attribute '{name}'")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
