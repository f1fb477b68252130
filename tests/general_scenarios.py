"""Random small scenarios for the general engine and its naive counterpart: memories of a few blocks, bursts, caps.

A scenario is drawn in the words of the public `Scenario`, so that what is compared is the declaration of a system, its
rules and the loop together.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from sim.deployment import Resolved, resolve
from sim.engine.inputs import Requests, StepTime
from sim.scenario import Scenario
from sim.workload.predictions import make_predictions
from sim.workload.refinement import first_posterior, make_refinement
from sim.workload.requests import RequestInfo
from tests.naive.general_state import Case
from tests.scenarios import Sizes, request_sizes, requests_of, step_times

GIB = 2**30


class Drawn(NamedTuple):
    """One scenario, for both loops."""

    scenario: Scenario
    resolved: Resolved
    requests: Requests
    info: RequestInfo
    step_time: StepTime
    case: Case


PREDICTORS: list[dict[str, Any]] = [
    {"kind": "oracle"},
    {"kind": "point", "spread": 0.6},
    {"kind": "point", "spread": 0.3, "bias": -0.7},
    {"kind": "bucket", "num_classes": 4, "class_width": 6, "accuracy": 0.7},
    {"kind": "interval", "spread": 0.5, "coverage": 0.8},
    {"kind": "distribution", "spread": 0.8, "bias": 0.3},
]


@st.composite
def drawn(
    draw: Any, system: str, knobs: dict[str, Any], predictors: list[dict[str, Any]], max_requests: int = 10
) -> Drawn:
    """A scenario of a system; `knobs` holds values, or strategies for them."""
    is_crowd = draw(st.booleans())
    sizes = draw(crowds(max_requests) if is_crowd else st.lists(request_sizes(), min_size=1, max_size=max_requests))
    longest = max(size.prompt + size.cap for size in sizes)
    block = draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
    max_model_len = longest + draw(st.integers(0, 3))
    if draw(st.integers(0, 7)) == 0:
        max_model_len = max(longest - draw(st.integers(1, 5)), 2)
    usable = -(-max_model_len // block) + draw(st.sampled_from([0, 0, 1, 2, 5, 20]))
    scheduler = {"system": system} | {
        name: draw(value) if isinstance(value, st.SearchStrategy) else value for name, value in knobs.items()
    }
    if "max_num_seqs" not in scheduler:
        scheduler["max_num_seqs"] = draw(st.integers(3, 8) if is_crowd else st.integers(1, 8))
    predictor = dict(draw(st.sampled_from(predictors))) if predictors else {}
    if predictors and draw(st.integers(0, 3)) == 0:
        predictor["delay_ms"] = draw(st.sampled_from([250.0, 1000.0, 3500.0]))
        predictor["is_synchronous"] = draw(st.booleans())
        predictor["cost_ms"] = draw(st.sampled_from([0.0, 125.0]))
    num_types = draw(st.integers(1, 3))
    shares = [draw(st.sampled_from([1.0, 2.0, 0.5])) for _ in range(num_types)]
    host_blocks = scheduler.pop("host_blocks", 0)
    values: dict[str, Any] = {
        "version": 1,
        "seed": draw(st.integers(0, 99)),
        "deployment": {"block_size": block, "num_gpu_blocks_override": usable + 1, "max_model_len": max_model_len},
        "scheduler": scheduler,
        "predictor": predictor,
        "workload": {"types": [{"name": f"t{k}", "share": shares[k]} for k in range(num_types)]},
    }
    if draw(st.integers(0, 5)) == 0:
        values["workload"]["client_timeout_s"] = draw(st.sampled_from([3.0, 10.0, 40.5]))
    kv_bytes = resolve(Scenario(**values)).kv_bytes_per_token * block
    scheduler |= {"swap_space_gib": (host_blocks + 0.5) * kv_bytes / GIB, "swap_gb_s": kv_bytes / 1e9 * 8}
    scenario = Scenario(**values)
    resolved = resolve(scenario)
    requests = within(draw(requests_of(sizes)), max_model_len)
    if is_crowd and not requests.users:
        requests = requests._replace(arrival_s=np.minimum(requests.arrival_s, draw(st.sampled_from([0.0, 3.0]))))
    n = len(sizes)
    client = [draw(st.integers(0, num_types - 1)) for _ in range(n)]
    info = RequestInfo(
        requests.output_len,
        np.array(client, np.int64),
        tuple(f"t{k}" for k in range(num_types)),
        requests.prompt_len >= max_model_len,
        np.zeros(n, bool),
        np.full(n, -1, np.int64),
    )
    step_time = draw(step_times())
    return Drawn(scenario, resolved, requests, info, step_time, case_of(scenario, resolved, requests, info, step_time))


def crowds(max_requests: int) -> st.SearchStrategy[list[Sizes]]:
    """Many at once, whose answers outgrow the memory together."""
    sizes = st.builds(
        lambda prompt, output, more: Sizes(prompt, output, output + more),
        st.integers(1, 8),
        st.integers(6, 30),
        st.sampled_from([0, 0, 4, 20]),
    )
    return st.lists(sizes, min_size=4, max_size=max_requests)


def within(requests: Requests, max_model_len: int) -> Requests:
    """Outputs and caps cut to what the longest sequence leaves."""
    room = np.maximum(max_model_len - requests.prompt_len, 1)
    return requests._replace(output_len=np.minimum(requests.output_len, room), cap=np.minimum(requests.cap, room))


def case_of(scenario: Scenario, resolved: Resolved, requests: Requests, info: RequestInfo, step_time: StepTime) -> Case:
    """The same for the naive loop."""
    predictor, knobs = scenario.predictor, scenario.scheduler
    predictions = make_predictions(scenario, requests, info)
    is_swapping = knobs.choices.eviction == "swap"
    kv_bytes = resolved.kv_bytes_per_token * resolved.block_size
    delay_s, cost_s = predictor.delay_ms / 1000, predictor.cost_ms / 1000
    refinement = posterior = None
    if knobs.choices.order == "refined":
        refinement = make_refinement(scenario, requests, every=50 if knobs.system == "elis" else None)
        posterior = first_posterior(predictions, refinement)
    return Case(
        system=knobs.system,
        knobs=knobs,
        requests=requests,
        predictions=predictions,
        step_time=step_time,
        block=resolved.block_size,
        capacity=resolved.usable_blocks,
        seats=resolved.max_num_seqs,
        budget=resolved.max_num_batched_tokens,
        max_model_len=resolved.max_model_len,
        watermark=resolved.watermark,
        host_blocks=int(knobs.swap_space_gib * GIB / kv_bytes) if is_swapping else 0,
        swap_block_s=kv_bytes / (knobs.swap_gb_s * 1e9) if is_swapping else 0.0,
        quantile=predictor.quantile,
        seed=scenario.seed,
        client=[int(each) for each in info.type_id],
        shares=[task.share for task in scenario.workload.types],
        predict_delay_s=0.0 if predictor.is_synchronous else delay_s,
        predict_step_s=delay_s + cost_s if predictor.is_synchronous else cost_s,
        timeout_s=scenario.workload.client_timeout_s or math.inf,
        refinement=refinement,
        posterior=posterior,
    )
