"""A vLLM V1 server as the loop that runs all combinations of choices has it: what only vLLM's own loop reads is off."""

from typing import Any

from sim.scheduler_spec import Scheduler

AS_IN_GENERAL_LOOP: dict[str, Any] = {
    "scheduler.async_scheduling": False,
    "scheduler.enable_prefix_caching": False,
    "scheduler.enable_chunked_prefill": True,
    "scheduler.scheduling_policy": "fcfs",
    "scheduler.vllm_release": Scheduler.model_fields["vllm_release"].default,
}
