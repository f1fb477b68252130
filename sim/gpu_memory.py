"""What a model takes of each GPU's memory: weights, KV cache of a token, reserve for running.

Rule. A GPU gives `usable memory x gpu_memory_utilization`. From that go the weights, the runtime (CUDA context,
libraries, NCCL when there is more than one GPU), the CUDA graphs, and the peak of vLLM's profiling run: the larger
of the activations of a full token budget and the sampler's tables for `max_num_seqs` requests, which never live at
the same time. The rest is KV cache.

Checked against vLLM 0.19, which did not count CUDA graphs: Llama-3.1-8B on an RTX 4090 held 42,700 tokens (from the
KV use and the running requests of a measured run), the rule gives 42,800; gpt-oss-20b on an A100 80 GB left 1.2 GiB
besides weights and KV, the rule gives 1.2.
"""

from sim.catalog import Model
from sim.stages import Stage
from sim.system_spec import Deployment

GIB = 2.0**30
RUNTIME_GIB = 0.6  # fitted to the two checks above
NCCL_GIB = 0.5  # communication buffers, more than one GPU
CUDA_GRAPHS_GIB = 0.4  # a vLLM 0.25 log: 0.36 GiB; counted as part of the budget since 0.21

WEIGHT_BYTES = {"bf16": 2.0, "fp8": 1.0, "fp8_block": 1.0, "fp4": 0.53125}  # MXFP4: an 8-bit scale for 32 weights
BLOCK_SCALED_FP8 = ("DeepSeek-V3", "DeepSeek-R1", "Kimi-K2", "MiniMax-M2.5")  # published with 128 x 128 scales


def weight_dtype(model: Model, deployment: Deployment) -> str:
    """Data type of the weights, with `auto` resolved to the model's own."""
    if deployment.weight_dtype != "auto":
        return deployment.weight_dtype
    if model.dtype == "fp8":
        return "fp8_block" if model.name in BLOCK_SCALED_FP8 else "fp8"
    return "fp4" if model.dtype == "mxfp4" else "bf16"


def expert_params(model: Model) -> float:
    """Parameters of all routed experts."""
    if not model.is_moe:
        return 0.0
    moe_layers = (model.layers - model.first_dense_layers) // model.moe_layer_freq
    matrices = 3 if model.gated_mlp else 2
    return float(moe_layers * model.num_experts * matrices * model.hidden * model.moe_intermediate)


def quantised_params(model: Model, dtype: str) -> float:
    """Parameters of matrix products held in `dtype`; the others stay at 16 bit.

    The output head stays at 16 bit. With 4-bit weights so does everything but the experts, where a model has experts
    (as gpt-oss is published).
    """
    if dtype == "fp4" and model.is_moe:
        return expert_params(model)
    return model.matmul_params - float(model.vocab * model.hidden)


def weight_bytes(model: Model, dtype: str) -> float:
    """Bytes of all weights, over all GPUs; the embedding stays at 16 bit."""
    quantised = quantised_params(model, dtype)
    return quantised * WEIGHT_BYTES[dtype] + (model.params - quantised) * WEIGHT_BYTES["bf16"]


def stage_weight_bytes(model: Model, dtype: str, stage: Stage) -> float:
    """Bytes of the weights of one stage, over its GPUs: its layers, the embedding in the first, the head in the last.

    Where the head is the embedding, both of these stages hold it.
    """
    if stage.is_whole:
        return weight_bytes(model, dtype)
    matrix = float(model.vocab * model.hidden) * WEIGHT_BYTES["bf16"]
    layers = weight_bytes(model, dtype) - matrix * (1 if model.tie_embeddings else 2)
    return layers * stage.share + matrix * (stage.is_first + stage.is_last)


def kv_bytes_per_token(model: Model, deployment: Deployment) -> float:
    """KV cache of one token on each GPU, over all layers: of a pipeline, on one GPU of each stage together.

    KV heads are dealt over the GPUs; with more GPUs than heads each head is kept more than once. A compressed (MLA)
    vector is kept on every GPU. Sliding windows save nothing: all layers count as full attention.
    """
    size = 1.0 if deployment.kv_cache_dtype == "fp8" else 2.0
    share = 1.0 if model.is_mla else max(1.0 / deployment.tensor_parallel_size, 1.0 / model.kv_heads)
    return model.kv_elements_per_token * size * share


def reserve_gib(
    model: Model, deployment: Deployment, max_num_batched_tokens: int, max_num_seqs: int, stage: Stage | None = None
) -> float:
    """What running takes on each GPU besides weights and KV cache; of a pipeline only the last stage samples."""
    gpus = deployment.tensor_parallel_size
    mlp = model.moe_intermediate * model.experts_per_token if model.is_moe else model.intermediate
    activations = 2.0 * max_num_batched_tokens * (4 * model.hidden + 3 * mlp / gpus)  # 16 bit; residual, gate, up, act
    sampler = 4.0 * 3 * max_num_seqs * model.vocab  # float32 logits, probabilities, sorted
    if stage is not None and not stage.is_last:
        sampler = 0.0
    nccl = NCCL_GIB if deployment.gpus > 1 else 0.0
    return RUNTIME_GIB + nccl + CUDA_GRAPHS_GIB + max(activations, sampler) / GIB
