from typing import Any

import numpy as np
import pytest

from sim.catalog import gpu, gpu_names, model, model_names
from sim.cost import step_time
from sim.cost.coefficients import Coefficients, coefficients
from sim.cost.host import host_ms_of
from sim.cost.step_time import composed, deployment_step_time, smooth_max
from sim.cost.terms import share_of_context_read, terms_of
from sim.engine.inputs import StepTime
from sim.scenario import Scenario, with_values
from sim.system_spec import Deployment
from tests.scenario_fields import COEFFICIENTS


def duration_s(time: StepTime, tokens: int, kv_tokens: float = 0, work: float = 0) -> float:
    """Duration of one iteration as the engine adds it up."""
    end = len(time.linear_s) - 1
    linear = time.linear_s[tokens] if tokens <= end else time.linear_s[end] + time.beyond_s * (tokens - end)
    return float(linear + time.kv_s * kv_tokens + time.attention_s * work)


# Coefficients of the hand-worked cases, so that a new fit of the catalogue changes no arithmetic here.
FIT = Coefficients(
    o0_ms=0.5,
    o1_us_layer=40.0,
    inv_eff_mem=1.2,
    inv_eff_kv=1.1,
    inv_eff_kv8=1.5,
    inv_eff_flop=1.3,
    inv_eff_attn=1.6,
    ar_us=5.0,
    ab_tp2=2.5,
    ab_tp4=2.0,
    ab_tp8=1.5,
    p=2.0,
)


def worked(p: float = 2.0, host_ms: float = 0.0, **fields: Any) -> StepTime:
    """Step time of a deployment with the coefficients of the hand-worked cases."""
    return composed(terms_of(Deployment(**fields), np.arange(4097.0)), FIT._replace(p=p), host_ms)


def test_a_decode_step_of_llama_8b_on_an_h100_by_hand() -> None:
    """64 sequences of 1,000 tokens, one GPU, no all-reduce."""
    weights_ms = 1.2 * 7.505e9 * 2 / 3350e6
    flops_ms = 1.3 * 2 * 64 * 7.505e9 / 989e9
    kv_ms = 1.1 * 64_000 * 131_072 / 3350e6
    expected_ms = 0.5 + 40 * 32 / 1000 + 1.0 + np.hypot(weights_ms, flops_ms) + kv_ms
    assert 1000 * duration_s(worked(host_ms=1.0), 64, 64_000) == pytest.approx(expected_ms, rel=1e-9)


def test_a_chunk_with_context_by_hand() -> None:
    """512 tokens behind 1,000 of context on two GPUs: attention, context reading and all-reduce are shared."""
    weights_ms = 1.2 * 7.505e9 * 2 / 3350e6 / 2
    flops_ms = 1.3 * 2 * 512 * 7.505e9 / 989e9 / 2
    allreduce_ms = 5 * 64 / 1000 + 2.5 * (2 * 1 / 2 * 512 * 4096 * 2 * 64 / 450e6)
    work = 512 * 1000 + 512**2 / 2
    attention_ms = 1.6 * 4 * 32 * 32 * 128 * work / 989e9 / 2
    kv_ms = 1.1 * 1000 * 131_072 / 2 / 3350e6
    expected_ms = 0.5 + 40 * 32 / 1000 + np.hypot(weights_ms, flops_ms) + allreduce_ms + attention_ms + kv_ms
    time = worked(tensor_parallel_size=2)
    assert 1000 * duration_s(time, 512, 1000, work) == pytest.approx(expected_ms, rel=1e-9)


def test_experts_are_read_as_tokens_reach_them() -> None:
    """Mixtral on an H200: one token reads 2 of 8 experts, many read all; p = 1 adds bytes and FLOPs."""
    time = worked(p=1.0, model="Mixtral-8x7B", gpu="H200")
    experts = 32 * 8 * 3 * 4096 * 14_336
    others = 46.571e9 - experts
    for tokens in (0, 1, 2, 50):
        read = others + experts * (1 - 0.75**tokens)
        expected_ms = 0.5 + 40 * 32 / 1000 + 1.2 * read * 2 / 4800e6 + 1.3 * 2 * tokens * 12.749e9 / 989e9
        assert 1000 * time.linear_s[tokens] == pytest.approx(expected_ms, rel=1e-6)


def test_eight_bit_weights_leave_the_output_head_at_sixteen() -> None:
    """Llama-3.1-8B in FP8 on an H100: 128,256 x 4,096 parameters of the head are read and multiplied at 16 bit."""
    head = 128_256 * 4096
    body = 7.505e9 - head
    weights_ms = 1.2 * (body + 2 * head) / 3350e6
    flops_ms = 1.3 * 2 * 100 * (body / 1979e9 + head / 989e9)
    expected_ms = 0.5 + 40 * 32 / 1000 + np.hypot(weights_ms, flops_ms)
    assert 1000 * worked(weight_dtype="fp8").linear_s[100] == pytest.approx(expected_ms, rel=1e-6)


def test_four_bit_experts_leave_all_else_at_sixteen() -> None:
    """gpt-oss-20b: 24 layers of 32 experts, 4 for each token, as published in MXFP4; all else reads 2 bytes each."""
    time = worked(p=1.0, model="gpt-oss-20b")
    experts = 24 * 32 * 3 * 2880 * 2880
    others = 20.329e9 - experts
    read = 2 * others + 0.53125 * experts * (1 - (28 / 32) ** 4)
    flops = 2 * 4 * (others + experts * 4 / 32) / 989e9  # an H100 multiplies at 16 bit
    expected_ms = 0.5 + 40 * 24 / 1000 + 1.2 * read / 3350e6 + 1.3 * flops
    assert 1000 * time.linear_s[4] == pytest.approx(expected_ms, rel=1e-3)  # parameters are given to a thousandth


def test_compressed_kv_is_read_whole_on_every_gpu() -> None:
    """DeepSeek-V3: 61 layers x 576 elements x 2 bytes, on each of 8 GPUs as on one."""
    eight, sixteen = (worked(model="DeepSeek-V3", gpu="H200", tensor_parallel_size=gpus) for gpus in (8, 16))
    assert eight.kv_s == sixteen.kv_s == pytest.approx(1.1 * 61 * 576 * 2 / 4800e9, rel=1e-9)


def test_layers_with_a_sliding_window_read_only_the_window() -> None:
    """gpt-oss: half of the layers see 128 tokens, at a typical context of 4,096. Gemma-2's window is that long."""
    assert share_of_context_read(model("gpt-oss-20b")) == 0.5 + 0.5 * 128 / 4096
    assert share_of_context_read(model("Gemma-2-9B")) == 1.0
    assert share_of_context_read(model("Llama-3.1-8B")) == 1.0
    bytes_read = (0.5 + 0.5 / 32) * 2 * 24 * 8 * 64 * 2
    assert worked(model="gpt-oss-20b").kv_s == pytest.approx(1.1 * bytes_read / 3350e9, rel=1e-9)


def test_an_eight_bit_cache_has_half_the_bytes_and_its_own_efficiency() -> None:
    wide = step_time(Scenario()).kv_s
    narrow = step_time(with_values(Scenario(), {"deployment.kv_cache_dtype": "fp8"})).kv_s
    fit, _ = coefficients(gpu("H100-SXM"), model("Llama-3.1-8B"), "bf16")
    assert narrow / wide == pytest.approx(0.5 * fit.inv_eff_kv8 / fit.inv_eff_kv, rel=1e-9)


def test_calibrated_coefficients_replace_the_catalogues_and_the_host_time() -> None:
    """Fixed time 7 ms and other factors; the smooth maximum's exponent stays the catalogue's."""
    values = COEFFICIENTS | {"fixed_ms": 7.0, "inv_eff_mem": 2.0, "inv_eff_flop": 3.0, "inv_eff_kv": 1.7}
    scenario = with_values(
        Scenario(), {"cost.coefficients": values, "cost.source": "calibrated", "cost.host_ms": 100.0}
    )
    p = coefficients(gpu("H100-SXM"), model("Llama-3.1-8B"), "bf16")[0].p
    weights_ms, flops_ms = 2.0 * 7.505e9 * 2 / 3350e6, 3.0 * 2 * 64 * 7.505e9 / 989e9
    kv_ms = 1.7 * 64_000 * 131_072 / 3350e6
    expected_ms = 7.0 + (weights_ms**p + flops_ms**p) ** (1 / p) + kv_ms
    assert 1000 * duration_s(step_time(scenario), 64, 64_000) == pytest.approx(expected_ms, rel=1e-9)


@pytest.mark.parametrize(("system", "ms"), [("vllm_v1", 1.0), ("static", 1.0), ("sglang", 0.5), ("trtllm", 0.0)])
def test_host_time_is_the_engines(system: str, ms: float) -> None:
    assert host_ms_of(system) == ms


def test_a_constant_step_time_depends_on_nothing() -> None:
    time = step_time(with_values(Scenario(), {"cost.source": "constant", "cost.step_ms": 25.0}))
    assert duration_s(time, 1, 10, 10) == 0.025
    assert duration_s(time, 1_000_000, 1e9, 1e9) == 0.025


def test_the_table_ends_where_the_limits_do_and_goes_on_straight() -> None:
    assert len(step_time(Scenario()).linear_s) == 8192 + 1024 + 1
    short, long = step_time(Scenario(), 1000), step_time(Scenario(), 100_000)
    assert len(long.linear_s) == 65_537
    assert duration_s(short, 1001) == pytest.approx(duration_s(long, 1001), rel=1e-3)
    assert duration_s(long, 80_000) > duration_s(long, 70_000)
    assert len(step_time(Scenario(), 1).linear_s) == 2


@pytest.mark.parametrize("name", model_names())
def test_more_tokens_never_take_less_time(name: str) -> None:
    for card in gpu_names():
        time = deployment_step_time(Deployment(model=name, gpu=card), np.arange(3000.0), 1.0)
        assert np.all(np.diff(time.linear_s) >= 0)
        assert time.linear_s[0] > 0
        assert time.kv_s > 0
        assert time.attention_s > 0


def test_the_smooth_maximum_lies_between_maximum_and_sum() -> None:
    a, b = np.array([0.0, 1.0, 3.0, 1e3]), np.array([0.0, 2.0, 3.0, 1e-3])
    np.testing.assert_allclose(smooth_max(a, b, 1.0), a + b, rtol=1e-14)
    np.testing.assert_allclose(smooth_max(a, b, 2.0), np.hypot(a, b), rtol=1e-14)
    np.testing.assert_allclose(smooth_max(a, b, 1000.0), np.maximum(a, b), rtol=1e-3)


def test_a_gpu_without_a_fit_takes_the_median_of_fitted_ones() -> None:
    fit, is_fitted = coefficients(gpu("A40"), model("Llama-3.1-8B"), "bf16")
    assert not is_fitted
    kv = [
        coefficients(gpu(name), model("Llama-3.1-8B"), "bf16")[0].inv_eff_kv
        for name in ("A100-80G-SXM", "B200", "GB200", "H100-SXM", "H200", "L40S", "RTX-PRO-6000", "RTX4090", "A800-SXM")
    ]
    assert fit.inv_eff_kv == np.median(kv)
