"""From a scenario's SGLang server to the rules its engine reads."""

from typing import TYPE_CHECKING

from sim.engine.sglang.inputs import SglangOrder, SglangRules
from sim.errors import ScenarioError
from sim.systems.sglang_limits import KEPT_BY_CONTEXT

if TYPE_CHECKING:
    from sim.deployment import Resolved
    from sim.scenario import Scenario

ORDERS = {"fcfs": SglangOrder.FCFS, "lpm": SglangOrder.LPM, "lof": SglangOrder.LOF}


def sglang_rules(scenario: "Scenario", resolved: "Resolved") -> SglangRules:
    """Rules of a scenario's SGLang server.

    Parameters
    ----------
    scenario : Scenario
    resolved : Resolved
        The deployment with its limits filled in; its blocks are pages.

    Raises
    ------
    ScenarioError
        Clients that give up: the engine has none.
    """
    if scenario.workload.client_timeout_s is not None:
        raise ScenarioError(
            f"workload.client_timeout_s is {scenario.workload.client_timeout_s:g}; scheduler.system sglang allows "
            "only none"
        )
    knobs = scenario.scheduler.sglang
    init_ratio = min(knobs.init_new_token_ratio * knobs.schedule_conservativeness, 1.0)
    min_ratio = init_ratio * knobs.min_new_token_ratio_factor
    return SglangRules(
        order=ORDERS[knobs.schedule_policy],
        pool_tokens=resolved.kv_tokens,
        page_size=knobs.page_size,
        max_running_requests=resolved.max_num_seqs,
        max_prefill_tokens=knobs.max_prefill_tokens,
        chunked_prefill_size=resolved.max_num_batched_tokens if knobs.cuts_prompts else 0,
        prefill_max_requests=knobs.prefill_max_requests or 0,
        context_len=resolved.max_model_len + KEPT_BY_CONTEXT,
        clip_max_new_tokens=knobs.clip_max_new_tokens,
        retract_decode_steps=knobs.retract_decode_steps,
        mixed_chunk=knobs.enable_mixed_chunk and knobs.cuts_prompts,
        radix_cache=not knobs.disable_radix_cache,
        overlap=not knobs.disable_overlap_schedule,
        init_ratio=init_ratio,
        min_ratio=min_ratio,
        ratio_drop=(init_ratio - min_ratio) / knobs.new_token_ratio_decay_steps,
    )
