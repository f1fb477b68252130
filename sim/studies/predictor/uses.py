"""The two uses of a predicted length, to order requests and to set memory aside, and the server that does neither.

All three serve the same requests on the same deployment; they differ in one choice of the scheduler alone. A loop that
is told lengths has no asynchronous scheduling, no prefix cache, no priorities and no older releases, so the server
beside it has none of them either: what they are worth is not the predictor's doing.
"""

from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from sim.metrics import mean, p99, per_second
from sim.predictor_spec import NAMES_A_LENGTH, NO_PRESET, Kind, Predictor
from sim.result import Result
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.slo import goodput_rps
from sim.studies.general_loop import AS_IN_GENERAL_LOOP
from sim.studies.saturated import plateau_tokens_per_s, replayed
from sim.studies.shortened import shortened
from sim.systems import SYSTEMS
from sim.systems.predictors import predictor_in_force
from sim.systems.system import PREDICTED_ORDERS, PREDICTED_RESERVES
from sim.workload import Trace
from sim.workload.predictions import error_spread

MAX_REQUESTS = 1_000  # drawn for one run: a study makes a hundred
PLAIN = "vllm_v1"


class Use(Enum):
    """What a prediction is used for."""

    NONE = "no predictor"
    ORDER = "ordering"
    RESERVE = "reservation"


CHOICES: dict[Use, dict[str, Any]] = {
    Use.NONE: AS_IN_GENERAL_LOOP,
    Use.ORDER: {"scheduler.order": "predicted"},
    Use.RESERVE: {"scheduler.reserve": "quantile"},
}
KINDS: dict[Use, Kind] = {Use.ORDER: "point", Use.RESERVE: "distribution"}  # whose errors have a bias and a spread
MEDIAN = 0.5
UNNAMED = {"predictor.kind": "distribution"}  # asked where the scenario names none; errs by the default spread


class Measured(NamedTuple):
    """What a run is judged by; NaN where undefined or resting on too little."""

    output_tokens_per_s: float
    tpot_p99_s: float
    goodput_rps: float
    preemptions: float
    norm_latency_mean_s: float  # E2E per token
    ttft_p99_s: float
    good: float = np.nan  # requests within all limits
    requests: int = MAX_REQUESTS  # ... of so many
    whole_tokens_per_s: float = np.nan  # of the whole run: an order makes no stretch of it like the others


def served(scenario: Scenario, use: Use, **predictor: Any) -> Scenario:
    """The scenario with its predictions put to a use.

    Parameters
    ----------
    scenario : Scenario
        Its own system where that makes the use of predictions; or else the system with one choice changed, to the
        predicted order or to a reservation of a predicted quantile. At most `MAX_REQUESTS` requests
        are drawn.
    use : Use
    **predictor
        Fields of the predictor that change.
    """
    values: dict[str, Any] = {}
    if use is Use.NONE or use is not use_of(scenario):
        values |= _without_lengths(scenario) | CHOICES[use]
    values |= {f"predictor.{name}": value for name, value in predictor.items()}
    return with_values(shortened(scenario, MAX_REQUESTS), values)


def told(scenario: Scenario, use: Use) -> Scenario:
    """All requests of the scenario with predictions put to a use: by its own predictor, or by `UNNAMED`."""
    own = {} if scenario.predictor.in_use.kind != "none" or use is use_of(scenario) else UNNAMED
    return with_values(served(scenario, use), own | {"workload.num_requests": scenario.workload.num_requests})


def without_predictor(scenario: Scenario) -> Scenario | None:
    """The server that the uses of predictions are held against; None where it is the scenario's own."""
    plain = told(scenario, Use.NONE)
    return None if plain == scenario else plain


def use_of(scenario: Scenario) -> Use:
    """What the scenario's own scheduler does with predictions; one that does both is taken to reserve."""
    chosen = scenario.scheduler.choices
    if chosen.reserve in PREDICTED_RESERVES:
        return Use.RESERVE
    return Use.ORDER if chosen.order in PREDICTED_ORDERS else Use.NONE


def _without_lengths(scenario: Scenario) -> dict[str, Any]:
    """What turns a scheduler into one that reads no predictor and takes other choices: mostly nothing."""
    scheduler = scenario.scheduler
    if use_of(scenario) is Use.NONE and SYSTEMS[scheduler.system].engine != "sglang":
        return {}
    own_choices = ("batching", "prefill", "reserve", "order", "preemption_mode", "victim")
    return {"scheduler.system": PLAIN} | {f"scheduler.{name}": None for name in own_choices}


def own_error(scenario: Scenario) -> tuple[float, float]:
    """Bias and spread of the scenario's predictor, log units; the usual spread where its kind has none.

    Where the scheduler reserves a quantile, that is what the bias comes to: so much more than the likeliest length.
    """
    predictor = predictor_in_force(scenario).in_use
    spread = float(Predictor.model_fields["spread"].default)
    if predictor.kind in NAMES_A_LENGTH:
        spread = error_spread(predictor)
    if scenario.scheduler.choices.reserve == "quantile":
        return predictor.bias + float(ndtri(predictor.quantile)) * spread, spread
    return predictor.bias, spread


def with_error(scenario: Scenario, use: Use, bias: float, spread: float, **predictor: Any) -> Scenario:
    """Predictions with an error of that direction and size, put to a use.

    A reservation takes the median of what is predicted, so that the bias alone says how much more or less than the
    likeliest length is set aside.
    """
    own_kind = predictor_in_force(scenario).in_use.kind
    kind = own_kind if use is use_of(scenario) and own_kind in NAMES_A_LENGTH else KINDS[use]
    fields = {"preset": NO_PRESET, "kind": kind, "bias": bias, "spread": spread, "quantile": MEDIAN}
    return served(scenario, use, **fields, within_prompt_spread=0.0, **predictor)


def run(scenario: Scenario, trace: Trace | None = None) -> Measured:
    """Run a scenario and take its measure."""
    return measured(simulate(scenario, replayed(scenario, trace)))


def measured(result: Result) -> Measured:
    """What a run is judged by. Where all requests waited from the start, throughput is that of the middle."""
    duration_s = result.run.duration_s
    is_saturated = result.scenario.workload.arrivals.kind == "all_at_once"
    tokens_per_s = plateau_tokens_per_s(result) if is_saturated else per_second(result.delivered_tokens, duration_s)
    return Measured(
        tokens_per_s,
        p99(result.norm_latency_s if result.is_batch_delivery else result.tpot_s),
        np.nan if result.limits.is_empty else goodput_rps(result.attainment.good, duration_s),
        float(result.run.counters["preemptions"]),
        mean(result.norm_latency_s),
        p99(result.ttft_s),
        np.nan if result.limits.is_empty else float(result.attainment.good),
        result.is_finished.size,
        per_second(result.delivered_tokens, duration_s),
    )
