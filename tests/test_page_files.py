"""Files in and out of the pages: traces to replay, presets to keep."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sim.presets import preset, preset_names
from sim.scenario import with_values
from sim.simulate import simulate
from sim.view.run_view import run_view
from sim.workload import read_trace
from tests.page_script import MAIN, open_page, turn
from tests.shared import SHARED, needs_shared

ROWS = "arrival_s,prompt_tokens,output_tokens\n" + "".join(f"{0.3 * i},{200 + i},{20 + 7 * i}\n" for i in range(120))
AZURE = SHARED / "data" / "traces" / "AzureLLMInferenceTrace_conv.first_2_3.csv"
OF_THE_RUN = ("requests", "tokens", "metrics", "slo", "memory_ledger", "time_ledger", "counters")


def upload(app: AppTest, key: str, name: str, content: bytes, button: str) -> None:
    """Upload a file and press the button that takes it."""
    app.file_uploader(key=key).set_value((name, content, "text/plain")).run()
    assert not app.exception
    app.button(key=button).click().run()
    assert not app.exception


def shown(app: AppTest) -> dict[str, Any]:
    """Numbers of the run on the page."""
    asked = app.session_state.asked
    assert asked.scenario is not None, asked.refusal
    summary = run_view(asked.scenario, asked.trace, is_saturated=asked.is_saturated).summary
    return {group: summary[group] for group in OF_THE_RUN}


def test_an_uploaded_trace_gives_the_numbers_of_the_command_line() -> None:
    app = open_page()
    upload(app, "trace_upload", "small.csv", ROWS.encode(), "replay")
    summary = simulate(preset("chat"), read_trace(ROWS.encode(), "small.csv")).summary()
    assert shown(app) == {group: summary[group] for group in OF_THE_RUN}
    assert app.session_state.asked.scenario.workload.trace_file.rows == 120


@needs_shared
def test_the_azure_hour_gives_the_numbers_of_the_command_line() -> None:
    app = AppTest.from_file(MAIN, default_timeout=120)
    app.query_params["preset"] = "azure-chat"
    app.run()
    upload(app, "trace_upload", AZURE.name, AZURE.read_bytes(), "replay")
    summary = simulate(preset("azure-chat"), read_trace(AZURE)).summary()
    assert shown(app) == {group: summary[group] for group in OF_THE_RUN}


def test_the_speed_knob_replays_the_same_requests_faster() -> None:
    app = open_page()
    upload(app, "trace_upload", "small.csv", ROWS.encode(), "replay")
    before = shown(app)
    turn(app, "speed", "2")
    after = shown(app)
    assert after["metrics"]["duration_s"] < before["metrics"]["duration_s"]
    assert after["tokens"]["output"] == before["tokens"]["output"]


def test_a_trace_may_arrive_as_the_knobs_say() -> None:
    app = open_page()
    upload(app, "trace_upload", "small.csv", ROWS.encode(), "replay")
    before = shown(app)
    turn(app, "arr", "poisson")
    after = shown(app)
    assert after["metrics"]["duration_s"] != before["metrics"]["duration_s"]
    assert after["tokens"]["output"] == before["tokens"]["output"]


def test_going_back_to_the_preset_forgets_the_trace() -> None:
    app = open_page()
    upload(app, "trace_upload", "small.csv", ROWS.encode(), "replay")
    app.button(key="no_replay").click().run()
    assert app.session_state.asked.scenario == with_values(preset("chat"), {"workload.num_requests": 300})


def test_a_bad_line_of_a_trace_is_named() -> None:
    app = open_page()
    app.file_uploader(key="trace_upload").set_value(("bad.csv", (ROWS + "1,two,3\n").encode(), "text/csv")).run()
    assert not app.exception
    assert len(app.error) == 1
    assert "122" in app.error[0].value


def test_a_trace_above_the_limit_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    from ui import files

    monkeypatch.setattr(files, "LARGEST_UPLOAD_MB", 1e-3)
    monkeypatch.setattr(files, "read_trace", None)  # reading it would fail
    app = open_page()
    app.file_uploader(key="trace_upload").set_value(("large.csv", ROWS.encode(), "text/csv")).run()
    assert not app.exception
    assert "large.csv has" in app.error[0].value


@pytest.mark.parametrize("name", preset_names())
def test_an_uploaded_preset_is_taken_as_it_is(name: str) -> None:
    scenario = preset(name)
    app = open_page()
    upload(app, "preset_upload", "mine.json", scenario.model_dump_json().encode(), "preset_use")
    assert app.session_state.asked.scenario == scenario


def test_an_uploaded_preset_with_fields_that_have_no_knob_is_taken_as_it_is() -> None:
    edits = {
        "workload.types": [
            {"name": "short", "share": 3, "prompt": {"kind": "constant", "tokens": 64}},
            {"name": "long", "output": {"kind": "quantiles", "points": [[0, 10], [0.5, 100], [1, 4000]]}},
        ],
        "replications": 7,
        "max_sim_time_s": 500.0,
        "slo.assumed": {"mean": 200, "p99": 1500},
    }
    scenario = with_values(preset("chat"), edits)
    app = open_page()
    upload(app, "preset_upload", "mine.json", scenario.model_dump_json().encode(), "preset_use")
    assert app.session_state.asked.scenario == scenario
    turn(app, "rate", "3")
    assert app.session_state.asked.scenario == with_values(scenario, {"workload.arrivals.rate_rps": 3})


def test_a_broken_preset_file_is_refused_in_one_sentence() -> None:
    app = open_page()
    app.file_uploader(key="preset_upload").set_value(("mine.json", b'{"version": 1, "sed": 3}', "text/plain")).run()
    assert [error.value for error in app.error] == ["sed is not a known field; closest are seed, scheduler, slo"]
