"""What a scenario's deployment and scheduler come to: KV blocks, context, limits; or why it cannot run."""

from typing import NamedTuple

from sim.catalog import Gpu, Model, gpu, model
from sim.errors import ScenarioError
from sim.gpu_memory import GIB, kv_bytes_per_token, reserve_gib, stage_weight_bytes, weight_dtype
from sim.lengths_spec import Constant, Lengths, Uniform
from sim.scenario import Scenario
from sim.stages import Stage, stages_of
from sim.system_spec import Deployment
from sim.systems import SYSTEMS
from sim.systems.pipeline import check_pipeline, is_in_pipeline
from sim.systems.sglang_limits import chunk_of, limits_of

LEAST_WHOLE_PROMPT_BUDGET = 2048  # of vLLM V0. Source: schedulers.md 3.3


class Resolved(NamedTuple):
    """A deployment with every default filled in. Memory figures are for each GPU, of the tightest pipeline stage."""

    usable_blocks: int  # KV blocks, vLLM's null block not counted; SGLang's pages
    max_model_len: int  # tokens
    max_num_seqs: int
    max_num_batched_tokens: int  # SGLang: longest prefill of a step
    block_size: int  # tokens; SGLang's page_size
    weight_dtype: str
    weight_gib: float
    reserve_gib: float  # runtime, CUDA graphs, activations
    kv_gib: float  # 0 or less where only `num_gpu_blocks_override` makes room
    kv_bytes_per_token: float
    watermark: float  # share of KV blocks that admission leaves free

    @property
    def kv_tokens(self) -> int:
        """Tokens that the KV cache holds."""
        return self.usable_blocks * self.block_size


def resolve(scenario: Scenario) -> Resolved:
    """Fill in what the scenario leaves open, and refuse what cannot run.

    Parameters
    ----------
    scenario : Scenario

    Returns
    -------
    Resolved

    Raises
    ------
    ScenarioError
        The model does not fit or cannot be split over so many GPUs, `max_model_len` is above the KV memory, or every
        prompt is longer than `max_model_len`. The sentence holds the numbers.

    Source: gpu_memory.py for the rule; vLLM 0.33.0 for the defaults.
    """
    deployment = scenario.deployment
    shape, card = model(deployment.model), gpu(deployment.gpu)
    _check_split(shape, deployment)
    seats, budget = _limits(scenario, card)
    check_pipeline(scenario)
    stages = stages_of(shape, deployment.pipeline_parallel_size)
    room = min((_room(shape, card, deployment, budget, seats, stage) for stage in stages), key=_tightness)
    block_size = deployment.block_size
    if room.kv_gib <= 0 or room.num_blocks < 2:
        raise ScenarioError(_does_not_fit(deployment, card, room))
    usable_blocks = room.num_blocks - 1
    context = _max_model_len(scenario, shape, budget, usable_blocks * block_size)
    if SYSTEMS[scenario.scheduler.system].engine == "sglang":
        usable_blocks, context, seats, budget = limits_of(scenario, card, usable_blocks * block_size, context)
        block_size = scenario.scheduler.sglang.page_size
    _check_prompts(scenario, context)
    if SYSTEMS[scenario.scheduler.system].engine != "sglang" and scenario.scheduler.max_num_batched_tokens is None:
        budget = _whole_prompt_budget(scenario, budget, seats, context)
    return Resolved(
        usable_blocks,
        context,
        seats,
        budget,
        block_size,
        weight_dtype(shape, deployment),
        room.weights_gib,
        room.reserve_gib,
        room.kv_gib,
        room.kv_bytes_per_token,
        SYSTEMS[scenario.scheduler.system].watermark
        if scenario.scheduler.watermark is None
        else scenario.scheduler.watermark,
    )


class Room(NamedTuple):
    """Memory of each GPU of a stage."""

    weights_gib: float
    reserve_gib: float
    kv_gib: float
    kv_bytes_per_token: float  # of the stage's layers
    num_blocks: int


def _room(shape: Model, card: Gpu, deployment: Deployment, budget: int, seats: int, stage: Stage) -> Room:
    """What one stage's weights leave for KV cache."""
    weights = stage_weight_bytes(shape, weight_dtype(shape, deployment), stage) / deployment.tensor_parallel_size / GIB
    reserve = reserve_gib(shape, deployment, budget, seats, stage)
    kv_gib = card.usable_memory_gib * deployment.gpu_memory_utilization - weights - reserve
    kv_bytes = kv_bytes_per_token(shape, deployment) * stage.share
    by_memory = int(kv_gib * GIB // (kv_bytes * deployment.block_size))
    return Room(weights, reserve, kv_gib, kv_bytes, deployment.num_gpu_blocks_override or by_memory)


def _tightness(room: Room) -> tuple[int, float]:
    return room.num_blocks, room.kv_gib


def default_limits(card: Gpu) -> tuple[int, int]:
    """vLLM's `max_num_seqs` and `max_num_batched_tokens` for the API server.

    Source: release 0.33.0; by the GPU's memory, with the A100 among the smaller ones.
    """
    if card.usable_memory_gib >= 160:
        return 1024, 16_384
    if card.usable_memory_gib >= 70 and not card.name.startswith("A100"):
        return 1024, 8192
    return 256, 2048


def _limits(scenario: Scenario, card: Gpu) -> tuple[int, int]:
    """`max_num_seqs` and `max_num_batched_tokens`; what the user sets bends the other default, as in vLLM."""
    scheduler = scenario.scheduler
    default_seats, default_budget = default_limits(card)
    system = SYSTEMS[scheduler.system]
    if system.engine == "sglang":
        default_budget = chunk_of(scheduler.sglang, card) or scheduler.sglang.max_prefill_tokens
        return scheduler.sglang.max_running_requests or scheduler.max_num_seqs or default_seats, default_budget
    default_seats = system.seats or default_seats
    if isinstance(system.budget, int):
        default_budget = system.budget
    budget = scheduler.max_num_batched_tokens or max(default_budget, scheduler.max_num_seqs or 0)
    seats = scheduler.max_num_seqs or min(default_seats, budget)
    return seats, budget


def _whole_prompt_budget(scenario: Scenario, budget: int, seats: int, context: int) -> int:
    """The default budget, raised where prompts are computed whole: one of them, or a static batch of them."""
    scheduler = scenario.scheduler
    own = SYSTEMS[scheduler.system].budget
    if own == "batch" or scheduler.choices.batching == "request":
        return seats * context
    if own == "context":
        return max(LEAST_WHOLE_PROMPT_BUDGET, context, scheduler.max_num_seqs or 0)
    if scheduler.choices.prefill in ("mixed", "first"):
        return max(budget, context)
    if own == "max_model_len":
        return context
    is_general = scheduler.is_recombined or is_in_pipeline(scenario)
    is_cut = scheduler.enable_chunked_prefill or scheduler.system != "vllm_v1" or is_general
    return budget if is_cut else max(budget, context)


def _check_split(shape: Model, deployment: Deployment) -> None:
    """Attention heads, and KV heads, must be dealt evenly."""
    gpus = deployment.tensor_parallel_size
    few, many = sorted((shape.kv_heads, gpus))
    if shape.heads % gpus or (many % few and not shape.is_mla):
        raise ScenarioError(
            f"deployment.tensor_parallel_size is {gpus}; {shape.name} has {shape.heads} heads and {shape.kv_heads} "
            "KV heads, which must be dealt evenly"
        )


def _does_not_fit(deployment: Deployment, card: Gpu, room: Room) -> str:
    budget = card.usable_memory_gib * deployment.gpu_memory_utilization
    return (
        f"deployment.model is '{deployment.model}'; on each of {deployment.gpus} {card.name} it takes "
        f"{room.weights_gib:.1f} GiB for weights and {room.reserve_gib:.1f} GiB to run, but {budget:.1f} GiB is the "
        f"limit (gpu_memory_utilization {deployment.gpu_memory_utilization:g} of {card.usable_memory_gib:g} GiB), "
        "which must hold KV cache too"
    )


def _max_model_len(scenario: Scenario, shape: Model, budget: int, kv_tokens: int) -> int:
    """The asked length if it can be served, else the model's context cut to what memory and budget allow."""
    asked = scenario.deployment.max_model_len
    limits = {"what the KV memory holds": kv_tokens, f"the context of {shape.name}": shape.max_context}
    scheduler = scenario.scheduler
    if scheduler.system == "vllm_v1" and not scheduler.enable_chunked_prefill and scheduler.max_num_batched_tokens:
        limits["max_num_batched_tokens, as prompts are not chunked"] = budget
    if asked is None:
        return min(limits.values())
    for what, limit in limits.items():
        if asked > limit:
            raise ScenarioError(f"deployment.max_model_len is {asked}; at most {limit} is allowed: {what}")
    return asked


def _check_prompts(scenario: Scenario, max_model_len: int) -> None:
    """Refuse a mix in which no prompt can be served; single long prompts are rejected one by one in the run."""
    shortest = [_shortest(task.prompt) for task in scenario.workload.types]
    if min(shortest) >= max_model_len:
        raise ScenarioError(
            f"workload.types.0.prompt is {shortest[0]} tokens or more; less than max_model_len ({max_model_len}) "
            "is needed"
        )


def _shortest(lengths: Lengths) -> int:
    if isinstance(lengths, Constant):
        return lengths.tokens
    return lengths.low if isinstance(lengths, Uniform) else 1
