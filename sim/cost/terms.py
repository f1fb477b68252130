"""What one iteration of a deployment has to do, in milliseconds at the GPU's datasheet speed. Source: cost.md.

How much slower a real GPU is are the coefficients (coefficients.py); both together make the step time (step_time.py).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sim.catalog import Gpu, Model, gpu, model
from sim.gpu_memory import WEIGHT_BYTES, expert_params, kv_bytes_per_token, quantised_params, weight_dtype
from sim.stages import Stage
from sim.system_spec import Deployment

Floats = NDArray[np.float64]

TYPICAL_CONTEXT = 4096  # tokens; how much a sliding window saves is taken at this length


class Terms(NamedTuple):
    """Datasheet times of one deployment, on each GPU. Arrays go with the tokens they were asked for."""

    layers: int
    gpus: int
    weights_ms: Floats  # (m,) reading the weights
    flops_ms: Floats  # (m,) matrix products
    kv_ms: float  # reading one token of KV cache
    attention_ms: float  # one unit of prefill work, q * context + q * q / 2
    transfer_ms: Floats  # (m,) all-reduces, over the link
    allreduces: int  # calls in a step
    send_ms: Floats | float = 0.0  # (m,) hidden states for the next stage, over the link


def terms_of(deployment: Deployment, tokens: Floats, stage: Stage | None = None) -> Terms:
    """The terms of a deployment for iterations of so many tokens.

    Parameters
    ----------
    deployment : Deployment
    tokens : (m,) float64
        Prefill and decode tokens of each iteration.
    stage : Stage, optional
        On its GPUs only; on all stages together if left out, without what one sends to the next.

    Returns
    -------
    Terms
        Of layers with a sliding window only what they read at the typical context counts.
    """
    shape, card = model(deployment.model), gpu(deployment.gpu)
    gpus, dtype = deployment.tensor_parallel_size, weight_dtype(shape, deployment)
    layers, share = (shape.layers, 1.0) if stage is None else (stage.layers, stage.share)
    calls = 2 * layers if gpus > 1 else 0  # after attention and after the MLP
    transfer_bytes = 2 * (gpus - 1) / gpus * tokens * shape.hidden * 2.0 * calls  # 16-bit hidden states over a ring
    work_flops = 4.0 * layers * shape.heads * shape.head_dim / gpus
    seen = share_of_context_read(shape)
    return Terms(
        layers=layers,
        gpus=gpus,
        weights_ms=part(weights_ms(shape, card, dtype, tokens), head_read_ms(shape, card), stage) / gpus,
        flops_ms=part(flops_ms(shape, card, dtype, tokens), tokens * head_flops_ms(shape, card), stage) / gpus,
        kv_ms=share * seen * kv_bytes_per_token(shape, deployment) / (card.hbm_bw_gbs * 1e6),
        attention_ms=seen * work_flops / (card.bf16_tflops * 1e9),
        transfer_ms=transfer_bytes / (card.link_gbs * 1e6),
        allreduces=calls,
        send_ms=0.0 if stage is None or stage.is_last else tokens * shape.hidden * 2.0 / (card.link_gbs * 1e6),
    )


def part(whole: Floats, head: Floats | float, stage: Stage | None) -> Floats:
    """A stage's part of something that every layer and the output head take."""
    if stage is None or stage.is_whole:
        return whole
    return (whole - head) * stage.share + head * stage.is_last


def share_of_context_read(shape: Model) -> float:
    """Part of the KV cache that attention looks at: all of it, or less where most layers have a sliding window."""
    if not shape.sliding_window:
        return 1.0
    full = 1.0 / shape.full_attn_every
    return full + (1.0 - full) * min(1.0, shape.sliding_window / TYPICAL_CONTEXT)


def weights_ms(shape: Model, card: Gpu, dtype: str, tokens: Floats) -> Floats:
    """Reading the weights, over one GPU; of the experts only those that some token is sent to."""
    experts, quantised = expert_params(shape), quantised_params(shape, dtype)
    plain = shape.matmul_params - quantised
    read = (quantised - experts) * WEIGHT_BYTES[dtype] + plain * WEIGHT_BYTES["bf16"]
    return (read + experts * WEIGHT_BYTES[dtype] * experts_reached(shape, tokens)) / (card.hbm_bw_gbs * 1e6)


def head_read_ms(shape: Model, card: Gpu) -> float:
    """Reading the output head, over one GPU."""
    return shape.vocab * shape.hidden * WEIGHT_BYTES["bf16"] / (card.hbm_bw_gbs * 1e6)


def head_flops_ms(shape: Model, card: Gpu) -> float:
    """The output head's product for one token, over one GPU."""
    return 2.0 * shape.vocab * shape.hidden / card.bf16_tflops / 1e9


def experts_reached(shape: Model, tokens: Floats) -> Floats:
    """Share of the experts that at least one of so many tokens is sent to, by chance."""
    if not shape.is_moe:
        return np.zeros(len(tokens))
    return 1.0 - (1.0 - shape.experts_per_token / shape.num_experts) ** tokens


def flops_ms(shape: Model, card: Gpu, dtype: str, tokens: Floats) -> Floats:
    """Matrix products at the dense peak of each weight's type, over one GPU; at 16 bit where it has no such type."""
    peaks = {"bf16": card.bf16_tflops, "fp8": card.fp8_tflops, "fp8_block": card.fp8_tflops, "fp4": card.fp4_tflops}
    idle = expert_params(shape) * (1.0 - shape.experts_per_token / shape.num_experts) if shape.is_moe else 0.0
    quantised = quantised_params(shape, dtype) - idle
    plain = shape.active_matmul_params - quantised
    return 2.0 * tokens * (quantised / (peaks[dtype] or card.bf16_tflops) + plain / card.bf16_tflops) / 1e9
