"""Addresses typed by hand: what no control can hold is said and stays there, what no knob shows counts."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sim.keys import PAGE_KEYS
from tests.page_script import MAIN, headline, open_page, turn

PAGES = {"Schedulers": "schedulers.py", "Operate": "operate.py", "Capacity": "capacity.py", "Predictor": "predictor.py"}
TWO_TYPES = "mixed-pool"  # a preset with something to part


def open_address(page: str = "explore.py", **query: Any) -> AppTest:
    """A page at an address, where a key may stand several times."""
    app = AppTest.from_file(MAIN, default_timeout=120)
    for key, text in {"n": "100", **query}.items():
        app.query_params[key] = text
    app.switch_page(page).run()
    assert not app.exception
    return app


@pytest.mark.parametrize(
    ("key", "text", "sentence"),
    [
        ("rate", "abc", "workload.arrivals.rate_rps is 'abc'; a number is needed"),
        ("rate", "1e400", "workload.arrivals.rate_rps is inf; a finite number is needed"),
        ("rate", "-5", "workload.arrivals.rate_rps is -5; more than 0 is needed"),
        ("rate", ["3", "4"], "workload.arrivals.rate_rps is '3, 4'; a number is needed"),
        ("seqs", "2.5", "scheduler.max_num_seqs is 2.5; a whole number is needed"),
        ("tp", "3", "deployment.tensor_parallel_size is 3; allowed are 1, 2, 4, 8 or 16"),
        ("arr", "often", "workload.arrivals.kind is 'often'; allowed are poisson"),
        ("gpu", "H100", "deployment.gpu is 'H100'; the catalogue's closest are H200, H100-SXM"),
        ("sched", "fifo", "scheduler.system is 'fifo'; closest are"),
        ("order", "fifo", "scheduler.order is 'fifo'; allowed are arrival"),
        ("cache", "maybe", "scheduler.enable_prefix_caching is 'maybe'; true or false is needed"),
        ("preset", "chatt", "preset is 'chatt'; the closest shipped ones are chat"),
        ("quant", "-5", "scheduler.quantum_ms is -5; more than 0 is needed"),  # vLLM V1 has no knob for it
        ("price", "-3", "cost.price_per_gpu_hour is -3; at least 0 is needed"),  # no scheduler has one
    ],
)
def test_a_text_that_no_knob_can_hold_is_refused_and_stays(key: str, text: Any, sentence: str) -> None:
    app = open_address(**{key: text})
    assert headline(app) == "This scenario cannot run."
    assert app.error[-1].value.startswith(sentence)
    app.run()
    assert app.query_params[key] == text
    assert app.error[-1].value.startswith(sentence)


def test_moving_the_switch_replaces_the_text_it_could_not_hold() -> None:
    app = open_address(cache="maybe")
    turn(app, "cache", "true")
    assert app.query_params["cache"] == "true"
    assert not app.error


@pytest.mark.parametrize(("key", "page"), [(key, page.split(" and ")[0]) for key, page in PAGE_KEYS.items()])
def test_a_text_that_a_pages_control_cannot_hold_is_said_and_stays(key: str, page: str) -> None:
    app = open_address(PAGES[page], preset=TWO_TYPES, **{key: "abc"})
    assert sum(each.value.startswith(f"{key} is 'abc'") for each in app.warning) == 1
    assert app.query_params[key] == "abc"


def test_a_number_outside_its_limits_is_said_until_the_field_is_moved() -> None:
    app = open_address("capacity.py", need="-5")
    assert [each.value for each in app.warning] == ["need is -5; at least 0.01 is needed"]
    assert app.number_input(key="need").value == 50
    app.number_input(key="need").set_value(70.0).run()
    assert app.query_params["need"] == "70.0"
    assert not app.warning


def test_fields_without_a_knob_count() -> None:
    asked = open_page(price="3", host="5", predcost="4").session_state.asked.scenario
    assert (asked.cost.price_per_gpu_hour, asked.cost.host_ms, asked.predictor.cost_ms) == (3, 5, 4)


def test_a_field_goes_with_its_knob() -> None:
    app = open_page(quant="300")
    turn(app, "sched", "mlfq")
    assert app.session_state.asked.scenario.scheduler.quantum_ms == 300
    turn(app, "sched", "vllm_v1")
    assert app.session_state.asked.scenario.scheduler.quantum_ms is None
    assert "quant" not in app.query_params


def test_another_preset_leaves_nothing_of_the_former_address() -> None:
    app = open_page(price="3", foo="1", v="7")
    app.selectbox(key="preset").set_value("burst").run()
    assert not app.error
    assert not {"price", "foo", "v"} & set(app.query_params)


def test_what_changes_nothing_is_said() -> None:
    app = open_page(ratee="3", burst="0.2", meet="yes", base="p9")
    said = [each.value for each in app.warning]
    assert said[0].startswith("'ratee' in the address is not a known key; closest are rate")
    assert said[1:4] == [
        "burst is '0.2' in the address and changes nothing: workload.arrivals is poisson, without burstiness.",
        "base is 'p9' in the address; allowed are p1, p2, p3, p4.",
        "meet is 'yes' in the address; 1 is needed.",
    ]


def test_a_good_address_is_not_remarked_on() -> None:
    app = open_page(rate="7.3", seqs="64", arr="gamma", burst="0.5", at="saturated", need="30", n="1000")
    assert not [each.value for each in app.warning if "address" in each.value]
