"""How long one iteration of a deployment takes. Source: cost.md."""

import numpy as np
from numpy.typing import NDArray

from sim.catalog import Gpu, Model, gpu, model
from sim.cost.coefficients import Coefficients, coefficients
from sim.deployment import resolve
from sim.engine.inputs import StepTime
from sim.gpu_memory import WEIGHT_BYTES, expert_params, kv_bytes_per_token, weight_dtype
from sim.scenario import Scenario
from sim.system_spec import Deployment

HOST_MS = 1.0  # vLLM V1, each step
LONGEST_TABLE = 65_536  # tokens; past it the table goes on in a straight line

Floats = NDArray[np.float64]


def step_time(scenario: Scenario, max_tokens: int | None = None) -> StepTime:
    """Step time of the scenario's deployment, everything folded into a table over tokens and two factors.

    Parameters
    ----------
    scenario : Scenario
    max_tokens : int, optional
        Most tokens of one iteration, the table's end; by default what the scheduler's limits allow.

    Returns
    -------
    StepTime
        In seconds. Longer iterations go on with the slope of the table's end.
    """
    if max_tokens is None:
        resolved = resolve(scenario)
        max_tokens = resolved.max_num_batched_tokens + resolved.max_num_seqs
    tokens = np.arange(max(2, min(max_tokens, LONGEST_TABLE) + 1), dtype=np.float64)
    cost = scenario.cost
    if cost.source == "constant":
        return StepTime(np.full(len(tokens), cost.step_ms / 1000), 0.0, 0.0, 0.0)
    host_ms = HOST_MS if cost.host_ms is None else cost.host_ms
    return deployment_step_time(scenario.deployment, tokens, host_ms)


def deployment_step_time(deployment: Deployment, tokens: Floats, host_ms: float) -> StepTime:
    """Step time of a deployment by the catalogue's coefficients.

    Parameters
    ----------
    deployment : Deployment
    tokens : (m,) float64
        0, 1, ..., m - 1: tokens of an iteration.
    host_ms : float
        The engine's own time in each step.
    """
    shape, card = model(deployment.model), gpu(deployment.gpu)
    dtype, gpus = weight_dtype(shape, deployment), deployment.tensor_parallel_size
    fit, _ = coefficients(card, shape, dtype)
    memory_ms = fit.inv_eff_mem * weights_ms(shape, card, dtype, tokens) / gpus
    compute_ms = fit.inv_eff_flop * flops_ms(shape, card, dtype, tokens) / gpus
    linear_ms = fit.o0_ms + fit.o1_us_layer * shape.layers / 1000 + host_ms + smooth_max(memory_ms, compute_ms, fit.p)
    linear_ms = linear_ms + allreduce_ms(shape, card, fit, gpus, tokens)
    linear_s = np.round(linear_ms / 1000, 12)  # ps: powers differ in the last bit between machines
    kv_ms = fit.inv_eff_kv * kv_bytes_per_token(shape, deployment) / (card.hbm_bw_gbs * 1e6)
    work_ms = 4.0 * shape.layers * shape.heads * shape.head_dim / gpus / (card.bf16_tflops * 1e9)
    slope_s = float(linear_s[-1] - linear_s[-2])
    return StepTime(linear_s, slope_s, kv_ms / 1000, fit.inv_eff_attn * work_ms / 1000)


def smooth_max(a: Floats, b: Floats, p: float) -> Floats:
    """(a^p + b^p)^(1/p): the sum at p = 1, the larger of both as p grows."""
    largest = np.maximum(a, b)  # taken out so that a large p cannot overflow
    scale = np.where(largest > 0, largest, 1.0)
    smooth: Floats = largest * ((a / scale) ** p + (b / scale) ** p) ** (1 / p)
    return smooth


def weights_ms(shape: Model, card: Gpu, dtype: str, tokens: Floats) -> Floats:
    """Reading the weights at full bandwidth; of the experts only those that some token is sent to."""
    read = np.full(len(tokens), shape.matmul_params - expert_params(shape))
    if shape.is_moe:
        missed = (1.0 - shape.experts_per_token / shape.num_experts) ** tokens
        read = read + expert_params(shape) * (1.0 - missed)
    return read * WEIGHT_BYTES[dtype] / (card.hbm_bw_gbs * 1e6)


def flops_ms(shape: Model, card: Gpu, dtype: str, tokens: Floats) -> Floats:
    """Matrix products at the dense peak of the weights' type; at 16 bit where the GPU has no such type."""
    peaks = {"bf16": card.bf16_tflops, "fp8": card.fp8_tflops, "fp8_block": card.fp8_tflops, "fp4": card.fp4_tflops}
    return 2.0 * tokens * shape.active_matmul_params / ((peaks[dtype] or card.bf16_tflops) * 1e9)


def allreduce_ms(shape: Model, card: Gpu, fit: Coefficients, gpus: int, tokens: Floats) -> Floats:
    """Two all-reduces a layer of 16-bit hidden states over a ring."""
    if gpus == 1:
        return np.zeros(len(tokens))
    calls = 2 * shape.layers
    transfer_ms = 2 * (gpus - 1) / gpus * tokens * shape.hidden * 2.0 * calls / (card.link_gbs * 1e6)
    return fit.ar_us * calls / 1000 + fit.allreduce(gpus) * transfer_ms
