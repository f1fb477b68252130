import csv

import pytest

from sim.catalog import dataset_names, gpu, gpu_names, length_quantiles, model, model_names
from sim.catalog.table import rows
from sim.errors import ScenarioError
from tests.shared import SHARED, needs_shared


def shared_rows(table: str) -> list[dict[str, str]]:
    with (SHARED / "data" / table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@needs_shared
def test_all_gpus_and_models_are_there_with_their_figures() -> None:
    assert [row["gpu"] for row in shared_rows("gpus.csv")] == list(gpu_names())
    assert [row["model"] for row in shared_rows("models.csv")] == list(model_names())
    for row in shared_rows("gpus.csv"):
        assert gpu(row["gpu"]).hbm_bw_gbs == float(row["hbm_bw_gbs"])
        assert gpu(row["gpu"]).bf16_tflops == float(row["bf16_dense_tflops"])
    for row in shared_rows("models.csv"):
        assert model(row["model"]).params == float(row["params_b"]) * 1e9
        assert model(row["model"]).kv_elements_per_token * 2 == float(row["kv_bytes_per_token_16bit"])


@pytest.mark.parametrize("table", ["gpus", "models", "length_quantiles", "cost_coefficients"])
def test_every_row_names_its_source(table: str) -> None:
    assert all(row["source"] for row in rows(table))


def test_nothing_without_a_licence_ships() -> None:
    assert {row["licence"] for row in rows("length_quantiles")} == {"CC-BY-4.0", "Apache-2.0", "MIT"}
    shipped = [
        value.lower()
        for table in ("gpus", "models", "length_quantiles")
        for row in rows(table)
        for value in row.values()
    ]
    assert not [value for value in shipped if "alpaca" in value or "nm-vllm" in value]


@pytest.mark.parametrize("name", dataset_names())
def test_quantiles_ascend_from_0_to_1(name: str) -> None:
    for points in length_quantiles(name).values():
        assert list(points) == sorted(points)
        assert (points[0][0], points[-1][0]) == (0, 1)
        assert points[0][1] >= 0  # a drawn length is at least 1 all the same


def test_quantiles_of_a_side() -> None:
    points = dict(length_quantiles("azure_2023_conv", "output"))
    assert (points[0.5], points[1]) == (129, 1000)
    assert "ssjf_lmsys_vicuna13b" not in dataset_names("prompt")
    with pytest.raises(ScenarioError):
        length_quantiles("ssjf_lmsys_vicuna13b", "prompt")


def test_unknown_names_are_answered_with_the_closest() -> None:
    with pytest.raises(ScenarioError, match=r"^gpu is 'h200x'; the catalogue's closest are .*H200"):
        gpu("h200x")
    with pytest.raises(ScenarioError, match=r"^model is 'qwen3-32'; .*Qwen3-32B"):
        model("qwen3-32")
    with pytest.raises(ScenarioError, match=r"^dataset is 'azure-conv'; .*azure_2023_conv"):
        length_quantiles("azure-conv")


def test_vendors_and_links() -> None:
    assert [gpu(name).vendor for name in ("H100-SXM", "MI300X", "Gaudi2", "TPU-v5e")] == [
        "NVIDIA",
        "AMD",
        "Intel",
        "Google",
    ]
    assert [gpu(name).has_fast_link for name in ("H100-SXM", "L40S", "A100-80G-PCIe", "MI300X")] == [
        True,
        False,
        False,
        True,
    ]
