import base64
import json
import zlib
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.errors import ScenarioError
from sim.keys import KEYS, from_query, pack, to_query, unpack
from sim.presets import preset, preset_names
from sim.scenario import Scenario, with_values
from tests.random_scenarios import scenarios
from tests.scenario_fields import places

MIXED = "long-prompts"  # a preset of two task types, chat and document


def refusal_of(query: dict[str, str]) -> str:
    with pytest.raises(ScenarioError) as refusal:
        from_query(query)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


@given(scenarios(), st.sampled_from(preset_names()))
def test_a_link_gives_the_scenario_back(scenario: Scenario, name: str) -> None:
    query = to_query(scenario, name)
    assert from_query(dict(parse_qsl(urlencode(query)))) == scenario


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_just_its_name(name: str) -> None:
    assert to_query(preset(name), name) == {"v": "1", "preset": name}
    assert from_query({"preset": name}) == preset(name)


def test_keys_are_short_unique_and_name_fields_that_exist() -> None:
    paths = {place.path for place in places()} | {"workload.arrivals.kind"}
    paths |= {f"workload.types.0.{side}.kind" for side in ("prompt", "output")}
    assert set(KEYS.values()) <= paths
    assert len(set(KEYS.values())) == len(KEYS)
    assert all(key.isalnum() and len(key) <= 11 for key in KEYS)


def test_a_link_holds_what_departs_from_the_preset() -> None:
    edits = {"workload.arrivals.rate_rps": 12.0, "scheduler.max_num_seqs": 64, "scheduler.enable_prefix_caching": True}
    query = to_query(with_values(preset("chat"), edits), "chat")
    assert query == {"v": "1", "preset": "chat", "rate": "12", "seqs": "64", "cache": "true"}


def test_a_limit_can_be_taken_away_in_a_link() -> None:
    assert from_query({"preset": "chat", "ttft": "none"}).slo.ttft_ms is None


def test_no_predictor_is_a_word_in_a_link() -> None:
    found = from_query({"preset": "chat", "predset": "none", "pred": "none", "confusion": "none"})
    assert found.predictor == preset("chat").predictor


def test_lengths_of_another_kind_travel_under_keys() -> None:
    lengths = {"kind": "pareto_tail", "median": 100, "p90": 700.5, "alpha": 1.5}
    query = to_query(with_values(preset("chat"), {"workload.types.0.output": lengths}), "chat")
    assert "x" not in query
    assert {key: query[key] for key in ("output", "outputmed", "outputp90", "outputalpha")} == {
        "output": "pareto_tail",
        "outputmed": "100",
        "outputp90": "700.5",
        "outputalpha": "1.5",
    }


def test_lengths_without_keys_travel_compressed() -> None:
    scenario = with_values(
        preset("chat"), {"workload.types.0.output": {"kind": "quantiles", "points": [[0, 1], [1, 50]]}}
    )
    query = to_query(scenario, "chat")
    assert set(query) == {"v", "preset", "x"}
    assert from_query(query) == scenario


def test_a_mix_travels_by_names_and_shares() -> None:
    edits = {"workload.types.0.share": 0.6, "workload.types.1.share": 0.4}
    scenario = with_values(preset(MIXED), edits)
    query = to_query(scenario, MIXED)
    assert query == {"v": "1", "preset": MIXED, "mix": "chat:0.6,document:0.4"}
    assert from_query(query) == scenario


def test_a_mix_may_leave_types_out() -> None:
    chat, document = from_query({"preset": MIXED}).workload.types
    alone = from_query({"preset": MIXED, "mix": "document:1"})
    assert [task.name for task in alone.workload.types] == [document.name]
    assert to_query(alone, MIXED)["mix"] == "document:1"
    assert from_query({"preset": MIXED, "mix": f"{document.name}:1,{chat.name}:2"}).workload.types[1].share == 2


@pytest.mark.parametrize("text", ["1000", "1000.0", "1e3"])
def test_a_whole_number_may_be_written_in_any_way(text: str) -> None:
    assert from_query({"n": text}).workload.num_requests == 1000


def test_pins_are_left_aside() -> None:
    assert from_query({"preset": "chat", "p1": "anything"}) == preset("chat")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"seqz": "3"}, "seqz is not a known key of a link; closest are seqs, step, seed"),
        ({"v": "2"}, "v is '2'; this release reads links of version 1"),
        ({"preset": "chatt"}, "preset is 'chatt'; the closest shipped ones are chat, azure-chat"),
        ({"seqs": "0"}, "scheduler.max_num_seqs is 0; at least 1 is needed"),
        ({"seqs": "many"}, "scheduler.max_num_seqs is 'many'; a whole number is needed"),
        ({"sched": "fifo"}, "scheduler.system is 'fifo'; closest are"),
        ({"seqs": "1e9"}, "scheduler.max_num_seqs is 1000000000; at most"),
        ({"preset": "chat", "conc": "3"}, "workload.arrivals.concurrency is not a known field"),
        ({"mix": "poem:1"}, "mix names 'poem'; the preset's task types are chat"),
        ({"mix": "chat:some"}, "mix gives 'chat' the share 'some'; a number is needed"),
        ({"x": "%%%"}, "x is '%%%'; packed values of at most a megabyte are needed"),
        ({"x": "abcd"}, "x is 'abcd'; packed values of at most a megabyte are needed"),
    ],
)
def test_a_broken_link_is_refused_in_one_sentence(query: dict[str, str], sentence: str) -> None:
    assert refusal_of(query).startswith(sentence)


def test_packed_text_that_swells_is_refused() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(json.dumps({"a": "b" * 2_000_000}).encode())).decode()
    assert refusal_of({"x": bomb}).endswith("packed values of at most a megabyte are needed")


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9) | st.none(), max_size=4))
def test_packing_is_undone_by_unpacking(values: dict[str, object]) -> None:
    assert unpack(pack(values), "x") == values
    assert urlencode({"x": pack(values)}) == f"x={pack(values)}"  # nothing to escape
