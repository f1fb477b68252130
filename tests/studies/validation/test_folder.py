from pathlib import Path

import pytest

from sim.catalog import gpu_names, model_names
from sim.studies.validation.folder import catalogue_name, found


@pytest.mark.parametrize("below", ["", "data"])
def test_files_are_found_in_the_folder_or_under_data(tmp_path: Path, below: str) -> None:
    place = tmp_path / below / "step_times.csv"
    place.parent.mkdir(exist_ok=True)
    place.write_text("")
    assert found(tmp_path, "step_times.csv") == place
    assert found(tmp_path, "vllm_runs") is None


@pytest.mark.parametrize(
    ("text", "names", "name"),
    [
        ("RTXPRO6000", gpu_names(), "RTX-PRO-6000"),
        ("RTX4090", gpu_names(), "RTX4090"),
        ("H100-SXM", gpu_names(), "H100-SXM"),
        ("H900", gpu_names(), None),
        ("Qwen3-30B-A3B-Instruct-2507", model_names(), "Qwen3-30B-A3B"),
        ("Llama-3.1-8B", model_names(), "Llama-3.1-8B"),
        ("llama-3.1-70b", model_names(), "Llama-3.1-70B"),
        ("Qwen3.5-397B-A17B", model_names(), None),
    ],
)
def test_names_are_recognised_in_other_spellings(text: str, names: tuple[str, ...], name: str | None) -> None:
    assert catalogue_name(text, names) == name
