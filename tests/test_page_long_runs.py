"""Runs that are too long for the page: progress, stop, and then the same numbers."""

import time

from streamlit.testing.v1 import AppTest
from test_pages import open_page
from ui import run_job

from sim.presets import preset
from sim.scenario import with_values
from sim.view.run_view import run_view

LONG = 60_000


def finished(app: AppTest) -> AppTest:
    for _ in range(300):
        if app.metric:
            return app
        time.sleep(0.1)
        app.run(timeout=60)
    raise AssertionError("the run does not end")


def test_a_long_run_is_made_beside_the_page_and_shows_the_same_numbers() -> None:
    app = open_page(n=str(LONG), seed="11")
    assert not app.exception
    asked = with_values(preset("chat"), {"workload.num_requests": LONG, "seed": 11})
    expected = run_view(asked).summary["metrics"]["output_tokens_per_s"]
    assert finished(app).metric[0].value.startswith(f"{expected:,.0f}")


def test_a_long_run_can_be_stopped_and_run_again(monkeypatch) -> None:
    made = run_job.runs.make

    def slowly(run, progress):
        for step in range(100):
            progress(step / 100)
            time.sleep(0.05)
        return made(run)

    monkeypatch.setattr(run_job.runs, "make", slowly)
    app = open_page(n=str(LONG), seed="12")
    app.button(key="run_stop").click().run(timeout=60)
    for _ in range(50):
        if app.info:
            break
        time.sleep(0.1)
        app.run(timeout=60)
    assert "stopped" in app.info[0].value
    monkeypatch.setattr(run_job.runs, "make", made)
    app.button(key="run_again").click().run(timeout=60)
    assert finished(app).metric
