"""The same requests, all there at the start: what the server can do when it never lacks work.

In an open system below capacity throughput equals the offered load whatever the scheduler does; only here do
schedulers differ in it. Source: metrics.md, section 8.4.
"""

import numpy as np

from sim.engine.accounts import Bin
from sim.metrics import per_second
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.workload import Trace


def saturated(scenario: Scenario) -> Scenario:
    """The scenario with every request waiting at time 0."""
    return with_values(scenario, {"workload.arrivals": {"kind": "all_at_once"}})


def replayed(scenario: Scenario, trace: Trace | None) -> Trace | None:
    """The trace as the scenario's arrivals want it: with its own arrivals, or its lengths alone."""
    if trace is None or scenario.workload.arrivals.kind == "trace":
        return trace
    return trace.without_arrivals()


def plateau_tokens_per_s(result: Result) -> float:
    """Output tokens/s while between 10 % and 90 % of the output comes: without filling up and running empty.

    Returns
    -------
    float
        NaN for a run without output or duration.
    """
    tokens = result.run.bins[:, Bin.OUTPUT_TOKENS]
    total = tokens.sum()
    if total <= 0:
        return float("nan")
    ends_s = np.minimum((np.arange(len(tokens)) + 1) * result.run.bin_width_s, result.run.duration_s)
    start_s, end_s = np.interp([0.1 * total, 0.9 * total], np.append(0, np.cumsum(tokens)), np.append(0, ends_s))
    return per_second(0.8 * total, float(end_s - start_s))
