import pytest

from sim.deployment import resolve
from sim.errors import ScenarioError
from sim.presets import DEFAULT_PRESET, preset, preset_names
from sim.scenario import Scenario

EXPLORE, BENCH = preset_names("explore"), preset_names("bench")


def test_there_are_at_least_eighteen_presets_to_explore_and_four_benchmarks() -> None:
    assert len(EXPLORE) >= 18
    assert BENCH == ("bench-light", "bench-prefix", "bench-saturated", "bench-starved")
    assert set(EXPLORE) | set(BENCH) == set(preset_names())
    assert preset_names()[0] == DEFAULT_PRESET


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_says_what_it_asks_and_what_to_expect_and_can_run(name: str) -> None:
    scenario = preset(name)
    about = scenario.about
    assert about.title
    assert about.question.endswith("?")
    assert about.reading
    assert resolve(scenario).usable_blocks > 0


@pytest.mark.parametrize("name", EXPLORE)
def test_a_preset_to_explore_names_its_source(name: str) -> None:
    assert preset(name).about.source


def test_real_traffic_presets_use_lengths_of_real_data_sets() -> None:
    assert preset_names("real traffic") == ("azure-chat", "reasoning")
    for name in preset_names("real traffic"):
        (task,) = preset(name).workload.types
        assert (task.prompt.kind, task.output.kind) == ("empirical", "empirical")


def test_an_unknown_preset_is_refused_with_the_closest() -> None:
    with pytest.raises(ScenarioError, match=r"^preset is 'reason'; the closest shipped ones are reasoning"):
        preset("reason")


def test_the_textbook_straggler_is_the_worked_example() -> None:
    scenario: Scenario = preset("textbook-straggler")
    short, long = scenario.workload.types
    assert (short.share, short.output.model_dump()["tokens"]) == (31, 100)
    assert (long.share, long.output.model_dump()["tokens"]) == (1, 2000)
    assert scenario.workload.num_requests == 32


def test_the_benchmarks_are_the_published_ones() -> None:
    saturated = preset("bench-saturated")
    assert (saturated.deployment.model, saturated.deployment.gpu) == ("Llama-3.1-8B", "H100-SXM")
    assert (resolve(saturated).max_num_seqs, resolve(saturated).max_num_batched_tokens) == (1024, 8192)
    assert saturated.workload.num_requests == 1_000_000
    assert saturated.workload.arrivals.kind == "all_at_once"
    (task,) = saturated.workload.types
    assert (task.prompt.model_dump()["tokens"], task.output.model_dump()["tokens"]) == (1200, 200)
    assert task.cap == 256
    assert resolve(preset("bench-starved")).usable_blocks == 2588
    assert preset("bench-light").workload.arrivals.model_dump() == {"kind": "poisson", "rate_rps": 2.0}
    assert preset("bench-prefix").scheduler.enable_prefix_caching
