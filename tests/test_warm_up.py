"""Every loop is in the cache once it has been compiled, whichever process did it; and which loop is for whom."""

import os
import subprocess
import sys

import pytest

from sim.cost import step_time
from sim.deployment import resolve
from sim.engine import Rules, is_compiled
from sim.engine.general.choices import GeneralRules
from sim.engine.sglang import SglangRules
from sim.scenario import Scenario, with_values
from sim.systems import SYSTEMS
from sim.systems.build import plan_of
from sim.systems.warm_up import LOOPS, loop_of
from sim.workload import make_requests

OF_RULES = {Rules: "engine", GeneralRules: "general", SglangRules: "sglang"}


@pytest.mark.parametrize("loop", LOOPS)
def test_compiled_loop_is_found_in_the_cache(loop: str) -> None:
    assert is_compiled(loop)  # by tests/conftest.py


def test_loop_nobody_wrote_is_not_in_the_cache() -> None:
    assert not is_compiled("nothing")


@pytest.mark.parametrize("loop", LOOPS)
def test_scenario_that_warms_a_loop_up_runs_on_it(loop: str) -> None:
    assert loop_of(with_values(Scenario(), LOOPS[loop])) == loop


@pytest.mark.parametrize("system", SYSTEMS)
def test_loop_is_the_one_that_the_rules_are_for(system: str) -> None:
    scenario = with_values(Scenario(), {"scheduler.system": system, "workload.num_requests": 5})
    limits = resolve(scenario)
    requests, info = make_requests(scenario, max_model_len=limits.max_model_len)
    plan = plan_of(scenario, limits, requests, info, step_time(scenario))
    assert loop_of(scenario) == OF_RULES[type(plan.rules)]


@pytest.mark.slow
def test_cache_is_filled_from_other_processes(tmp_path: os.PathLike[str]) -> None:
    code = "from sim.systems.warm_up import *; warm_up_all(); print([is_compiled(loop) for loop in LOOPS])"
    env = os.environ | {"NUMBA_CACHE_DIR": os.fspath(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([True] * len(LOOPS))
