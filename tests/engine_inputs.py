"""Inputs of the engine for tests that speak to it directly: lengths, vLLM's rules, a step time of one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sim.engine import Requests, Rules, StepTime
from sim.engine.inputs import Batching, Order, Reserve

VLLM = Rules(
    batching=Batching.ITERATION,
    order=Order.FCFS,
    reserve=Reserve.CHUNK,
    hold=0,
    batch_delivery=0,
    batch_wait_s=0.0,
    block_size=16,
    usable_blocks=100,
    max_num_seqs=8,
    max_num_batched_tokens=256,
    max_model_len=1000,
    chunked_prefill=1,
    long_prefill_token_threshold=0,
    prefix_caching=0,
    keep_blocks=0,
    reserve_full_isl=1,
)


def vllm_rules(**changes: Any) -> Rules:
    """vLLM V1's rules with some changed."""
    return VLLM._replace(**changes)


def requests_of_lengths(prompt_len: Sequence[int], output_len: Sequence[int], arrival_s: Sequence[float]) -> Requests:
    """Requests that share nothing, none a straggler."""
    n = len(prompt_len)
    prompts, outputs = np.asarray(prompt_len, np.int64), np.asarray(output_len, np.int64)
    nothing = np.zeros(0, np.int64)
    zeros = np.zeros(n, np.int64)
    start = np.zeros(n + 1, np.int64)
    return Requests(np.asarray(arrival_s, float), prompts, outputs, outputs, zeros, zeros, start, nothing, nothing, 0)


def step_time_of(max_tokens: int) -> StepTime:
    """Every iteration takes one second."""
    return StepTime(np.ones(max_tokens + 1), 0.0, 0.0, 0.0)
