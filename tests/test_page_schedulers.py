"""Schedulers as a script: what a control must change and what it must leave alone."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from sim import preset, simulate, with_values
from sim.studies.compare import compared
from sim.view.compare import DEFAULT
from tests.page_script import finished, headline, open_page, turn

N = "400"


def open_schedulers(**query: str) -> AppTest:
    app = open_page(**{"n": N} | query)
    app.switch_page("schedulers.py").run()
    return finished(app, is_working)


def is_working(app: AppTest) -> bool:
    """Whether something is being run."""
    return bool(app.get("progress"))


def rows(app: AppTest) -> dict[str, dict[str, float]]:
    table = app.dataframe[0].value
    return {str(row["scheduler"]): dict(row) for _, row in table.iterrows()}


@pytest.fixture(scope="module")
def page() -> AppTest:
    return open_schedulers()


def test_numbers_are_those_of_the_library(page: AppTest) -> None:
    found = rows(page)
    assert {"vLLM V1", "Static batching", "S3", "Learned ranking"} <= set(found)
    scenario = with_values(preset("chat"), {"workload.num_requests": int(N), "scheduler": {"system": "sarathi"}})
    own = compared(simulate(scenario), float("nan"))
    shown = found["Sarathi-Serve"]
    assert shown["output tokens/s"] == pytest.approx(own.output_tokens_per_s, rel=0.006)
    assert shown["p99 TTFT"] == pytest.approx(own.ttft_p99_s, rel=0.006)
    assert set(re.split(", | and ", headline(page).split(" serve")[0])) <= set(found)


def test_rate_moves_the_rates_and_not_the_spread_of_lengths(page: AppTest) -> None:
    before, mix = rows(page), page.markdown[-1].value.split("; among")[0]
    slower = open_schedulers(rate="2")
    after = rows(slower)
    assert after["vLLM V1"]["output tokens/s"] < 0.5 * before["vLLM V1"]["output tokens/s"]
    assert slower.markdown[-1].value.split("; among")[0] == mix


def test_same_limits_change_the_others_and_not_the_scenarios_own(page: AppTest) -> None:
    app, column = open_schedulers(seqs="4"), "p99 TTFT"
    before = rows(app)
    turn(app, "cmplimits", "true")
    after = rows(finished(app, is_working))
    assert after["vLLM V1"][column] == before["vLLM V1"][column]
    assert after["Sarathi-Serve"][column] > before["Sarathi-Serve"][column]


def test_what_cannot_run_is_said_once_each() -> None:
    app = open_schedulers(preset="two-nodes")
    told = [each.value.partition(": ")[0] for each in app.warning]
    assert told == ["Static batching", "Learned ranking"]  # which take one pipeline stage
    assert len(rows(app)) == len(DEFAULT) - len(told)


def test_where_nobody_can_run_the_reason_is_said_once_and_nothing_empty_is_drawn() -> None:
    app = open_schedulers(maxlen="131072", blocks="100")
    assert headline(app) == "This scenario cannot run."
    (reason,) = app.error
    assert "max_model_len is 131072" in reason.value
    assert not app.warning
    assert not app.dataframe


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ({"ttft": "none", "tpot": "none", "e2e": "none"}, "good requests/s"),
        ({"n": "1"}, "p99 TTFT"),
    ],
)
def test_a_column_without_a_single_number_is_empty(query: dict[str, str], column: str) -> None:
    app = open_schedulers(**query)
    assert all(row[column] is None for row in rows(app).values())
