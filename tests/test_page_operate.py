"""Operate as a script: what a control must change and what it must leave alone; refusals."""

import json
import re
from typing import Any

import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.live_plot import json_of
from sim.presets import preset
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.view.number_words import short_percent
from tests.page_script import finished, headline, open_page, turn

N = "800"


def open_operate(**query: str) -> AppTest:
    app = open_page(n=N, **query)
    app.switch_page("operate.py").run()
    assert not app.exception
    return finished(app, is_working)


def is_working(app: AppTest) -> bool:
    """Whether something is being run."""
    return bool(app.get("progress") or "omputing" in headline(app))


def scenario(name: str = "chat", **values: Any) -> Scenario:
    edits = {path.replace("__", "."): value for path, value in values.items()}
    return with_values(preset(name), {"workload.num_requests": int(N), **edits})


def table(app: AppTest, column: str) -> Any:
    """The table that begins with a column of that name."""
    return next(each.value for each in app.dataframe if each.value.columns[0] == column)


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption)


def paragraph(app: AppTest) -> str:
    return app.code[-1].value


@pytest.fixture(scope="module")
def page() -> AppTest:
    return open_operate()


def test_the_verdict_says_what_the_cap_costs(page: AppTest) -> None:
    lengths = simulate(scenario()).inputs.output_len
    cut, lost = (lengths > 512).mean(), 1 - lengths.clip(max=512).sum() / lengths.sum()
    title = headline(page)
    assert title.startswith(
        f"A cap of 512 tokens cuts {short_percent(cut)} of answers and loses {short_percent(lost)} of all tokens "
        "wanted; a full server then gives "
    )
    assert "if clients ask for the rest" in title


def test_the_cap_changes_the_verdict_and_not_the_target() -> None:
    app = open_operate()
    title, target = headline(app), paragraph(app)
    app.select_slider(key="opcap").set_value("256").run()
    finished(app, is_working)
    assert headline(app) != title
    assert "A cap of 256 tokens" in headline(app)
    assert paragraph(app) == target


def test_the_longer_tail_changes_its_row_and_not_the_others() -> None:
    app = open_operate(preset="reasoning")
    before = table(app, "Lengths")
    title = headline(app)
    app.select_slider(key="optail").set_value("5").run()
    finished(app, is_working)
    after = table(app, "Lengths")
    assert after["Lengths"].tolist() == ["as assumed", "as it is", "tail 5 x longer"]
    assert after.iloc[:2].equals(before.iloc[:2])
    assert after.iloc[2]["p99"] > before.iloc[2]["p99"]
    assert headline(app) == title


def test_the_target_changes_what_breaks_it_and_not_the_shares() -> None:
    app = open_operate(preset="reasoning", rate="0.9")
    before, said = table(app, "Lengths"), paragraph(app)
    turn(app, "optarget", "99")
    finished(app, is_working)
    assert table(app, "Lengths").equals(before)
    assert paragraph(app) != said
    assert paragraph(app).startswith("Target: 99 % of requests have a TTFT")


def test_the_sheet_says_what_the_target_assumes_and_how_it_fares(page: AppTest) -> None:
    said = " ".join(markdown.value for markdown in page.markdown)
    assert "The target assumes answers of mean 256, p99 1,220, cap 4,096 tokens" in said
    now = simulate(scenario()).attainment.share
    row = table(page, "Lengths").set_index("Lengths").loc["as it is"]
    assert row["within"] == short_percent(now)
    assert "It assumes output lengths of mean 256, p99 1,220, cap 4,096 tokens." in paragraph(page)


def test_a_heavy_tail_is_warned_of_and_a_light_one_is_not(page: AppTest) -> None:
    assert not page.warning
    assert any("p99/mean of the answers is" in each.value for each in open_operate(preset="mixed-pool").warning)
    app = open_operate(preset="heavy-tail")
    assert any("above the 1,220 that the target assumes" in warning.value for warning in app.warning)


def test_a_target_without_an_assumption_says_so() -> None:
    app = open_operate(preset="mixed-pool")
    assert "The target states no assumption" in " ".join(markdown.value for markdown in app.markdown)
    assert "It states no assumption on output lengths." in paragraph(app)
    assert not app.info


def test_seats_and_watermark_are_told_apart_from_the_token_budget(page: AppTest) -> None:
    said = captions(page)
    assert "**max_num_seqs (requests)** (concurrency: fewer answers grow at once)" in said
    assert "**watermark (share of KV blocks)** (KV headroom" in said
    assert "**token budget (max_num_batched_tokens)** (not memory" in said


def test_the_operating_point_changes_the_margins_and_not_the_cap() -> None:
    app = open_operate(preset="memory-pressure", rate="2")
    before, title = captions(app), headline(app)
    turn(app, "at", "saturated")
    finished(app, is_working)
    seats = [line for line in captions(app).splitlines() if line.startswith("**max_num_seqs")]
    assert seats != [line for line in before.splitlines() if line.startswith("**max_num_seqs")]
    assert headline(app) == title


def cvs(app: AppTest) -> str:
    """Spread of the output lengths in one pool and apart."""
    (said,) = (each.value for each in app.markdown if "CV of output lengths" in each.value)
    return said[said.index("CV of output lengths") :]


def test_types_are_parted_where_there_are_some(page: AppTest) -> None:
    assert "one task type, so there is nothing to part" in captions(page)
    app = open_operate(preset="long-prompts")
    pools = table(app, "Pool")
    assert pools["Pool"].tolist() == ["all types", "chat", "document"]
    assert pools["Replicas"].tolist()[0] == sum(pools["Replicas"].tolist()[1:]) == 4
    title, spreads = headline(app), cvs(app)
    app.select_slider(key="oppools").set_value("8").run()
    finished(app, is_working)
    assert table(app, "Pool")["Replicas"].tolist()[0] == 8
    assert cvs(app) == spreads  # lengths do not depend on how many serve them
    assert headline(app) == title


def test_what_cannot_be_answered_is_said_in_a_sentence() -> None:
    app = open_operate(model="Llama-3.1-405B")
    assert any("GiB is the limit" in error.value for error in app.error)


def test_a_cap_costs_the_users_of_a_closed_loop_as_well() -> None:
    app = open_operate(preset="agents")
    assert headline(app).startswith("A cap of 512 tokens cuts 1")
    assert not app.error


def test_limits_that_are_missing_are_asked_for() -> None:
    app = open_operate(ttft="none", tpot="none")
    assert any("slo is without a limit" in info.value for info in app.info)


@pytest.mark.parametrize("name", ["y2 cut: chat", "azure_2023_code 0.9", "y2 a/b (c)", "y2 2nd"])
def test_a_lines_identity_fits_into_a_selector(name: str) -> None:
    (trace,) = json.loads(json_of(go.Figure([go.Scatter(uid=name)])))["data"]
    assert re.fullmatch(r"[\w-]+( [A-Za-z_-][\w-]*)*", trace["uid"])


def test_different_lines_keep_different_identities() -> None:
    names = ("y2 cut: a/b", "y2 cut: a b", "y2 cut: a_b", "y2 current")
    traces = json.loads(json_of(go.Figure([go.Scatter(uid=name) for name in names])))["data"]
    assert len({trace["uid"] for trace in traces}) == len(names)
    assert traces[-1]["uid"] == names[-1]
