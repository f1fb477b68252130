"""`longtail systems`: what it says of each scheduler."""

import json
from pathlib import Path

import pytest

from sim.cli import main
from sim.scheduler_spec import Scheduler
from sim.systems import MEANING, SYSTEMS


def listed(capsys: pytest.CaptureFixture[str], *names: str) -> dict[str, dict]:
    """Rows of the JSON, by name."""
    assert main(["systems", *names, "--json", "-"]) == 0
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


def test_every_scheduler_is_listed_with_all_that_is_known_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys)
    assert set(rows) == set(SYSTEMS)
    for row in rows.values():
        assert all(row[fact] for fact in ("title", "idea", "source", "knows", "reserves", "gives_way"))
        assert {knob.split(".")[0] for knob in row["knobs"]} <= set(Scheduler.model_fields)
        assert all(value in MEANING[name] for name, value in row["choices"].items())


@pytest.mark.parametrize(
    ("name", "knob", "default"),
    [
        ("vllm_v0", "watermark", 0.01),
        ("vllm_v0", "preemption_mode", "recompute"),
        ("rank", "starvation_quantum", 10),
        ("mlfq", "quantum_ms", 30.0),
        ("fastserve", "quantum_ms", 10.0),
        ("fastserve", "quantum_growth", 2.0),
        ("past_future", "peak_share", 0.95),
        ("orca", "reserve", "cap"),
        ("sglang", "sglang.schedule_conservativeness", 1.0),
        ("seq_sched", "group_size", 256),
    ],
)
def test_defaults_are_those_of_the_papers(
    name: str, knob: str, default: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert listed(capsys, name)[name]["knobs"][knob] == default


def test_limits_and_predictors_are_the_systems_own(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys)
    assert (rows["rank"]["max_num_seqs"], rows["rank"]["max_num_batched_tokens"]) == (256, 768)
    assert rows["s3"]["predictor"] == {"kind": "bucket", "num_classes": 10, "accuracy": 0.986}
    assert rows["srtf"]["predictor"] is None


def test_the_list_names_source_knowledge_reservation_victim_and_knobs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems"]) == 0
    text = capsys.readouterr().out
    assert "LENGTH-AWARE" in text
    one = text.split("s3: S3\n")[1].split("\n\n")[0]
    assert [line.split()[0] for line in one.splitlines()] == [
        "source", "knows", "predictor", "reserves", "gives", "knobs"
    ]  # fmt: skip
    assert "who outgrows its reservation, swapped out" in one
    assert "swap_space_gib 4.0" in one
    assert max(map(len, text.splitlines())) <= 110


def test_one_scheduler_has_its_choices_and_what_its_knobs_wait_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["systems", "vllm_v0", "--json", str(tmp_path / "v0.json")]) == 0
    text = capsys.readouterr().out
    assert "first: whole prompts in iterations of their own, before any decoding" in text
    assert "4.0; read with swap" in text
    assert json.loads((tmp_path / "v0.json").read_text())[0]["name"] == "vllm_v0"


def test_an_unknown_scheduler_is_refused_with_the_closest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["systems", "orka"]) == 2
    assert "scheduler.system is 'orka'; closest are orca" in capsys.readouterr().err
