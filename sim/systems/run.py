"""The engine that a plan is for."""

from typing import Any

from sim.engine import run
from sim.engine.general.choices import GeneralRules
from sim.engine.general.run import run_general
from sim.engine.inputs import Requests, StepTime
from sim.engine.run import Run
from sim.systems.build import Plan


def run_plan(plan: Plan, requests: Requests, step: StepTime, **limits: Any) -> Run:
    """Simulate all requests under a plan; `limits` as of `sim.engine.run`."""
    if isinstance(plan.rules, GeneralRules):
        assert plan.hints is not None
        return run_general(plan.rules, requests, plan.hints, step, plan.refinement, posterior=plan.posterior, **limits)
    return run(plan.rules, requests, step, **limits)
