"""What the spread of output lengths does at equal mean: the same requests and total, from equal to heavy-tailed."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from sim import metrics
from sim.deployment import resolve
from sim.result import Result
from sim.scenario import Scenario
from sim.simulate import simulate_requests
from sim.studies.counterfactuals import MAX_REQUESTS, is_batch_delivery, measured
from sim.studies.length_changes import kinds_of, tries, with_spread
from sim.studies.saturated import replayed, saturated
from sim.studies.shortened import shortened
from sim.workload import Trace, make_requests, with_outputs

CVS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)


class SpreadPoint(NamedTuple):
    """One spread, at both operating points; NaN where undefined."""

    cv: float  # of all outputs together, as they came out
    tail_ratio: float  # p99 / mean
    tpot_p99_s: float  # as asked
    output_tokens_per_s: float  # as asked
    saturated_tpot_p99_s: float
    saturated_tokens_per_s: float  # as of `full_tokens_per_s`


def spread_point(scenario: Scenario, cv: float | None, trace: Trace | None = None) -> SpreadPoint:
    """Run one spread.

    Parameters
    ----------
    scenario : Scenario
        At most `MAX_REQUESTS` requests are drawn.
    cv : float, optional
        Log-normal outputs with this coefficient of variation within each type. None: the scenario's own outputs.
    trace : Trace, optional

    Raises
    ------
    ScenarioError
        The scenario cannot run.
    """
    asked, full = (_run(server, cv, trace) for server in (scenario, saturated(scenario)))
    by_e2e = is_batch_delivery(scenario)
    as_asked = measured(asked, is_saturated=False, is_batch_delivery=by_e2e)
    at_full = measured(full, is_saturated=True, is_batch_delivery=by_e2e)
    return SpreadPoint(
        metrics.cv(asked.answer_len),
        metrics.tail_ratio(asked.answer_len),
        as_asked.tpot_p99_s,
        as_asked.output_tokens_per_s,
        at_full.tpot_p99_s,
        at_full.output_tokens_per_s,
    )


def _run(scenario: Scenario, cv: float | None, trace: Trace | None) -> Result:
    server = shortened(scenario, MAX_REQUESTS)
    longest = resolve(server).max_model_len
    requests, info = make_requests(server, replayed(server, trace), max_model_len=longest)
    if cv is not None:
        requests, info = tries(server, requests, info, longest)
        spread = with_spread(requests.output_len, requests.cap, kinds_of(info), cv)
        requests, info = with_outputs(requests, info, spread, scenario.tail_quantile)
    return simulate_requests(server, requests, info)


def in_order(points: Iterable[SpreadPoint]) -> dict[str, np.ndarray]:
    """Columns of the points in order of their spread, each (k,) float64."""
    ordered = np.array(sorted(points), np.float64).reshape(-1, len(SpreadPoint._fields))
    return dict(zip(SpreadPoint._fields, ordered.T, strict=True))
