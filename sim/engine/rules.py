"""From a scenario to the rules of its scheduler: the row of numbers that the loop reads."""

from typing import Any

from sim.deployment import Resolved
from sim.engine.inputs import Batching, Order, Reserve, Rules
from sim.scenario import Scenario
from sim.system_spec import Scheduler

ORDERS = {"fcfs": Order.FCFS, "priority": Order.PRIORITY}
RESERVES = {"cap": Reserve.CAP, "max_model_len": Reserve.MAX_MODEL_LEN}


def rules_of(scenario: Scenario, resolved: Resolved) -> Rules:
    """Rules of the scenario's scheduler, with the limits that its deployment comes to."""
    choices = SYSTEMS[scenario.scheduler.system](scenario.scheduler, resolved)
    return Rules(
        order=ORDERS[scenario.scheduler.scheduling_policy],
        block_size=resolved.block_size,
        usable_blocks=resolved.usable_blocks,
        max_num_seqs=resolved.max_num_seqs,
        max_num_batched_tokens=resolved.max_num_batched_tokens,
        max_model_len=resolved.max_model_len,
        **choices,
    )


def vllm_v1(scheduler: Scheduler, resolved: Resolved) -> dict[str, Any]:
    """vLLM V1 as of 0.33.0. Source: ../goldens/vllm/README.md."""
    return {
        "batching": Batching.ITERATION,
        "reserve": Reserve.CHUNK,
        "hold": False,
        "batch_delivery": False,
        "batch_wait_s": 0.0,
        "chunked_prefill": scheduler.enable_chunked_prefill,
        "long_prefill_token_threshold": scheduler.long_prefill_token_threshold,
        "prefix_caching": scheduler.enable_prefix_caching,
        "keep_blocks": int(scheduler.watermark * (resolved.usable_blocks + 1)),  # vLLM counts its null block here
        "reserve_full_isl": scheduler.scheduler_reserve_full_isl,
    }


def static(scheduler: Scheduler, resolved: Resolved) -> dict[str, Any]:
    """Request-level batching: whole prompts, a reservation for each member, nobody joins. Source: schedulers.md 3.1."""
    return {
        "batching": Batching.REQUEST,
        "reserve": RESERVES[scheduler.reserve],
        "hold": scheduler.hold,
        "batch_delivery": scheduler.hold and scheduler.delivery == "batch",
        "batch_wait_s": scheduler.batch_wait_s,
        "chunked_prefill": False,
        "long_prefill_token_threshold": 0,
        "prefix_caching": False,
        "keep_blocks": 0,
        "reserve_full_isl": False,
    }


SYSTEMS = {"vllm_v1": vllm_v1, "static": static}
