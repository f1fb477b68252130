"""Pinned runs on the page and in its link."""

from urllib.parse import urlencode

import pytest
from streamlit.testing.v1 import AppTest

from sim.keys import pack, to_query
from sim.presets import preset, preset_names
from sim.scenario import with_values
from tests.page_script import QUICK, headline, open_page, turn


def legend(app: AppTest) -> str:
    """The line that says which pin is which."""
    (found,) = [each.proto.body for each in app.get("html") if "<span title=" in each.proto.body]
    return found


def test_a_pin_turns_the_tiles_into_differences() -> None:
    app = open_page()
    app.button(key="pin").click().run()
    assert all(metric.delta in {"as pinned", "not comparable"} for metric in app.metric)
    turn(app, "rate", "20")
    deltas = {metric.label: metric.delta for metric in app.metric}
    assert deltas["Output"].startswith(("+", "x "))
    assert "against the pinned run" in headline(app)
    app.button(key="unpin").click().run()
    assert "against the pinned run" not in headline(app)


def test_the_same_run_is_pinned_once() -> None:
    app = open_page()
    for _ in range(2):  # as a double click does
        app.button(key="pin").click().run()
    assert [pin.key for pin in app.session_state.asked.pins] == ["p1"]


def test_a_pin_in_a_link_is_run_again() -> None:
    pinned = with_values(preset("memory-pressure"), {"workload.num_requests": 300})
    app = open_page(p1=pack(to_query(pinned, "memory-pressure")))
    assert app.session_state.asked.pinned == pinned
    assert "against the pinned run" in headline(app)


def test_a_pin_that_cannot_be_read_is_said_so() -> None:
    app = open_page(p1="garbage")
    assert any("The pinned run cannot be shown: p1 is 'garbage'" in warning.value for warning in app.warning)


def test_the_longest_link_from_any_preset_to_any_other_with_a_pin_is_short() -> None:
    names = preset_names("explore")
    far = [to_query(preset(there), here) for here in names for there in names]
    longest_pin = max((pack(query) for query in far), key=len)
    links = [
        f"https://longtail.example.org/?{urlencode({'at': 'saturated', 'p1': longest_pin, **query})}" for query in far
    ]
    assert max(map(len, links)) < 2000


def test_four_runs_can_be_pinned_and_no_fifth() -> None:
    app = open_page()
    for rate in ("6", "10", "12", "15"):
        assert not app.button(key="pin").disabled
        app.button(key="pin").click().run()
        turn(app, "rate", rate)
    assert app.button(key="pin").disabled
    pins = app.session_state.asked.pins
    assert [(pin.key, pin.name, pin.label) for pin in pins] == [
        ("p1", "pin 1", "Chat"),
        ("p2", "pin 2", "rate 6"),
        ("p3", "pin 3", "rate 10"),
        ("p4", "pin 4", "rate 12"),
    ]
    assert [pin.scenario.workload.arrivals.rate_rps for pin in pins] == [8, 6, 10, 12]
    assert len({pin.dash for pin in pins}) == 4
    assert "<b>pin 4</b> (dash and dot): rate 12</span>" in legend(app)
    assert "<b>pin 1</b> (dashed, compared): Chat</span>" in legend(app)


def test_the_chosen_pin_changes_the_deltas_and_not_the_numbers() -> None:
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": QUICK, "rate": rate}) for i, rate in ((1, "4"), (2, "16"))}
    app = open_page(**pins)
    values, deltas = ([getattr(metric, name) for metric in app.metric] for name in ("value", "delta"))
    assert "against pin 1, output +" in headline(app)
    app.button(key="base_p2").click().run()
    assert [metric.value for metric in app.metric] == values
    assert [metric.delta for metric in app.metric] != deltas
    assert "against pin 2, output -" in headline(app)
    assert app.query_params["base"] == "p2"


def test_unpinning_the_compared_run_compares_with_the_first_of_the_others() -> None:
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": QUICK, "rate": rate}) for i, rate in ((1, "4"), (2, "16"))}
    app = open_page(**pins, base="p2")
    assert app.session_state.asked.base == "p2"
    app.button(key="unpin_p2").click().run()
    asked = app.session_state.asked
    assert (asked.base, [pin.key for pin in asked.pins]) == ("p1", ["p1"])
    assert "p2" not in app.query_params


def test_a_broken_pin_is_told_and_the_others_stay() -> None:
    app = open_page(p1="garbage", p2=pack({"v": "1", "preset": "chat", "n": QUICK}))
    assert any("Pin 1 cannot be shown: p1 is 'garbage'" in warning.value for warning in app.warning)
    assert "against pin 2" in headline(app)
    assert "pin 1" not in legend(app)
    assert "<b>pin 2</b> (dotted, compared): Chat</span>" in legend(app)


@pytest.mark.parametrize("name", preset_names("explore"))
def test_a_link_with_four_pins_that_depart_little_is_short(name: str) -> None:
    departures = (
        {"scheduler.max_num_seqs": 48},
        {"deployment.tensor_parallel_size": 4, "deployment.gpu": "H200"},
        {"scheduler.max_num_batched_tokens": 4096, "scheduler.max_num_seqs": 128, "seed": 7},
        {"deployment.gpu_memory_utilization": 0.8, "deployment.block_size": 32, "scheduler.watermark": 0.05},
    )
    queries = [to_query(with_values(preset(name), each), name) for each in departures]
    pins = {f"p{i}": pack(query) for i, query in enumerate(queries, 1)}
    link = f"https://longtail.example.org/?{urlencode({'at': 'saturated', 'base': 'p4', **pins, **queries[2]})}"
    assert len(link) < 2000
