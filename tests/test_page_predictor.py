"""Predictor as a script: what a knob must change and what it must leave alone; bad input."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sim.studies.predictor.error_map import TWICE
from sim.studies.predictor.uses import Use, own_error, run, with_error
from sim.studies.saturated import saturated
from sim.view.number_words import short_number
from tests.page_script import finished, headline, open_page, turn
from tests.test_page_length_tail import charts

TIGHT = {"preset": "memory-pressure", "n": "300", "at": "saturated"}


def open_predictor(**query: str) -> AppTest:
    app = open_page(**query).switch_page("predictor.py").run()
    assert not app.exception
    return finished(app, is_working)


def is_working(app: AppTest) -> bool:
    """Whether something is left to stop."""
    return bool(any(button.label == "Stop" for button in app.button))


def table(app: AppTest, first: str) -> Any:
    """The table whose first column has that title."""
    return next(each.value for each in app.dataframe if each.value.columns[0] == first)


def lines(app: AppTest) -> str:
    return " ".join([each.value for each in (*app.caption, *app.markdown)])


@pytest.fixture(scope="module")
def page() -> AppTest:
    return open_predictor(**TIGHT)


def test_the_verdict_is_that_of_the_runs(page: AppTest) -> None:
    scenario = saturated(page.session_state.asked.scenario)
    spread = own_error(scenario)[1]
    at = {bias: run(with_error(scenario, Use.RESERVE, bias, spread)) for bias in (-TWICE, 0.0, TWICE)}
    change = at[TWICE].output_tokens_per_s / at[0.0].output_tokens_per_s - 1
    assert f"twice too long, throughput is {-100 * change:.0f} % lower" in headline(page)


def test_the_uses_are_those_of_the_runs(page: AppTest) -> None:
    scenario = saturated(page.session_state.asked.scenario)
    ordering = run(with_error(scenario, Use.ORDER, 0.0, 0.5))
    row = table(page, "Use").set_index("Use").loc["ordering"]
    assert row["output tokens/s"] == short_number(ordering.whole_tokens_per_s)
    assert list(table(page, "Use")["Use"]) == ["no predictor", "ordering", "reservation"]


def test_published_predictors_keep_their_published_figures(page: AppTest) -> None:
    lesson = table(page, "Published predictor")
    assert list(lesson["accuracy, published"])[:2] == ["97 %", "43 %"]
    assert list(lesson["tau, published"]) == ["0.17", "0.58", "0.62", "0.67", "0.84"]
    assert list(table(page, "Traffic")["tau, drifted"]) == ["0.45", "0.40"]


def test_the_map_and_all_cards_are_there(page: AppTest) -> None:
    described = " ".join(charts(page))
    assert "over direction and size of the prediction error" in described
    assert "Best for throughput" in lines(page)
    assert "Drift" in lines(page)


def test_another_objective_moves_the_verdict_and_not_the_published_predictors() -> None:
    app = open_predictor(**TIGHT)
    before, title = table(app, "Published predictor"), headline(app)
    turn(app, "objective", "preemptions")
    finished(app, is_working)
    assert "preemptions are" in headline(app)
    assert headline(app) != title
    assert table(app, "Published predictor").equals(before)


def test_more_memory_moves_the_verdict_and_leaves_taus() -> None:
    app = open_predictor(**TIGHT)
    taus, title = list(table(app, "Published predictor")["tau, here"]), headline(app)
    turn(app, "mem", "0.95")
    finished(app, is_working)
    assert headline(app) != title
    assert list(table(app, "Published predictor")["tau, here"]) == taus


def test_money_needs_limits_and_enough_requests(page: AppTest) -> None:
    assert any("num_requests is 300; at least 1000" in warning.value for warning in page.warning)


def test_gpus_saved_follow_the_load() -> None:
    app = open_predictor(**TIGHT | {"n": "1000"})
    before = [each.value for each in app.markdown if "without a predictor" in each.value]
    app.number_input(key="need").set_value(500.0).run()
    after = [each.value for each in app.markdown if "without a predictor" in each.value]
    assert len(before) == len(after) == 2
    assert all(old != new and "500 requests/s" in new for old, new in zip(before, after, strict=True))
    app.number_input(key="predgpus").set_value(2.0).run()
    charged = [each.value for each in app.markdown if "without a predictor" in each.value]
    assert all("and 2 for the predictor" in each for each in charged)
    assert not any("and 2 for the predictor" in each for each in after)


def test_a_scenario_that_cannot_run_says_why_in_one_sentence() -> None:
    app = open_page(model="Llama-3.1-70B", gpu="RTX4090").switch_page("predictor.py").run()
    assert not app.exception
    assert headline(app) == "This scenario cannot run."
    assert len(app.error) == 1
