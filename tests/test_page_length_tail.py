"""Length tail as a script: what a knob must change and what it must leave alone; bad input."""

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sim.simulate import simulate
from sim.view.number_words import short_percent
from tests.page_script import finished, headline, open_page, turn

TIGHT = {"preset": "memory-pressure", "n": "600"}


def open_tail(**query: str) -> AppTest:
    app = open_page(**query).switch_page("length_tail.py").run()
    assert not app.exception
    return finished(app, is_working)


def is_working(app: AppTest) -> bool:
    """Whether runs are missing."""
    return bool("being computed" in headline(app) or "incomplete" in "".join(charts(app).values()).lower())


def charts(app: AppTest) -> dict[str, str]:
    """Specification of each chart, by the words it is described with."""
    found: dict[str, str] = {}
    for component in app.get("bidi_component"):
        data: Any = json.loads(component.proto.json or "{}")  # empty: one that is told nothing
        if "alt" in data:
            found[data["alt"]] = data["spec"]
    return found


def profiles(app: AppTest) -> Any:
    return app.dataframe[0].value


def worlds(app: AppTest) -> Any:
    return app.dataframe[1].value.set_index("Counterfactual")


@pytest.fixture(scope="module")
def page() -> AppTest:
    return open_tail(**TIGHT)


def test_the_share_of_the_longest_answers_is_the_ledgers(page: AppTest) -> None:
    ledger = simulate(page.session_state.asked.scenario).ledger.memory_block_s()
    held = ledger["held_straggler"] / sum(ledger.values())
    assert f"the longest 5 % of answers hold {short_percent(held)} of KV block-time" in headline(page)


def test_own_lengths_stand_before_the_real_data_sets(page: AppTest) -> None:
    made = simulate(page.session_state.asked.scenario).inputs.output_len
    first = profiles(page).iloc[0]
    assert first["Output lengths"] == "this scenario"
    assert first["mean"] == round(made.mean())
    assert first["max"] == made.max()
    assert len(profiles(page)) > 10


def test_every_counterfactual_has_both_operating_points(page: AppTest) -> None:
    table = worlds(page)
    assert list(table.index) == ["No variance", "Backlog never empties", "Tail cut", "Exact margin", "All together"]
    assert (table.drop("Backlog never empties") != "-").all(axis=None)
    assert any("at most 4,000 requests" in caption.value for caption in page.caption)


def test_more_spread_moves_the_lengths_and_the_verdict_and_not_the_real_data() -> None:
    narrow = open_tail(**TIGHT, outputcv="0.5")
    before, title = profiles(narrow), headline(narrow)
    turn(narrow, "outputcv", "1.5")
    after = profiles(finished(narrow, is_working))
    assert after.iloc[0]["CV"] > 2 * before.iloc[0]["CV"]
    assert after.iloc[1:].equals(before.iloc[1:])
    assert headline(narrow) != title


def test_the_operating_point_moves_the_ledgers_and_not_the_counterfactuals(page: AppTest) -> None:
    app = open_tail(**TIGHT)
    before, title = worlds(app), headline(app)
    turn(app, "at", "saturated")
    finished(app, is_working)
    assert worlds(app).equals(before)
    held, held_before = (text.split("hold ")[1] for text in (headline(app), title))
    assert held != held_before
    assert headline(app).split(";")[0] == title.split(";")[0]


def test_a_limit_moves_goodput_alone() -> None:
    app = open_tail(**TIGHT)
    before = worlds(app)
    turn(app, "tpot", "25")
    after = worlds(finished(app, is_working))
    changed = [name for name in before.columns if not before[name].equals(after[name])]
    assert changed == ["goodput, as asked"]


def test_a_static_batch_can_be_opened_and_is_judged_by_e2e_per_token() -> None:
    app = open_tail(preset="textbook-straggler")
    assert "Joining at every iteration" in worlds(app).index
    assert any("Tail cut is not possible here" in caption.value for caption in app.caption)
    assert "p99 E2E/token, as asked" in worlds(app).columns


def test_a_scenario_that_cannot_run_says_why_in_one_sentence() -> None:
    app = open_page(model="Llama-3.1-70B", gpu="RTX4090").switch_page("length_tail.py").run()
    assert not app.exception
    assert headline(app) == "This scenario cannot run."
    assert len(app.error) == 1


def draw(app: AppTest, **tokens: int) -> None:
    """Type quantiles and use them."""
    for name, value in tokens.items():
        next(each for each in app.number_input if each.key.startswith(f"draw_{name}_")).set_value(value)
    next(button for button in app.button if button.label == "Use these lengths").click().run()
    assert not app.exception


def test_drawn_lengths_go_into_the_scenario_and_its_link() -> None:
    app = open_tail(**TIGHT)
    prompt = app.session_state.asked.scenario.workload.types[0].prompt
    draw(app, p99=3000, max=4000)
    finished(app, is_working)
    task = app.session_state.asked.scenario.workload.types[0]
    assert dict(task.output.points)[0.99] == 3000
    assert task.prompt == prompt
    assert profiles(app).iloc[0]["max"] <= 4000
    assert app.session_state.x  # packed edits of the link


def test_lengths_that_cannot_be_are_refused_and_nothing_moves() -> None:
    app = open_tail(**TIGHT)
    before = app.session_state.asked.scenario
    draw(app, p50=5, p10=50)
    assert [error.value for error in app.error] == ["p50 is 5; at least p10 (50) is needed"]
    assert app.session_state.asked.scenario == before
