"""What Explore exports: command lines that follow the knobs, files made from the run on screen."""

import io
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from sim.presets import preset
from sim.scenario import with_values
from sim.simulate import simulate
from sim.view.reproduce import notebook_lines, of_preset, run_command
from sim.view.server_command import server_command
from tests.page_script import QUICK, open_page, turn


def codes(app: AppTest) -> list[str]:
    """The lines that can be copied from the page."""
    return [code.value for code in app.get("code")]


def shown(app: AppTest) -> None:
    scenario = app.session_state.asked.scenario
    origin = of_preset("chat")
    assert {
        run_command(scenario, origin), notebook_lines(scenario, origin), server_command(scenario).text
    } <= set(codes(app))  # fmt: skip


def test_command_lines_follow_a_knob() -> None:
    app = open_page()
    shown(app)
    before = codes(app)
    turn(app, "seqs", "64")
    shown(app)
    after = codes(app)
    assert any("--max-num-seqs 64" in line for line in after)
    assert not any("--max-num-seqs" in line for line in before)


def test_a_target_changes_the_run_and_not_the_server() -> None:
    app = open_page()
    before = set(codes(app))
    turn(app, "ttft", "500")
    assert server_command(app.session_state.asked.scenario).text in before
    assert any("slo.ttft_ms=500" in line for line in set(codes(app)) - before)


def test_saturated_is_a_departure_too() -> None:
    app = open_page(at="saturated")
    assert any('workload.arrivals={"kind":"all_at_once"}' in line for line in codes(app))


def test_the_lines_give_the_rate_on_the_tile_of_a_saturated_run() -> None:
    app = open_page(preset="memory-pressure", n="300", at="saturated")
    lines = next(each.value for each in app.get("code") if "simulate" in each.value)
    names: dict[str, Any] = {}
    exec(lines, names)
    rate = names["result"].summary()["metrics"]["plateau_tokens_per_s"]
    assert rate > 1.05 * names["result"].summary()["metrics"]["output_tokens_per_s"]
    assert app.metric[0].value.startswith(f"{rate:,.0f}")


def test_static_batching_says_why_there_is_no_server() -> None:
    app = open_page(sched="static", seqs="16")
    assert not any(line.startswith("vllm serve") for line in codes(app))
    assert any("No server in use starts as static" in caption.value for caption in app.caption)


@pytest.mark.parametrize("label", ["report", "requests", "over_time"])
def test_three_files_are_offered(label: str) -> None:
    app = open_page()
    assert f"export_{label}" in {button.key for button in app.get("download_button")}


def test_the_table_of_requests_is_that_of_the_run() -> None:
    from ui.export import table

    scenario = with_values(preset("chat"), {"workload.num_requests": int(QUICK)})
    found = pd.read_csv(io.BytesIO(table(lambda result: result.requests, scenario, None)()))
    expected = simulate(scenario).requests
    assert found["e2e_s"].to_numpy() == pytest.approx(expected["e2e_s"].to_numpy(), rel=1e-12)
    assert set(found["step_time"]) == {simulate(scenario).summary()["step_time"]["text"]}
