import json
from pathlib import Path

import pytest

from sim.errors import ScenarioError
from sim.scenario import MIGRATIONS, Scenario, load_scenario, save, scenario_of_json, with_values
from sim.scheduler_spec import Scheduler
from sim.system_spec import Deployment


def refusal_of(values: dict[str, object]) -> str:
    with pytest.raises(ScenarioError) as refusal:
        with_values(Scenario(), values)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_scenario_comes_back_from_its_file(tmp_path: Path) -> None:
    values = {"workload.arrivals.kind": "all_at_once", "slo.assumed.p99": 700, "workload.types.0.cap": 99}
    scenario = with_values(Scenario(), values)
    save(scenario, tmp_path / "saved.json")
    assert load_scenario(tmp_path / "saved.json") == scenario
    assert hash(load_scenario(tmp_path / "saved.json")) == hash(scenario)


def test_a_file_may_leave_out_all_but_its_version() -> None:
    assert scenario_of_json('{"version": 1}') == Scenario()


def test_a_scenario_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Scenario().deployment.block_size = 32  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"version": 1,\n "seed": }', "f.json is not JSON: line 2, column 10: expecting value"),
        ('{"version": 1, "seed": NaN}', "f.json is not JSON: NaN is not a number it can hold"),
        ("[]", "f.json holds []; an object with named fields is needed"),
        ("[" * 100_000, "f.json is nested too deeply; a scenario has at most six levels"),
        ('{"seed": 1}', "version is missing; a scenario file says which it is, now 1"),
        ('{"version": 7}', "version is 7; this release reads 1"),
        ('{"version": true}', "version is True; this release reads 1"),
        ('{"version": 1, "sed": 1}', "sed is not a known field; closest are seed, scheduler, slo"),
        (
            '{"version": 1, "scheduler": {"max_seqs": 1}}',
            "scheduler.max_seqs is not a known field; closest are max_num_seqs, peak_share, vllm_release",
        ),
        (
            '{"version": 1, "workload": {"types": [{"output": {"kind": "constant"}}]}}',
            "workload.types.0.output.tokens is missing; a value is needed",
        ),
        (
            '{"version": 1, "workload": {"arrivals": {"rate_rps": 1}}}',
            "workload.arrivals.kind is missing; it says what the other fields mean",
        ),
        (
            '{"version": 1, "workload": {"arrivals": {"kind": "often"}}}',
            "workload.arrivals.kind is 'often'; allowed are poisson, gamma, deterministic, diurnal, all_at_once, "
            "trace, closed_loop",
        ),
        ('{"version": 1, "slo": 3}', "slo is 3; an object with named fields is needed"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        scenario_of_json(text, "f.json")
    assert str(refusal.value) == sentence


def test_a_missing_file_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nowhere\.json cannot be read: no such file or directory"):
        load_scenario(tmp_path / "nowhere.json")


def test_a_binary_file_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "photo.json").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(ScenarioError, match=r"photo\.json is not a text file"):
        load_scenario(tmp_path / "photo.json")


def test_an_older_file_is_migrated_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MIGRATIONS, -1, lambda values: {**values, "sed": values["dice"]} | {"dice": None})
    monkeypatch.setitem(MIGRATIONS, 0, lambda values: {"seed": values["sed"]})
    assert scenario_of_json('{"version": -1, "dice": 42}') == Scenario(seed=42)


def test_a_part_refuses_like_the_whole() -> None:
    with pytest.raises(ScenarioError, match=r"^block_size is 0; at least 1 is needed$"):
        Deployment(block_size=0)


def test_names_outside_the_catalogue_are_refused_with_the_closest() -> None:
    assert refusal_of({"deployment.gpu": "H100"}) == (
        "deployment.gpu is 'H100'; the catalogue's closest are H200, H100-SXM, H100-NVL"
    )
    assert "Llama-3.1-8B" in refusal_of({"deployment.model": "llama-3.1-8"})
    dataset = refusal_of({"workload.types.0.output": {"kind": "empirical", "dataset": "azure"}})
    assert dataset.startswith("workload.types.0.output.dataset is 'azure'; ")
    assert "azure_2023_conv" in dataset


def test_a_data_set_without_prompts_is_refused_as_prompt_lengths() -> None:
    lengths = {"kind": "empirical", "dataset": "ssjf_lmsys_vicuna13b"}
    with_values(Scenario(), {"workload.types.0.output": lengths})
    assert refusal_of({"workload.types.0.prompt": lengths}) == (
        "workload.types.0.prompt.dataset is 'ssjf_lmsys_vicuna13b'; it has no prompt lengths"
    )


def test_the_token_budget_covers_the_seats_as_in_vllm() -> None:
    assert refusal_of({"scheduler.max_num_seqs": 100, "scheduler.max_num_batched_tokens": 99}) == (
        "scheduler.max_num_batched_tokens is 99; at least max_num_seqs (100) is needed"
    )
    Scheduler(max_num_seqs=100, max_num_batched_tokens=100)
    Scheduler(system="static", max_num_seqs=100, max_num_batched_tokens=99)  # reads no budget


@pytest.mark.parametrize(
    ("lengths", "sentence"),
    [
        ({"kind": "uniform", "low": 5, "high": 4}, "high is 4; at least low (5) is needed"),
        ({"kind": "lognormal_p90", "median": 5, "p90": 4}, "p90 is 4; at least the median (5) is needed"),
        ({"kind": "pareto_tail", "median": 5, "p90": 4, "alpha": 2}, "p90 is 4; at least the median (5) is needed"),
        ({"kind": "quantiles", "points": [[0, 1], [0.5, 2]]}, "points run from quantile 0 to 0.5; 0 to 1 is needed"),
        (
            {"kind": "quantiles", "points": [[0, 1], [0.5, 3], [0.5, 4], [1, 9]]},
            "points have the quantiles [0.0, 0.5, 0.5, 1.0]; strictly ascending ones are needed",
        ),
        (
            {"kind": "quantiles", "points": [[0, 9], [1, 3]]},
            "points have the lengths [9.0, 3.0]; ascending ones are needed",
        ),
        (
            {"kind": "quantiles", "points": [[0, 0.5], [1, 3]]},
            "points run from 0.5 to 3 tokens; 1 to 10485760 is allowed",
        ),
    ],
)
def test_lengths_that_contradict_themselves_are_refused(lengths: dict[str, object], sentence: str) -> None:
    assert refusal_of({"workload.types.0.prompt": lengths}) == f"workload.types.0.prompt.{sentence}"


def test_task_types_have_different_names() -> None:
    assert refusal_of({"workload.types": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}) == (
        "workload.types has the name 'a' 2 times; names must differ"
    )


def test_values_are_set_by_dotted_path_and_texts_are_read_as_json() -> None:
    scenario = with_values(
        Scenario(),
        {
            "workload.types.0.cap": "500",
            "workload.arrivals.rate_rps": 3,
            "scheduler.hold": "false",
            "deployment.model": "Qwen3-8B",
            "slo.ttft_ms": "null",
            "workload.types.0.output": '{"kind": "constant", "tokens": 7}',
        },
    )
    assert scenario.workload.types[0].cap == 500
    assert scenario.workload.arrivals.model_dump() == {"kind": "poisson", "rate_rps": 3.0}
    assert scenario.scheduler.hold is False
    assert scenario.deployment.model == "Qwen3-8B"
    assert scenario.slo.ttft_ms is None
    assert scenario.workload.types[0].output.model_dump() == {"kind": "constant", "tokens": 7}


def test_a_text_field_keeps_a_text_that_looks_like_json() -> None:
    assert with_values(Scenario(), {"about.title": "42"}).about.title == "42"


def test_a_new_kind_keeps_the_fields_that_both_kinds_have() -> None:
    bursty = with_values(Scenario(), {"workload.arrivals.burstiness": 0.5, "workload.arrivals.kind": "gamma"})
    assert bursty.workload.arrivals.model_dump() == {"kind": "gamma", "rate_rps": 8.0, "burstiness": 0.5}
    assert with_values(bursty, {"workload.arrivals.kind": "poisson"}) == Scenario()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("sed", "sed is not a known field; closest are seed, scheduler, slo"),
        ("sched.hold", "sched.hold is not a known field; scenario has scheduler, seed"),
        (
            "workload.types.1.cap",
            "workload.types.1.cap is not a known field; workload.types takes an index from 0 to 0",
        ),
        ("workload.types.-1", "workload.types.-1 is not a known field; workload.types takes an index from 0 to 0"),
        ("seed.x", "seed.x is not a known field; seed holds no fields"),
    ],
)
def test_an_unknown_path_is_refused(path: str, sentence: str) -> None:
    assert refusal_of({path: 1}).startswith(sentence)


def test_the_given_scenario_stays_as_it_was() -> None:
    scenario = Scenario()
    before = json.dumps(scenario.model_dump(mode="json"))
    with_values(scenario, {"workload.types.0.cap": 5})
    assert json.dumps(scenario.model_dump(mode="json")) == before


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_a_file_may_be_in_any_encoding_that_editors_write(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_bytes('{"version": 1, "about": {"title": "Où"}}'.encode(encoding))
    assert load_scenario(path).about.title == "Où"
    assert scenario_of_json(path.read_bytes()).about.title == "Où"


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(ScenarioError, match=r"f\.json is not a text file; a scenario is JSON in UTF-8"):
        scenario_of_json(b'{"version": 1, "about": "\xff\xfe"}', "f.json")
