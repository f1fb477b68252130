"""Golden tables of vLLM's synchronous scheduler: from a golden to the engine's inputs, and its run back to a table.

The engine wants requests sorted by arrival and counts time from the first one; a golden does neither. Its unit
of time is the golden's: calls on the step clock, microseconds on the other. Source: golden README, sections 1 and 2.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sim import engine
from sim.engine.inputs import SHARED_TEXT, Batching, Ints, Requests, Reserve, Rules, StepTime
from sim.engine.rules import with_release
from sim.golden.vllm_format import POLICIES
from sim.golden.vllm_table import table_of
from sim.vllm_releases import vllm_release

NAME = "longtail-vllm-golden/1"
RunFunction = Callable[..., engine.Run]  # with the signature of `engine_run`


class GoldenInputs(NamedTuple):
    """What the engine is given for a golden, and how to translate back."""

    rules: Rules
    requests: Requests
    step_time: StepTime
    row_of: Ints  # (n,) the golden's row of each request
    first_arrival: float


def own_table(golden: dict[str, Any], run_function: RunFunction) -> dict[str, Any]:
    """The simulator's table for the workload and settings of a golden.

    Parameters
    ----------
    golden : dict
        One that `vllm_format.check` accepts; its `steps`, `requests` and `summary` are not read.
    run_function : function
        `engine_run`, or something with the same signature.
    """
    inputs = inputs_of(golden)
    run = run_function(*inputs[:3], max_calls=golden["max_steps"])
    on_step_clock = golden["clock"]["mode"] == "step"
    parts = table_of(run, inputs.row_of, inputs.first_arrival, on_step_clock, golden["detail"])
    return {**golden, "engine": {**golden["engine"], "simulator": "longtail"}, **parts}


def engine_run(rules: Rules, requests: Requests, step_time: StepTime, *, max_calls: int | None) -> engine.Run:
    """Run the compiled engine."""
    return engine.run(rules, requests, step_time, max_calls=max_calls, record_steps=True)


def inputs_of(golden: dict[str, Any]) -> GoldenInputs:
    """Translate settings, workload and clock."""
    rows = golden["workload"]["rows"]
    config = golden["config"]
    release = vllm_release(golden["engine"]["vllm"])
    row_of = np.argsort([row[0] for row in rows], kind="stable")
    sorted_rows = [rows[row] for row in row_of]
    return GoldenInputs(
        rules=with_release(rules_of(config), release),
        requests=requests_of(sorted_rows, row_of, config["max_model_len"]),
        step_time=step_time_of(golden["clock"], config["max_num_batched_tokens"]),
        row_of=row_of,
        first_arrival=sorted_rows[0][0],
    )


def rules_of(config: dict[str, Any]) -> Rules:
    """The newest vLLM V1 with a golden's settings."""
    num_gpu_blocks = config["num_gpu_blocks"]
    return Rules(
        batching=int(Batching.ITERATION),
        order=int(POLICIES[config["policy"]]),
        reserve=int(Reserve.CHUNK),
        hold=0,
        batch_delivery=0,
        batch_wait_s=0.0,
        block_size=config["block_size"],
        usable_blocks=num_gpu_blocks - 1,  # without the null block
        max_num_seqs=config["max_num_seqs"],
        max_num_batched_tokens=config["max_num_batched_tokens"],
        max_model_len=config["max_model_len"],
        chunked_prefill=int(config["enable_chunked_prefill"]),
        long_prefill_token_threshold=config["long_prefill_token_threshold"],
        prefix_caching=int(config["enable_prefix_caching"]),
        keep_blocks=int(config["watermark"] * num_gpu_blocks),
        reserve_full_isl=int(config["reserve_full_isl"]),
    )


def requests_of(rows: list[list[Any]], row_of: Ints, max_model_len: int) -> Requests:
    """Requests in order of arrival; content ids that name a row follow the row to its new place."""
    place_of = np.argsort(row_of)
    segments = [row[4] or [] for row in rows]
    content = [_content(c, place_of) for row in segments for c, _ in row]
    prompt_len = np.array([row[1] for row in rows], np.int64)
    output_len = np.array([row[2] for row in rows], np.int64)
    output_len = np.minimum(output_len, np.maximum(max_model_len - prompt_len, 1))
    return Requests(
        arrival_s=np.array([row[0] - rows[0][0] for row in rows], np.float64),
        prompt_len=prompt_len,
        output_len=output_len,
        cap=output_len,  # no rule of vLLM's reads it
        priority=np.array([row[3] for row in rows], np.int64),
        is_straggler=np.zeros(len(rows), np.int64),  # only the ledgers read it
        segment_start=np.cumsum([0, *map(len, segments)], dtype=np.int64),
        segment_content=np.array(content, np.int64),
        segment_len=np.array([tokens for row in segments for _, tokens in row], np.int64),
        users=0,
    )


def step_time_of(clock: dict[str, Any], max_num_batched_tokens: int) -> StepTime:
    """A call takes 1, or a + b * tokens microseconds: whole numbers, exact in float64."""
    a, b = (1, 0) if clock["mode"] == "step" else (clock["a_us"], clock["b_us"])
    linear = a + b * np.arange(max_num_batched_tokens + 1, dtype=np.float64)
    return StepTime(linear_s=linear, beyond_s=float(b), kv_s=0.0, attention_s=0.0)


def _content(content: int, place_of: Ints) -> int:
    """The engine's content id: where a golden's row has gone, or a shared text.

    A number that is no row of the golden is text that nobody owns, too.
    """
    if content < len(place_of):
        return int(place_of[content])
    return SHARED_TEXT + content
