"""From a named system and its knobs to the rules the kernel reads."""

from typing import TYPE_CHECKING, Any

from sim.engine.inputs import Batching, Order, Reserve, Rules
from sim.vllm_releases import VllmRelease, vllm_release

if TYPE_CHECKING:
    from sim.deployment import Resolved
    from sim.scenario import Scenario

ASYNC_PAUSE_S = 0.001  # sleep of vLLM's loop after an iteration that executed nothing


def rules_of(scenario: "Scenario", resolved: "Resolved") -> Rules:
    """Rules of a scenario's scheduler; knobs that the system does not read are left out.

    Parameters
    ----------
    scenario : Scenario
    resolved : Resolved
        The deployment with its limits filled in.

    Source: schedulers.md, sections 3.1 and 3.4.
    """
    return SYSTEMS[scenario.scheduler.system](scenario, resolved)


def with_release(rules: Rules, release: VllmRelease) -> Rules:
    """vLLM V1's rules as an older release has them.

    Source: sim/vllm_releases.py.
    """
    return rules._replace(
        keep_blocks=rules.keep_blocks if release.watermark_exists else 0,
        reserve_full_isl=rules.reserve_full_isl if release.full_isl_exists else 0,
        chunked_prefill=1 if release.chunked_prefill_switch_ignored else rules.chunked_prefill,
        self_preempt_stops=int(release.priority_self_preempt_stops),
        limit_lone=int(release.cap_applies_to_lone),
        free_to_back=int(release.freed_blocks_all_to_back),
        skip_oversized=int(release.oversized_prompt_skipped),
    )


def _vllm_v1(scenario: "Scenario", resolved: "Resolved") -> Rules:
    """One token budget, running members first, blocks as they are needed."""
    knobs = scenario.scheduler
    rules = Rules(
        batching=Batching.ITERATION,
        order=Order.PRIORITY if knobs.scheduling_policy == "priority" else Order.FCFS,
        reserve=Reserve.CHUNK,
        hold=0,
        batch_delivery=0,
        batch_wait_s=0.0,
        block_size=resolved.block_size,
        usable_blocks=resolved.usable_blocks,
        max_num_seqs=resolved.max_num_seqs,
        max_num_batched_tokens=resolved.max_num_batched_tokens,
        max_model_len=resolved.max_model_len,
        chunked_prefill=knobs.enable_chunked_prefill,
        long_prefill_token_threshold=knobs.long_prefill_token_threshold,
        prefix_caching=knobs.enable_prefix_caching,
        keep_blocks=int(resolved.watermark * (resolved.usable_blocks + 1)),  # vLLM counts the null block here
        reserve_full_isl=knobs.scheduler_reserve_full_isl,
        is_async=knobs.async_scheduling,
        pause_s=ASYNC_PAUSE_S,
    )
    return with_release(rules, vllm_release(knobs.vllm_release))


def _static(scenario: "Scenario", resolved: "Resolved") -> Rules:
    """A batch takes whole prompts and full reservations, and is closed until its last member is done."""
    knobs = scenario.scheduler
    return Rules(
        batching=Batching.REQUEST,
        order=Order.PRIORITY if knobs.scheduling_policy == "priority" else Order.FCFS,
        reserve=Reserve.CAP if knobs.reserve in (None, "cap") else Reserve.MAX_MODEL_LEN,
        hold=knobs.hold,
        batch_delivery=knobs.delivers_batches,
        batch_wait_s=knobs.batch_wait_s,
        block_size=resolved.block_size,
        usable_blocks=resolved.usable_blocks,
        max_num_seqs=resolved.max_num_seqs,
        max_num_batched_tokens=resolved.max_num_batched_tokens,
        max_model_len=resolved.max_model_len,
        chunked_prefill=0,
        long_prefill_token_threshold=0,
        prefix_caching=0,
        keep_blocks=0,
        reserve_full_isl=0,
    )


def pipeline_rules(scenario: "Scenario", usable_blocks: int, watermark: float) -> dict[str, Any]:
    """Rules of the loop with several batches in flight; none where there is no pipeline.

    vLLM V1 keeps a batch in flight for each stage, with asynchronous scheduling one more, and lets chunks of one prompt
    follow each other; with other choices in place of its own, and elsewhere, a request is in one batch at a time.

    Source: vLLM 0.33.0, `EngineCore.step_with_batch_queue` and `VllmConfig.max_concurrent_batches`; schedulers.md 1.3.
    """
    stages, knobs = scenario.deployment.pipeline_parallel_size, scenario.scheduler
    if stages == 1:
        return {}
    if knobs.system != "vllm_v1" or knobs.is_recombined:
        return {"stages": stages, "most_in_flight": stages}
    return {
        "stages": stages,
        "most_in_flight": stages + knobs.async_scheduling,
        "is_async": knobs.async_scheduling,
        "is_overlapping": 1,
        "pause_s": ASYNC_PAUSE_S,
        "keep_blocks": int(watermark * (usable_blocks + 1)),  # vLLM counts the null block here
    }


SYSTEMS = {"vllm_v1": _vllm_v1, "static": _static}
