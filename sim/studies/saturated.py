"""The same requests, all there at the start: what the server can do when it never lacks work.

In an open system below capacity throughput equals the offered load whatever the scheduler does; only here do
schedulers differ in it. Source: metrics.md, section 8.4.
"""

import numpy as np

from sim import metrics
from sim.engine.accounts import Bin
from sim.metrics import per_second
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.general_loop import AS_IN_GENERAL_LOOP
from sim.systems import PREEMPTIVE_ORDERS
from sim.workload import Trace

FILLED = 0.3  # share of the admissions after which the first batch has mixed
SOME_FIRST = (  # orders under which requests that are all there are not served as they come: some kinds before others
    *PREEMPTIVE_ORDERS, "priority", "predicted", "upper", "lower", "shortest_guarded", "tail_averse"
)  # fmt: skip


def saturated(scenario: Scenario) -> Scenario:
    """The scenario with every request waiting at time 0."""
    return with_values(scenario, {"workload.arrivals": {"kind": "all_at_once"}})


def by_arrival(scenario: Scenario) -> Scenario:
    """The same server, but first come, first served, where it serves some kinds of requests before others.

    A rate in requests/s is one of all kinds together. Where all are there at the start and short answers or urgent ones
    go first, there is no stretch of the run in which the kinds are served as they come.
    """
    scheduler, values = scenario.scheduler, dict[str, object]()
    if scheduler.choices.order in SOME_FIRST:
        values |= AS_IN_GENERAL_LOOP | {"scheduler.order": "arrival"}
    if scheduler.scheduling_policy == "priority":
        values["scheduler.scheduling_policy"] = "fcfs"
    if scheduler.sglang.schedule_policy == "lof":
        values["scheduler.sglang.schedule_policy"] = "fcfs"
    return with_values(scenario, values) if values else scenario


def patient(scenario: Scenario) -> Scenario:
    """Nobody gives up: whoever waits at the back of a full server would, and count as served."""
    return with_values(scenario, {"workload.client_timeout_s": None})


def never_idle(scenario: Scenario) -> Scenario:
    """The server with all requests there at the start, of which all kinds are served as they come and nobody leaves."""
    return patient(saturated(by_arrival(scenario)))


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


def full_tokens_per_s(result: Result) -> float:
    """Output tokens/s of a full server: the plateau, or those of the whole run where some kinds are served first.

    Then no stretch of the run is like the whole: while short answers go first more of them run at once.
    """
    if by_arrival(result.scenario) == result.scenario:
        return plateau_tokens_per_s(result)
    return per_second(result.delivered_tokens, result.run.duration_s)


def saturated_rps(scenario: Scenario, trace: Trace | None = None, replication: int = 0) -> float:
    """Requests/s that a server takes in when it never lacks work: no higher rate can be sustained.

    Raises
    ------
    ScenarioError
        It cannot run.
    """
    full = never_idle(scenario)
    return intake_rps(simulate(full, replayed(full, trace), replication=replication))


def asked(result: Result) -> int:
    """Requests that came by themselves and were begun or refused, not after an answer that was cut."""
    return int((result.is_first_try & (result.is_rejected | ~np.isnan(result.run.outcome.first_scheduled_s))).sum())


def intake_rps(result: Result) -> float:
    """Requests/s that a saturated server takes in, which serves first come, first served.

    Of those that came by themselves: what clients ask after them comes on top, and who is refused takes nothing.

    The smaller of two views, as each is too high where the run is short for a reason of its own: the plateau of the
    output over the mean answer (answers still to come are longer), and admissions after the first batch has mixed
    (a large batch takes long to mix). Where all requests are alike both are exact.

    Returns
    -------
    float
        NaN for a run in which nothing was served.
    """
    admitted_s = np.sort(metrics.drop_nan(result.run.outcome.first_scheduled_s))
    emitted = result.run.outcome.emitted
    if len(admitted_s) < 2 or not emitted.any():
        return float("nan")
    by_output = plateau_tokens_per_s(result) / emitted.sum() * asked(result)
    if not result.is_first_try.all():  # who asks again comes late, and for more or for less
        return float(by_output)
    start_s = admitted_s[int(FILLED * len(admitted_s))]
    end_s = admitted_s[admitted_s < admitted_s[-1]].max(initial=start_s)  # the last wave may not be a whole one
    later = int(((admitted_s > start_s) & (admitted_s <= end_s)).sum())
    by_admission = later / (end_s - start_s) if end_s > start_s else float("inf")
    return float(min(by_output, by_admission * asked(result) / len(admitted_s)))
