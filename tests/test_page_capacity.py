"""Capacity as a script: what a control must change and what it must leave alone; refusals."""

import math
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sim.presets import preset
from sim.scenario import Scenario, with_values
from sim.studies.bill import bill
from sim.studies.capacity import capacity, search
from sim.studies.load_curve import without_load
from sim.view.theme import short_number
from tests.page_script import finished, open_page, turn

N = "1500"


def open_capacity(**query: str) -> AppTest:
    # One more GPU beside the chosen one is enough here; the choice itself has a test of its own.
    app = open_page(n=N, **query)
    app.switch_page("capacity.py").run()
    assert not app.exception
    return finished(app, is_working)


def is_working(app: AppTest) -> bool:
    """Whether something is being searched."""
    return bool(app.get("progress") or "Searching" in app.title[0].value)


def shown(app: AppTest) -> dict[str, str]:
    """Tiles by label."""
    return {metric.label: metric.value for metric in app.metric}


def rows(app: AppTest) -> Any:
    return app.dataframe[0].value.set_index("Replica")


def scenario(name: str = "chat", **values: Any) -> Scenario:
    edits = {path.replace("__", "."): value for path, value in values.items()}
    return without_load(with_values(preset(name), {"workload.num_requests": int(N), **edits}))


@pytest.fixture(scope="module")
def page() -> AppTest:
    return open_capacity()


def test_the_verdict_is_what_the_library_finds(page: AppTest) -> None:
    base = capacity(scenario())
    cost = bill(base, 50.0, headroom=0.2)
    title = page.title[0].value
    assert title.startswith(f"50 requests/s need {cost.replicas} replicas = {cost.gpus} H100-SXM, ")
    assert f"${cost.usd_per_hour:,.2f}/h" in title
    assert f"one replica sustains {short_number(base.sustained.rate_rps)} requests/s" in title
    assert shown(page)["GPUs"] == str(cost.gpus)


def test_the_table_holds_every_size_of_every_gpu_with_its_own_bill(page: AppTest) -> None:
    table = rows(page)
    assert {"1 x H100-SXM", "2 x H100-SXM", "1 x H200", "8 x B200"} <= set(table.index)
    for name, row in table.iterrows():
        size = int(str(name).split(" x ")[0])
        assert row["GPUs"] == size * row["Replicas"]
        assert row["Replicas"] == math.ceil(50 / (0.8 * row["requests/s"])) or row["requests/s"] > 100
    double = search(scenario(deployment__tensor_parallel_size=2)).search.rate_rps
    single = search(scenario()).search.rate_rps
    ratio = table.loc["2 x H100-SXM", "requests/s"] / table.loc["1 x H100-SXM", "requests/s"]
    assert ratio == pytest.approx(double / single, rel=1e-2)


CONTROLS: dict[str, tuple[Callable[[AppTest], None], tuple[str, ...], tuple[str, ...]]] = {
    "need": (
        lambda app: app.number_input(key="need").set_value(500.0).run(),
        ("Replicas", "GPUs", "Price an hour"),
        ("One replica sustains",),
    ),
    "room": (
        lambda app: app.select_slider(key="room").set_value("50").run(),
        ("Replicas", "GPUs", "Price an hour"),
        ("One replica sustains",),
    ),
    "usd": (
        lambda app: app.number_input(key="usd").set_value(4.0).run(),
        ("Price an hour", "Price of 1M output tokens"),
        ("One replica sustains", "Replicas", "GPUs"),
    ),
    "within": (
        lambda app: turn(app, "within", "99"),
        ("One replica sustains",),
        (),
    ),
}


@pytest.mark.parametrize("key", CONTROLS)
def test_each_control_changes_what_it_should_and_nothing_else(key: str) -> None:
    app = open_capacity(preset="long-prompts")
    before = shown(app)
    move, changes, keeps = CONTROLS[key]
    move(app)
    after = shown(finished(app, is_working))
    assert all(after[label] != before[label] for label in changes)
    assert all(after[label] == before[label] for label in keeps)


def test_a_cap_and_a_longer_tail_change_their_own_line_and_not_the_verdict() -> None:
    app = open_capacity()
    title = app.title[0].value

    def line(name: str) -> str:
        return next(caption.value for caption in app.caption if caption.value.startswith(f"**{name}"))

    cap, tail = line("Cap of 512"), line("Tail 2 x")
    assert "of answers are cut" in cap
    app.select_slider(key="ifcap").set_value("128").run()
    finished(app, is_working)
    assert line("Cap of 128") != cap
    assert line("Tail 2 x") == tail
    app.select_slider(key="iftail").set_value("5").run()
    finished(app, is_working)
    assert line("Tail 5 x") != tail
    assert app.title[0].value == title


def test_the_gpus_to_compare_are_a_choice_and_the_chosen_one_stays() -> None:
    app = open_capacity()
    app.multiselect(key="vs").set_value(["L40S"]).run()
    finished(app, is_working)
    assert {name.split(" x ")[1] for name in rows(app).index} == {"H100-SXM", "L40S"}


def test_the_rate_of_the_sidebar_does_not_change_what_a_replica_sustains(page: AppTest) -> None:
    assert shown(open_capacity(rate="2"))["One replica sustains"] == shown(page)["One replica sustains"]


def test_a_knob_of_the_server_changes_the_answer(page: AppTest) -> None:
    other = open_capacity(gpu="A100-80G-SXM")
    assert "A100-80G-SXM" in other.title[0].value
    assert shown(other)["One replica sustains"] != shown(page)["One replica sustains"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ({"preset": "closed-loop"}, "workload.arrivals.kind is 'closed_loop'; one with a rate is needed"),
        ({"ttft": "none", "tpot": "none"}, "slo is without a limit"),
        ({"tpot": "1"}, "slo is out of reach"),
        ({"model": "Llama-3.1-405B"}, "GiB is the limit"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_sentence(query: dict[str, str], sentence: str) -> None:
    app = open_page(n=N, **query)
    app.switch_page("capacity.py").run()
    deadline = time.monotonic() + 60
    while not app.error:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        app.run()
    assert not app.exception
    assert sentence in app.error[0].value


def test_too_few_requests_are_refused_with_the_number_that_is_needed() -> None:
    app = open_page(n="300")
    app.switch_page("capacity.py").run()
    deadline = time.monotonic() + 60
    while not app.error:
        assert time.monotonic() < deadline
        time.sleep(0.1)
        app.run()
    assert re.search(r"num_requests is 300; at least 1000", app.error[0].value)
