"""The engine that a plan is for."""

from collections.abc import Sequence
from typing import Any

from sim.engine import Stop, run, sglang
from sim.engine.general.choices import GeneralRules
from sim.engine.general.run import run_general
from sim.engine.inputs import Requests, StepTime
from sim.engine.pipeline.run import run_pipeline
from sim.engine.run import Run
from sim.engine.sglang.inputs import SglangRules
from sim.errors import ScenarioError
from sim.systems.build import Plan


def run_plan(plan: Plan, requests: Requests, step: StepTime, stages: Sequence[StepTime] = (), **limits: Any) -> Run:
    """Simulate all requests under a plan; `stages` of a pipeline, `limits` as of `sim.engine.run`."""
    if isinstance(plan.rules, GeneralRules):
        assert plan.hints is not None
        if plan.rules.stages > 1:
            return run_pipeline(plan.rules, requests, plan.hints, stages, **limits)
        return run_general(plan.rules, requests, plan.hints, step, plan.refinement, posterior=plan.posterior, **limits)
    if isinstance(plan.rules, SglangRules):
        return run_sglang(plan.rules, requests, step, **limits)
    return run(plan.rules, requests, step, **limits)


def run_sglang(rules: SglangRules, requests: Requests, step: StepTime, **limits: Any) -> Run:
    """Simulate an SGLang server.

    Raises
    ------
    ScenarioError
        The server's process would have ended in the run: with mixed chunks a prompt goes on without asking for room.
    """
    result = sglang.run(rules, requests, step, **limits)
    if result.stop == Stop.OUT_OF_MEMORY:
        raise ScenarioError(
            f"scheduler.sglang.enable_mixed_chunk is true; after {result.duration_s:.3g} s the KV memory is full "
            "while a prompt is in work, and SGLang's process ends there: more schedule_conservativeness or no mixed "
            "chunks is needed"
        )
    return result
