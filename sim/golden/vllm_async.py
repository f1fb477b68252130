"""Golden tables of vLLM's asynchronous loop: from a golden to what simulates it, and its run back to a table.

Settings, workload and times are translated as for the synchronous format. Who knows when a request ends differs:
the `cap` of a request is the largest output that the scheduler must expect. Source: README of those goldens, section 2.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from sim import engine
from sim.engine.inputs import Requests, Rules, StepTime
from sim.golden.vllm import inputs_of
from sim.golden.vllm_async_table import AsyncRun, table_of

NAME = "longtail-vllm-async-golden/1"
RunFunction = Callable[..., AsyncRun]  # with the signature of `engine_run`


def own_table(golden: dict[str, Any], run_function: RunFunction) -> dict[str, Any]:
    """The simulator's table for the workload and settings of a golden.

    Parameters
    ----------
    golden : dict
        One that `vllm_async_format.check` accepts; its `steps`, `requests` and `summary` are not read.
    run_function : function
        Called as `run_function(rules, requests, step_time, pause=...)` with the sleep after an iteration that
        executed nothing, in the golden's unit of time.
    """
    inputs = inputs_of(golden)
    requests = inputs.requests
    if golden["stop"] == "eos":
        requests = ended_by_text(requests, golden["config"]["max_model_len"])
    pause = float(golden["clock"]["pause_us"])
    run = run_function(inputs.rules, requests, inputs.step_time, pause=pause)
    parts = table_of(run, inputs.row_of, inputs.first_arrival, golden["detail"])
    return {**golden, "engine": {**golden["engine"], "simulator": "longtail"}, **parts}


def ended_by_text(requests: Requests, max_model_len: int) -> Requests:
    """The same requests, whose end nobody foresees: each may go on to `max_model_len`."""
    return requests._replace(cap=np.maximum(max_model_len - requests.prompt_len, 1))


def engine_run(rules: Rules, requests: Requests, step_time: StepTime, *, pause: float) -> engine.Run:
    """Run the compiled engine."""
    asynchronous = rules._replace(is_async=1, pause_s=pause)
    return engine.run(asynchronous, requests, step_time, record_steps=True)
