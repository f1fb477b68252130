"""How much of the GPUs' arithmetic and bandwidth a run put to use (MFU, MBU).

Source: metrics.md, section 3; work and bytes of a token as in the step time. NaN where the step time is a constant,
which knows no GPU, or where nothing ran.
"""

import math

import numpy as np

from sim.catalog import gpu, model
from sim.cost.terms import flops_ms, weights_ms
from sim.engine.accounts import Bin
from sim.gpu_memory import kv_bytes_per_token
from sim.result import Result

BUSY = (Bin.FIXED, Bin.PREFILL, Bin.DECODE, Bin.RECOMPUTE, Bin.PADDING)


def mfu(result: Result) -> float:
    """Model FLOPs of useful tokens, over what the GPUs' peak could have done in the run's duration.

    A token's linear layers count at the peak of the weights' type, its attention to the tokens up to itself at the
    16-bit peak. Recomputed and padded tokens are not useful, tokens found in the prefix cache are not processed.
    """
    duration_s, deployment = result.run.duration_s, result.scenario.deployment
    if result.scenario.cost.source == "constant" or duration_s <= 0:
        return math.nan
    outcome, shape, card = result.run.outcome, model(deployment.model), gpu(deployment.gpu)
    last = np.where(outcome.emitted > 0, result.inputs.prompt_len + outcome.emitted - 1, 0).astype(np.float64)
    first = np.minimum(outcome.cached_tokens, last)
    attended = float((last * (last + 1) - first * (first + 1)).sum()) / 2
    tokens = np.array([(last - first).sum()])
    linear_ms = float(flops_ms(shape, card, result.resolved.weight_dtype, tokens)[0])
    attention_ms = 4.0 * shape.layers * shape.heads * shape.head_dim * attended / (card.bf16_tflops * 1e9)
    return (linear_ms + attention_ms) / 1000 / deployment.gpus / duration_s


def mbu(result: Result) -> float:
    """Bytes read, weights once an iteration and KV, over what the bandwidth allows in the time of all iterations.

    NaN for mixtures of experts as well: which experts an iteration reads is not recorded.
    """
    deployment = result.scenario.deployment
    shape, card = model(deployment.model), gpu(deployment.gpu)
    busy_s = float(result.run.bins[:, BUSY].sum())
    if result.scenario.cost.source == "constant" or busy_s <= 0 or shape.is_moe:
        return math.nan
    one_read_ms = float(weights_ms(shape, card, result.resolved.weight_dtype, np.ones(1))[0])
    weights_s = result.run.counters["steps"] * one_read_ms / deployment.tensor_parallel_size / 1000
    kv_bytes = float(result.run.bins[:, Bin.KV_READ].sum()) * kv_bytes_per_token(shape, deployment)  # on each GPU
    return (weights_s + kv_bytes / (card.hbm_bw_gbs * 1e9)) / busy_s
