import pytest

from sim.catalog import gpu, model, model_names
from sim.deployment import default_limits, resolve
from sim.errors import ScenarioError
from sim.gpu_memory import GIB, expert_params, kv_bytes_per_token, weight_bytes
from sim.scenario import Scenario, with_values
from sim.system_spec import Deployment


def resolved_with(**values: object):
    return resolve(with_values(Scenario(), {path.replace("__", "."): value for path, value in values.items()}))


def refusal_with(**values: object) -> str:
    with pytest.raises(ScenarioError) as refusal:
        resolved_with(**values)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_kv_blocks_are_what_weights_and_reserve_leave() -> None:
    """Llama-3.1-8B, one H100: 2 bytes x 8.03e9 weights; sampler 1024 x 128,256 x 3 tables of 4 bytes above 8192 tokens
    of activations; 131,072 bytes a token."""
    weights_gib = 2 * 8.03e9 / 2**30
    reserve_gib = 0.6 + 0.4 + 1024 * 128_256 * 3 * 4 / 2**30
    kv_gib = 79.2 * 0.9 - weights_gib - reserve_gib
    resolved = resolve(Scenario())
    assert resolved.weight_gib == pytest.approx(weights_gib, rel=1e-12)
    assert resolved.reserve_gib == pytest.approx(reserve_gib, rel=1e-12)
    assert resolved.usable_blocks == int(kv_gib * 2**30 / (16 * 131_072)) - 1  # one is the null block
    assert resolved.kv_tokens == resolved.usable_blocks * 16


def test_an_rtx_4090_holds_what_a_measured_run_held() -> None:
    """vLLM 0.19 held 42,700 tokens of Llama-3.1-8B, give or take 3 %; it did not count CUDA graphs (0.4 GiB)."""
    resolved = resolved_with(deployment__gpu="RTX4090")
    assert (resolved.kv_gib + 0.4) * GIB / resolved.kv_bytes_per_token == pytest.approx(42_700, rel=0.03)


def test_the_override_counts_the_null_block_as_vllm_does() -> None:
    assert resolved_with(deployment__num_gpu_blocks_override=2589).usable_blocks == 2588


def test_smaller_weights_and_kv_leave_more_blocks() -> None:
    plain = resolve(Scenario())
    assert resolved_with(deployment__kv_cache_dtype="fp8").kv_tokens == pytest.approx(2 * plain.kv_tokens, rel=1e-3)
    eight_bit = resolved_with(deployment__weight_dtype="fp8")
    linear = model("Llama-3.1-8B").matmul_params - 4096 * 128_256  # embedding and head stay at 16 bit
    assert plain.weight_gib - eight_bit.weight_gib == pytest.approx(linear / GIB, rel=1e-12)


def test_kv_heads_are_split_until_each_gpu_has_one_then_repeated() -> None:
    shape = model("Qwen3-30B-A3B")  # 4 KV heads, 48 layers, 128 wide, keys and values, 2 bytes
    sizes = [kv_bytes_per_token(shape, Deployment(tensor_parallel_size=gpus)) for gpus in (1, 2, 4, 8)]
    assert sizes == [98_304, 49_152, 24_576, 24_576]


def test_a_compressed_kv_vector_is_on_every_gpu() -> None:
    shape = model("DeepSeek-V3")  # 61 layers x (512 + 64) x 2 bytes
    sizes = {kv_bytes_per_token(shape, Deployment(tensor_parallel_size=gpus)) for gpus in (1, 8, 16)}
    assert sizes == {61 * 576 * 2}


def test_expert_parameters_of_mixtral() -> None:
    assert expert_params(model("Mixtral-8x7B")) == 32 * 8 * 3 * 4096 * 14_336
    assert expert_params(model("Llama-3.1-8B")) == 0


@pytest.mark.parametrize("name", model_names())
def test_expert_and_other_parameters_stay_within_the_published_total(name: str) -> None:
    shape = model(name)
    assert 0 <= expert_params(shape) < shape.matmul_params <= shape.params
    assert weight_bytes(shape, "bf16") == pytest.approx(2 * shape.params, rel=1e-12)


def test_gpt_oss_weighs_what_vllm_reports() -> None:
    """A vLLM 0.19 log: 13.72 GiB after loading; its kernels pad the experts, so a little less is expected."""
    assert 0.9 * 13.72 < weight_bytes(model("gpt-oss-20b"), "fp4") / GIB < 13.72


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("H100-SXM", (1024, 8192)),
        ("H200", (1024, 8192)),
        ("B200", (1024, 16_384)),
        ("MI300X", (1024, 16_384)),
        ("A100-80G-SXM", (256, 2048)),
        ("L40S", (256, 2048)),
    ],
)
def test_default_limits_follow_the_gpus_memory_as_in_vllm(name: str, limits: tuple[int, int]) -> None:
    assert default_limits(gpu(name)) == limits


def test_what_the_user_sets_bends_the_other_default() -> None:
    few_tokens = resolved_with(scheduler__max_num_batched_tokens=512)
    assert (few_tokens.max_num_seqs, few_tokens.max_num_batched_tokens) == (512, 512)
    many_seats = resolved_with(scheduler__max_num_seqs=10_000)
    assert (many_seats.max_num_seqs, many_seats.max_num_batched_tokens) == (10_000, 10_000)


def test_a_static_batch_has_32_seats_and_prefills_all_of_them() -> None:
    resolved = resolved_with(scheduler__system="static")
    assert resolved.max_num_seqs == 32
    assert resolved.max_num_batched_tokens == 32 * resolved.max_model_len


@pytest.mark.parametrize(
    ("system", "context", "budget"),
    [
        ("vllm_v0", 1024, 2048),
        ("vllm_v0", 16_384, 16_384),
        ("hybrid_only", 1024, 1024),
        ("hybrid_only", 16_384, 16_384),
    ],
)
def test_default_budgets_that_go_by_the_context(system: str, context: int, budget: int) -> None:
    # schedulers.md: max(max_model_len, 2048) in 3.3, max_model_len in 3.5
    resolved = resolved_with(scheduler__system=system, deployment__max_model_len=context)
    assert resolved.max_num_batched_tokens == budget


def test_max_model_len_is_the_context_cut_to_the_memory() -> None:
    assert resolve(Scenario()).max_model_len == 131_072
    assert resolved_with(deployment__num_gpu_blocks_override=101).max_model_len == 1600


def test_without_chunks_the_budget_holds_a_whole_prompt() -> None:
    off = {"scheduler__enable_chunked_prefill": False}
    assert resolved_with(**off).max_num_batched_tokens == 131_072
    assert resolved_with(**off, scheduler__max_num_batched_tokens=4096).max_model_len == 4096
    assert refusal_with(**off, scheduler__max_num_batched_tokens=4096, deployment__max_model_len=5000) == (
        "deployment.max_model_len is 5000; at most 4096 is allowed: max_num_batched_tokens, as prompts are not chunked"
    )


def test_max_model_len_above_the_memory_is_refused_with_the_numbers() -> None:
    assert refusal_with(deployment__num_gpu_blocks_override=101, deployment__max_model_len=1601) == (
        "deployment.max_model_len is 1601; at most 1600 is allowed: what the KV memory holds"
    )
    assert resolved_with(deployment__num_gpu_blocks_override=101, deployment__max_model_len=1600).max_model_len == 1600


def test_max_model_len_above_the_models_context_is_refused() -> None:
    assert refusal_with(deployment__max_model_len=131_073) == (
        "deployment.max_model_len is 131073; at most 131072 is allowed: the context of Llama-3.1-8B"
    )


def test_a_model_that_does_not_fit_is_refused_with_the_numbers() -> None:
    assert refusal_with(deployment__model="Llama-3.1-70B") == (
        "deployment.model is 'Llama-3.1-70B'; on each of 1 H100-SXM it takes 131.4 GiB for weights and 2.8 GiB to run, "
        "but 71.3 GiB is the limit (gpu_memory_utilization 0.9 of 79.2 GiB), which must hold KV cache too"
    )
    assert resolved_with(deployment__model="Llama-3.1-70B", deployment__tensor_parallel_size=4).usable_blocks > 0


def test_an_override_does_not_make_room_for_weights() -> None:
    assert "131.4 GiB for weights" in refusal_with(
        deployment__model="Llama-3.1-70B", deployment__num_gpu_blocks_override=1000
    )


def test_heads_that_cannot_be_dealt_evenly_are_refused() -> None:
    assert refusal_with(deployment__model="Qwen2.5-7B", deployment__tensor_parallel_size=8) == (
        "deployment.tensor_parallel_size is 8; Qwen2.5-7B has 28 heads and 4 KV heads, which must be dealt evenly"
    )
    assert "10 KV heads" in refusal_with(deployment__model="Phi-4", deployment__tensor_parallel_size=4)


def test_a_mix_in_which_no_prompt_can_be_served_is_refused() -> None:
    long = [{"name": "a", "prompt": {"kind": "constant", "tokens": 4096}}]
    assert refusal_with(workload__types=long, deployment__max_model_len=4096) == (
        "workload.types.0.prompt is 4096 tokens or more; less than max_model_len (4096) is needed"
    )
    mixed = [*long, {"name": "b", "prompt": {"kind": "uniform", "low": 4095, "high": 9000}}]
    assert resolved_with(workload__types=mixed, deployment__max_model_len=4096).max_model_len == 4096
