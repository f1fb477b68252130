"""Longtail: what unknown output lengths do to an LLM server's throughput, latency and KV memory.

>>> from sim import Scenario, simulate
>>> result = simulate(Scenario(...))
>>> result.summary()["metrics"]["output_tokens_per_s"]
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
