"""Batch theatre as a script: what its slider and the scenario's knobs change, and what they leave alone."""

import json
from typing import Any

from streamlit.testing.v1 import AppTest

from sim.presets import preset
from sim.studies.theatre_play import play
from sim.view.theatre import payload
from sim.view.theatre_words import verdict
from tests.page_script import headline, open_page, turn

TIGHT = {"preset": "memory-pressure", "at": "saturated"}


def open_theatre(**query: str) -> AppTest:
    app = open_page(**query).switch_page("batch_theatre.py").run()
    assert not app.exception
    return app


def shown(app: AppTest) -> dict[str, Any]:
    """What the player was given."""
    given = [json.loads(each.proto.json) for each in app.get("bidi_component")]
    (text,) = [data["play"] for data in given if "play" in data]
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_player_gets_the_recorded_run_and_the_title_its_verdict() -> None:
    app = open_theatre(**TIGHT)
    expected = play(app.session_state.asked.scenario, is_saturated=True, num_requests=150)
    assert headline(app) == verdict(expected)
    assert shown(app) == json.loads(json.dumps(payload(expected)))
    assert shown(app)["jumps"]["preemptions"]


def test_more_requests_make_a_longer_play_of_the_same_server() -> None:
    app = open_theatre(**TIGHT)
    before = shown(app)
    app.select_slider(key="play_requests").set_value(50).run()
    assert not app.exception
    after = shown(app)
    assert (len(before["requests"]), len(after["requests"])) == (150, 50)
    assert after["blocks"] == before["blocks"]
    assert after["requests"][0][1:3] == before["requests"][0][1:3]  # prompt and output of the same request


def test_fewer_blocks_bring_preemptions_and_leave_the_requests() -> None:
    app = open_theatre(preset="memory-pressure", rate="8")
    before = shown(app)
    turn(app, "blocks", "600")
    after = shown(app)
    assert after["blocks"] == 599
    assert len(after["jumps"]["preemptions"]) > len(before["jumps"]["preemptions"])
    assert [each[1:3] for each in after["requests"]] == [each[1:3] for each in before["requests"]]


def test_the_operating_point_moves_the_queue() -> None:
    app = open_theatre(**{**TIGHT, "at": "as asked"})
    assert shown(app)["steps"]["waiting"][0] == 0
    turn(app, "at", "saturated")
    assert shown(app)["steps"]["waiting"][0] > 50
    assert any("all waiting from the start" in caption.value for caption in app.caption)


def test_a_limit_does_not_change_the_play() -> None:
    app = open_theatre(**TIGHT)
    before = shown(app)
    turn(app, "tpot", "20")
    assert shown(app) == before


def test_a_held_batch_has_finished_members() -> None:
    app = open_theatre(preset="textbook-straggler")
    assert any("finished but held" in text for _, text in shown(app)["lines"])
    assert shown(app)["jumps"]["stall"] is None
    assert preset("textbook-straggler").scheduler.hold


def test_a_scenario_that_cannot_run_says_why_in_one_sentence() -> None:
    app = open_theatre(model="Llama-3.1-70B", gpu="RTX4090")
    assert headline(app) == "This scenario cannot run."
    assert len(app.error) == 1


def test_a_run_without_a_step_is_told_and_not_played() -> None:
    app = open_theatre(blocks="2", n="100")  # one usable block of 16 tokens
    assert headline(app) == "100 requests in 0 steps: none fits into the KV memory."
    assert not any("play" in json.loads(each.proto.json) for each in app.get("bidi_component"))
