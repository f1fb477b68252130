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
from sim.studies.bill import HOURS_PER_MONTH, bill, price_of
from sim.studies.capacity import capacity
from sim.studies.capacity_search import Server, search_long_enough
from sim.studies.load_curve import without_load
from sim.view.number_words import short_number
from tests.page_script import finished, headline, open_page, turn

N = "3000"


def open_capacity(**query: str) -> AppTest:
    # One more GPU beside the chosen one is enough here; the choice itself has a test of its own.
    app = open_page(n=N, **query)
    app.switch_page("capacity.py").run()
    assert not app.exception
    return finished(app, is_working)


def is_working(app: AppTest) -> bool:
    """Whether something is being searched."""
    return bool(app.get("progress") or "Searching" in headline(app))


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
    title = headline(page)
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
    double = search_long_enough(Server(scenario(deployment__tensor_parallel_size=2))).search.rate_rps
    single = search_long_enough(Server(scenario())).search.rate_rps
    ratio = table.loc["2 x H100-SXM", "requests/s"] / table.loc["1 x H100-SXM", "requests/s"]
    assert ratio == pytest.approx(double / single, rel=1e-2)


def test_the_first_run_of_the_page_has_the_verdict_where_the_search_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page(n=N, seed="3")
    monkeypatch.setattr("ui.capacity_jobs.PATIENCE_S", 60.0)
    app.switch_page("capacity.py").run()
    assert headline(app).startswith("50 requests/s need ")
    assert any("(95 % interval of 5 replications)" in caption.value for caption in app.caption)


def test_where_it_is_not_the_page_says_that_it_searches_and_has_its_controls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.capacity_jobs.PATIENCE_S", -60.0)
    monkeypatch.setattr("ui.pool.PATIENCE_S", 60.0)  # the job begins nothing while the page is being made
    app = open_page(n=N, seed="4").switch_page("capacity.py").run()
    assert headline(app).startswith("Searching")
    assert app.number_input(key="need").value == 50
    assert headline(finished(app, is_working)).startswith("50 requests/s need ")


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
    title = headline(app)

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
    assert headline(app) == title


def test_a_predictors_own_gpus_and_retraining_are_billed_where_its_predictions_are_read() -> None:
    app = open_capacity(preset="long-prompts", vs="H100-SXM")

    def bills() -> tuple[dict[str, str], dict[str, str]]:
        lines = [caption.value.split("**: ") for caption in app.caption if "**: " in caption.value]
        return shown(app), {name: rest.split(", ", 1)[1] for name, rest in lines}

    assert app.number_input(key="predgpus").value == 0
    tiles, before = bills()
    app.number_input(key="predgpus").set_value(0.5).run()
    app.number_input(key="retraining").set_value(730.0).run()
    same_tiles, after = bills()
    assert not app.exception
    assert same_tiles == tiles  # the chosen scheduler reads no prediction
    told = {name for name in before if "redictor" in name}
    assert len(told) == 2
    assert {name for name in before if after[name] != before[name]} == told
    assert all(".5 GPUs" in after[name] for name in told)


def test_a_scheduler_that_reads_predictions_pays_for_them_in_the_verdict() -> None:
    app = open_capacity(preset="long-prompts", vs="H100-SXM", sched="ssjf", need="200")
    before = shown(app)
    app.number_input(key="predgpus").set_value(0.5).run()
    app.number_input(key="retraining").set_value(730.0).run()
    after = shown(app)
    usd = float(after["Price an hour"][1:]) - float(before["Price an hour"][1:])
    price = price_of(app.session_state.asked.scenario)
    assert usd == pytest.approx(0.5 * price + 730.0 / HOURS_PER_MONTH, abs=0.011)  # of two rounded amounts
    assert float(after["GPUs"]) == float(before["GPUs"]) + 0.5
    assert after["Replicas"] == before["Replicas"]
    assert "$1.00 for retraining" in [metric.delta for metric in app.metric]
    assert f"{before['GPUs']} H100-SXM and 0.5 for the predictor, " in headline(app)


def test_the_gpus_to_compare_are_a_choice_and_the_chosen_one_stays() -> None:
    app = open_capacity()
    app.multiselect(key="vs").set_value(["L40S"]).run()
    finished(app, is_working)
    assert {name.split(" x ")[1] for name in rows(app).index} == {"H100-SXM", "L40S"}


def test_the_rate_of_the_sidebar_does_not_change_what_a_replica_sustains(page: AppTest) -> None:
    assert shown(open_capacity(rate="2"))["One replica sustains"] == shown(page)["One replica sustains"]


def test_a_knob_of_the_server_changes_the_answer(page: AppTest) -> None:
    other = open_capacity(gpu="A100-80G-SXM")
    assert "A100-80G-SXM" in headline(other)
    assert shown(other)["One replica sustains"] != shown(page)["One replica sustains"]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
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
