"""Meeting mode as a script: what it shows, and what stepping changes and leaves."""

from streamlit.testing.v1 import AppTest

from sim.keys import pack
from sim.presets import preset
from sim.scenario import with_values
from sim.view.run_view import run_view
from sim.view.verdict import verdict
from tests.page_script import QUICK, headline, open_page

PINS = {f"p{i}": pack({"v": "1", "preset": "chat", "n": QUICK, "rate": rate}) for i, rate in ((1, "4"), (2, "16"))}


def where(app: AppTest) -> str:
    return next(text.value for text in app.markdown if text.value.startswith("Run "))


def view(rate: float):
    return run_view(with_values(preset("chat"), {"workload.num_requests": 300, "workload.arrivals.rate_rps": rate}))


def test_it_shows_a_verdict_and_no_tiles() -> None:
    app = open_page()
    assert app.metric
    app.button(key="meeting_begin").click().run()
    assert not app.exception
    assert not app.metric
    assert headline(app) == verdict(view(8).scenario, view(8).summary)
    assert app.query_params["meet"] == "1"
    assert app.button(key="meeting_next").disabled
    app.button(key="meeting_end").click().run()
    assert app.metric
    assert "meet" not in app.query_params


def test_next_and_previous_step_through_the_runs_and_around() -> None:
    app = open_page(meet="1", **PINS)
    seen = []
    for _ in range(4):
        seen.append(where(app).partition(".")[0])
        app.button(key="meeting_next").click().run()
    assert seen == [
        "Run 1 of 3: **current**",
        "Run 2 of 3: **pin 1 (rate 4)**",
        "Run 3 of 3: **pin 2 (rate 16)**",
        "Run 1 of 3: **current**",
    ]
    app.button(key="meeting_previous").click().run()
    assert where(app).startswith("Run 1 of 3")


def test_each_run_has_its_own_verdict_against_the_compared_one() -> None:
    app = open_page(meet="1", base="p1", **PINS)
    assert headline(app) == verdict(view(8).scenario, view(8).summary, view(4).summary, "pin 1")
    app.button(key="meeting_next").click().run()
    assert headline(app) == verdict(view(4).scenario, view(4).summary)
    app.button(key="meeting_next").click().run()
    assert headline(app) == verdict(view(16).scenario, view(16).summary, view(4).summary, "pin 1")


def test_stepping_moves_no_knob() -> None:
    app = open_page(meet="1", **PINS)
    before = app.session_state.asked.scenario
    app.button(key="meeting_next").click().run()
    assert app.session_state.asked.scenario == before
    assert set(app.query_params) == {"n", "meet", "p1", "p2"}


def test_a_broken_pin_is_told_in_one_sentence_and_the_other_keeps_its_name() -> None:
    app = open_page(meet="1", p1="garbage", p2=PINS["p2"])
    assert [warning.value.partition(" is ")[0] for warning in app.warning] == ["Pin 1 cannot be shown: p1"]
    assert headline(app) == verdict(view(8).scenario, view(8).summary, view(16).summary, "pin 2")
    app.button(key="meeting_next").click().run()
    assert where(app).startswith("Run 2 of 2: **pin 2 (rate 16)**")
