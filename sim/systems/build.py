"""From a scenario's scheduler to what an engine reads: rules, and what is known about each request."""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.engine.general.choices import (
    Batching,
    Counting,
    Eviction,
    GeneralRules,
    Hints,
    Peak,
    Prefill,
    Queue,
    Refresh,
    Reservation,
    Victim,
)
from sim.engine.inputs import Predictions, Refinement, Requests, Rules, StepTime
from sim.engine.rules import pipeline_rules, rules_of
from sim.engine.sglang.inputs import SglangRules
from sim.errors import ScenarioError
from sim.predictor_spec import Predictor
from sim.systems import SYSTEMS, Choices, System
from sim.systems.hints import SIZE_OF_BUCKET, ageing, first_levels, planned_batches, tail_means
from sim.systems.pipeline import is_in_pipeline
from sim.systems.predictors import predictor_in_force
from sim.systems.sglang_rules import sglang_rules
from sim.systems.system import PREEMPTIVE_ORDERS, reads_predictor
from sim.workload.predictions import make_predictions, reservation_tokens
from sim.workload.refinement import first_posterior, make_refinement

if TYPE_CHECKING:
    from sim.deployment import Resolved
    from sim.scenario import Scenario
    from sim.workload import RequestInfo

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

GIB = 2**30
AGGRESSIVE_OUTPUT = 1024  # tokens that aggressive admission assumes at first. Source: schedulers.md 4

# Seconds that `ssjf` thinks a request takes, and the weight that `tie` gives to the tail. Source: schedulers.md 4
ESTIMATE = {"estimate_base_s": 0.1, "estimate_token_s": 0.02}
QUEUE_WEIGHT = {"queue_weight": 0.1, "queue_weight_low": 0.1, "queue_weight_high": 0.5}

PREFILLS = {
    "mixed": Prefill.MIXED,
    "first": Prefill.FIRST,
    "chunked": Prefill.CHUNKED,
    "alternate": Prefill.ALTERNATE,
}
EVICTIONS = {
    "recompute": Eviction.RECOMPUTE,
    "swap": Eviction.SWAP,
    "restart": Eviction.RESTART,
    "fail": Eviction.FAIL,
}
VICTIMS = {
    "last_admitted": Victim.LAST_ADMITTED,
    "latest_arrival": Victim.LATEST_ARRIVAL,
    "last_in_order": Victim.LARGEST_KEY,
    "largest_remaining": Victim.LARGEST_REMAINING,
    "fewest_generated": Victim.FEWEST_GENERATED,
    "smallest_bound": Victim.SMALLEST_BOUND,
}
PEAKS = {
    "peak_predicted": Peak.GUESS,
    "peak_upper": Peak.GUESS,
    "peak_lower": Peak.BOUND,
    "peak_history": Peak.HISTORY,
    "peak_aggressive": Peak.AGGRESSIVE,
    "peak_cap": Peak.GUESS,
    "peak_truth": Peak.GUESS,
    "horizon": Peak.HORIZON,
}
QUEUES = {"arrival": Queue.ARRIVAL, "largest_need": Queue.NEED, "fair": Queue.CLASS, "by_type": Queue.CLASS}
REFRESHES = {
    "true_remaining": Refresh.REMAINING,
    "levels": Refresh.LEVELS,
    "skip_levels": Refresh.LEVELS,
    "refined": Refresh.REFINED,
    "declared": Refresh.DECLARED,
}


class Plan(NamedTuple):
    """What one run of an engine needs besides requests and step time."""

    rules: Rules | GeneralRules | SglangRules
    hints: Hints | None = None
    refinement: Refinement | None = None
    posterior: Floats | None = None


class Given(NamedTuple):
    """Everything that rules and hints are made from."""

    scenario: "Scenario"
    resolved: "Resolved"
    requests: Requests
    info: "RequestInfo"
    step: StepTime
    system: System
    choices: Choices
    predictions: Predictions


def plan_of(
    scenario: "Scenario",
    resolved: "Resolved",
    requests: Requests,
    info: "RequestInfo",
    step: StepTime,
    replication: int = 0,
) -> Plan:
    """Rules and hints of a scenario's scheduler.

    Parameters
    ----------
    scenario : Scenario
    resolved : Resolved
        The deployment with its limits filled in.
    requests, info
        As `make_requests` returned them.
    step : StepTime
        Of the deployment: some schedulers have a profile of it.
    replication : int
        Whose random numbers the predictor draws.

    Source: schedulers.md, sections 2 to 4.
    """
    scheduler = scenario.scheduler
    own = SYSTEMS[scheduler.system]
    if own.engine == "sglang":
        return Plan(sglang_rules(scenario, resolved))
    is_plain = not scheduler.is_recombined and not is_in_pipeline(scenario)
    if own.engine == "calendar" and is_plain and scenario.workload.client_timeout_s is None:
        return Plan(rules_of(scenario, resolved))
    if scenario.workload.client_retry != "never" and scheduler.choices.order == "planned":
        raise ScenarioError(
            f"workload.client_retry is '{scenario.workload.client_retry}'; 'never' is needed with order planned, which "
            "plans by who comes before the run begins"
        )
    scenario = scenario.model_copy(update={"predictor": predictor_in_force(scenario)})
    predictions = make_predictions(scenario, requests, info, replication)
    given = Given(scenario, resolved, requests, info, step, own, scheduler.choices, predictions)
    plan = Plan(general_rules(given), hints_of(given))
    if given.choices.order == "refined":
        every = own.details.get("refresh_every")
        refinement = make_refinement(scenario, requests, every=every, replication=replication)
        plan = plan._replace(refinement=refinement, posterior=first_posterior(predictions, refinement))
    return plan


def general_rules(given: Given) -> GeneralRules:
    """The rules of the general loop."""
    scenario, resolved, choices = given.scenario, given.resolved, given.choices
    knobs, predictor = scenario.scheduler, scenario.predictor
    is_swapping = choices.eviction == "swap"
    is_told = reads_predictor(choices)  # else nobody waits for a prediction, or pays for one
    kv_bytes = resolved.kv_bytes_per_token * resolved.block_size
    values: dict[str, Any] = {
        "batching": Batching.REQUEST if choices.batching == "request" else Batching.ITERATION,
        "prefill": PREFILLS[choices.prefill],
        "reservation": reservation_of(choices.reserve),
        "queue": QUEUES.get(choices.order, Queue.KEY),
        "eviction": EVICTIONS[choices.eviction],
        "victim": VICTIMS[choices.victim],
        "block_size": resolved.block_size,
        "usable_blocks": resolved.usable_blocks,
        "max_num_seqs": resolved.max_num_seqs,
        "max_num_batched_tokens": resolved.max_num_batched_tokens,
        "max_model_len": resolved.max_model_len,
        "is_preemptive": choices.order in PREEMPTIVE_ORDERS,
        "refresh": REFRESHES.get(choices.order, Refresh.NEVER),
        "keep_blocks": int(resolved.watermark * resolved.usable_blocks),
        "reserve_full_isl": choices.reserve == "chunk" and knobs.scheduler_reserve_full_isl,
        "long_prefill_token_threshold": knobs.long_prefill_token_threshold,
        "peak": PEAKS.get(choices.reserve, Peak.GUESS),
        "peak_tokens": peak_tokens(given),
        "horizon": knobs.horizon,
        "history": knobs.history if choices.reserve == "peak_history" else 0,
        "admission_interval": knobs.admission_interval_steps,
        "host_blocks": int(knobs.swap_space_gib * GIB / kv_bytes) if is_swapping else 0,
        "swap_block_s": kv_bytes / (knobs.swap_gb_s * 1e9) if is_swapping else 0.0,
        "swapped_first": is_swapping and choices.prefill == "first",
        "counting": Counting.TURNS if choices.order == "by_type" else Counting.TOKENS,
        "timeout_s": scenario.workload.client_timeout_s or 0.0,
        "seed": scenario.seed,
        **(predictor_rules(predictor.in_use) if is_told else {}),
        **own_rules(given),
        **pipeline_rules(scenario, resolved.usable_blocks, resolved.watermark),
    }
    if is_by_class(given):
        values |= {"queue": Queue.CLASS, "counting": Counting.NONE}
    if choices.order == "planned" and knobs.batch_by_length:
        values["max_num_seqs"] = max(resolved.max_num_seqs, max(SIZE_OF_BUCKET.values()))
    return GeneralRules(**values)


def reservation_of(reserve: str) -> Reservation:
    """Which kind of test admission makes."""
    if reserve in ("chunk", "prompt"):
        return Reservation.CHUNK if reserve == "chunk" else Reservation.PROMPT
    return Reservation.PEAK if reserve in PEAKS else Reservation.OUTPUT


def peak_tokens(given: Given) -> int:
    """Largest future peak that admission allows, in tokens."""
    is_shared = given.choices.reserve in ("peak_history", "peak_aggressive", "peak_cap")
    if not is_shared:
        return given.resolved.kv_tokens
    return math.ceil(given.scenario.scheduler.peak_share * given.resolved.kv_tokens) - 1  # the peak stays below it


def predictor_rules(predictor: Predictor) -> dict[str, float]:
    """When predictions come, and what they take of the server's time."""
    delay_s, cost_s = predictor.delay_ms / 1000, predictor.cost_ms / 1000
    if predictor.kind == "none":
        return {}
    if predictor.is_synchronous:
        return {"predict_step_s": delay_s + cost_s}
    return {"predict_delay_s": delay_s, "predict_step_s": cost_s}


def own_rules(given: Given) -> dict[str, Any]:
    """What a system adds to the five choices, with the knobs that move it."""
    knobs, own, choices = given.scenario.scheduler, given.system, given.choices
    rules = {name: value for name, value in own.details.items() if name in GeneralRules._fields}
    rules |= {"hold": int(knobs.holds_batches), "batch_delivery": int(knobs.delivers_batches)}
    if choices.batching == "iteration":
        rules |= {"is_grouped": 0, "rerun_size": 0}
    elif choices.order != "planned":
        rules |= {"rerun_size": 0}
    if own.name == "static" and choices.batching == "request":
        rules |= {"batch_wait_s": knobs.batch_wait_s}
    if choices.reserve == "conformal":
        rules |= {"residuals": knobs.conformal_window, "residual_rank": given.scenario.predictor.quantile}
    if choices.reserve not in ("predicted", "quantile", "conformal"):
        rules |= {"reserve_offset": 0, "doubles": 0}
    if choices.order in PREEMPTIVE_ORDERS:
        rules |= {"guard_steps": knobs.starvation_threshold, "guard_quantum": knobs.starvation_quantum}
    if choices.order in ("levels", "skip_levels"):
        quantum_s = rules.get("quantum_s", 0.03) if knobs.quantum_ms is None else knobs.quantum_ms / 1000
        growth = rules.get("quantum_growth", 2.0) if knobs.quantum_growth is None else knobs.quantum_growth
        rules |= {"quantum_s": quantum_s, "quantum_growth": growth}
        if rules.get("boost_steps"):
            host = general_host_blocks(given) if choices.eviction == "swap" else 0
            rules |= {"boost_wait_s": knobs.starvation_s, "host_keep": host // 10}
            rules |= {"spare_blocks": min(given.resolved.max_num_seqs, given.resolved.usable_blocks // 10)}
    if choices.order == "refined":
        rules.setdefault("keep_share", knobs.keep_share if knobs.keep_share < 1 else 2.0)
    if choices.order == "declared":
        rules |= {"declare_tokens": rules.get("declare_tokens", 15)}
    if choices.order == "shortest_guarded":
        rules |= {"guard_wait_s": knobs.guard_wait_s, "guard_factor": knobs.guard_factor, **ESTIMATE}
    if choices.order == "tail_averse":
        rules |= QUEUE_WEIGHT
    if choices.order == "planned":
        rules |= {"gather": knobs.group_size, "is_grouped": 1, "rerun_size": given.resolved.max_num_seqs}
        rules |= {"predict_delay_s": 0.0}  # nothing is planned before it is predicted
    return rules


def general_host_blocks(given: Given) -> int:
    """KV blocks that the host memory holds."""
    kv_bytes = given.resolved.kv_bytes_per_token * given.resolved.block_size
    return int(given.scenario.scheduler.swap_space_gib * GIB / kv_bytes)


def hints_of(given: Given) -> Hints:
    """What the scheduler is told about each request."""
    requests, predictions, choices = given.requests, given.predictions, given.choices
    cap = requests.cap
    n = len(cap)
    hints = Hints(
        key=keys_of(given),
        key_tail=np.zeros(n),
        guess=guesses_of(given),
        reserve_out=reserved_outputs(given),
        stop=cap,
        group=np.zeros(n, np.int64),
        group_size=np.full(n, given.resolved.max_num_seqs, np.int64),
        weight=np.ones(1),
    )
    if choices.order == "tail_averse":
        mean, tail = tail_means(predictions, cap)
        return hints._replace(key=mean, key_tail=tail, ageing=ageing())
    if choices.order in ("fair", "by_type"):
        shares = np.array([task.share for task in given.scenario.workload.types], np.float64)
        weight = shares if len(shares) > int(given.info.type_id.max()) else np.ones(int(given.info.type_id.max()) + 1)
        return hints._replace(group=given.info.type_id.astype(np.int64), weight=weight)
    if choices.order == "skip_levels":
        rules = own_rules(given)
        return hints._replace(group=first_levels(requests.prompt_len, given.step, rules))
    if choices.order == "planned":
        knobs = given.scenario.scheduler
        return planned_batches(hints, predictions.point, cap, knobs, given.resolved.max_num_seqs)
    if is_by_class(given):
        classes, group = np.unique(predictions.upper, return_inverse=True)
        return hints._replace(group=group.astype(np.int64), weight=np.ones(len(classes)))
    return hints


def is_by_class(given: Given) -> bool:
    """Whether every predicted class of lengths has a queue, and batches, of its own."""
    is_grouped = given.system.details.get("is_grouped") and given.choices.batching == "request"
    return bool(is_grouped) and given.choices.order == "arrival"


def keys_of(given: Given) -> Floats:
    """What orders requests where order is by key."""
    predictions, truth = given.predictions, given.requests.output_len
    by_order: dict[str, NDArray[Any]] = {
        "priority": given.requests.priority,
        "upper": predictions.upper,
        "lower": predictions.lower,
        "true_length": truth,
        "true_remaining": truth,
        "refined": predictions.point,
    }
    return by_order.get(given.choices.order, predictions.score).astype(np.float64)


def guesses_of(given: Given) -> Ints:
    """Output tokens that the scheduler expects of each request."""
    predictions, requests = given.predictions, given.requests
    reserve = given.choices.reserve
    if given.choices.order == "true_remaining" or reserve == "peak_truth":
        return requests.output_len
    by_reserve = {
        "peak_upper": predictions.upper,
        "peak_lower": predictions.lower,
        "peak_cap": requests.cap,
        "peak_aggressive": np.minimum(requests.cap, AGGRESSIVE_OUTPUT),
    }
    return by_reserve.get(reserve, predictions.point)


def reserved_outputs(given: Given) -> Ints:
    """Output tokens that admission reserves for each request."""
    requests, predictions = given.requests, given.predictions
    reserve = given.choices.reserve
    if reserve == "truth":
        return requests.output_len
    if reserve == "pow2":
        exponent = np.ceil(np.log2(requests.output_len)).astype(np.int64)
        return np.left_shift(np.int64(1), exponent)
    if reserve == "max_model_len":
        return np.maximum(given.resolved.max_model_len - requests.prompt_len, 1)
    if reserve == "predicted":
        return predictions.upper
    if reserve == "quantile":
        return reservation_tokens(predictions, requests.cap, given.scenario.predictor.quantile)
    return predictions.point if reserve == "conformal" else requests.cap


__all__ = ["Plan", "plan_of"]
