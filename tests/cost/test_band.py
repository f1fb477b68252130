import pytest

from sim.cost import band
from sim.scenario import Scenario, with_values
from tests.scenario_fields import COEFFICIENTS

CALIBRATED = {"cost.source": "calibrated"} | {f"cost.coefficients.{key}": COEFFICIENTS[key] for key in COEFFICIENTS}


@pytest.mark.parametrize(
    ("values", "percent", "word", "is_calibrated"),
    [
        ({}, 10, "dense", True),
        ({"deployment.gpu": "A40"}, None, "datasheet estimate", False),
        ({"deployment.gpu": "MI300X"}, None, "datasheet estimate", False),
        ({"deployment.model": "Qwen3-30B-A3B"}, 25, "mixture of experts", False),
        ({"deployment.gpu": "L40S", "deployment.tensor_parallel_size": 2}, 25, "without NVLink", False),
        ({"deployment.tensor_parallel_size": 2}, 10, "dense", True),
        ({"cost.source": "constant"}, None, "constant", True),
        ({"deployment.weight_dtype": "fp4", "deployment.gpu": "B200"}, 25, "4-bit weights", False),
        ({"deployment.model": "gpt-oss-20b"}, 25, "sliding windows", False),
        (CALIBRATED, 10, "unknown", True),
        (CALIBRATED | {"cost.coefficients.error_percent": 2.0}, 5, "8 measured points", True),
        (CALIBRATED | {"cost.coefficients.error_percent": 7.0}, 7, "calibrated", True),
        (CALIBRATED | {"cost.coefficients.error_percent": 30.0}, 30, "calibrated", False),
        (CALIBRATED | {"deployment.gpu": "H200"}, None, "another deployment", False),
        (CALIBRATED | {"deployment.weight_dtype": "fp8"}, None, "another deployment", False),
        (CALIBRATED | {"deployment.kv_cache_dtype": "fp8"}, None, "another deployment", False),
        (CALIBRATED | {"deployment.gpu_memory_utilization": 0.8}, 10, "calibrated", True),
    ],
)
def test_every_deployment_says_how_far_to_trust_its_times(
    values: dict[str, object], percent: float | None, word: str, is_calibrated: bool
) -> None:
    trust = band(with_values(Scenario(), values))
    assert trust.percent == percent
    assert word in trust.text
    assert trust.is_calibrated is is_calibrated


def test_tensor_parallelism_beyond_a_server_is_not_trusted() -> None:
    """Sixteen H100 stand in two servers; of a rack of GB200 all 72 are linked alike."""
    values = {"deployment.model": "DeepSeek-V3", "deployment.gpu": "H100-SXM", "deployment.tensor_parallel_size": 16}
    apart = band(with_values(Scenario(), values))
    assert apart == (None, "too fast: 16 GPUs taken as linked like the 8 of one server", False)
    rack = band(with_values(Scenario(), values | {"deployment.gpu": "GB200"}))
    assert rack.percent == 25
