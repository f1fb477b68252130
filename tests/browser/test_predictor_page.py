"""Predictor in a real browser: answers read off the page, progressive, live and accessible."""

import contextlib
import re

import pytest
from playwright.sync_api import Error as PlaywrightError

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.predictor.error_map import TWICE
from sim.studies.predictor.uses import Use, own_error, run, with_error
from sim.studies.saturated import saturated
from tests.browser.answers import press, verdict
from tests.browser.rest import wait_for_results

pytestmark = pytest.mark.slow  # waits for studies to end

CHARTS = 4
COMPUTING = "being computed"


@pytest.mark.parametrize("name", ["heavy-tail", "reasoning"])
def test_which_direction_hurts_more_and_by_how_much_can_be_read_off(server, page, name):
    page.goto(f"{server}/predictor?preset={name}&n=500&at=saturated")
    wait_for_results(page, COMPUTING, CHARTS)
    told = verdict(page)
    scenario = saturated(with_values(preset(name), {"workload.num_requests": 500}))
    rates = {
        bias: run(with_error(scenario, Use.RESERVE, bias, own_error(scenario)[1])).output_tokens_per_s
        for bias in (-TWICE, 0.0, TWICE)
    }
    over, under = (rates[bias] / rates[0.0] - 1 for bias in (TWICE, -TWICE))
    worse, better = ("Over", "under") if over < under else ("Under", "over")
    hurts = f"hurts, {better}-prediction helps:" if max(over, under) > 0.01 else "hurts more:"
    assert min(over, under) < -0.01
    assert told.startswith(f"{worse}-prediction {hurts}")
    shown = re.search(r"twice too long, (?:throughput|it) is ([\d.]+) % (lower|higher)", told)
    assert shown is not None, told
    assert float(shown[1]) == pytest.approx(100 * abs(over), abs=0.51)
    assert (shown[2] == "lower") == (over < 0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(server, page, violations, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/predictor?preset=memory-pressure&n=300&at=saturated")
    wait_for_results(page, COMPUTING, CHARTS)
    assert violations() == ""


def test_a_knob_moves_the_map_and_leaves_published_figures(server, page):
    page.goto(f"{server}/predictor?preset=memory-pressure&n=300&at=saturated")
    wait_for_results(page, COMPUTING, CHARTS)
    plot = "document.querySelector('.st-key-plot_error_map .js-plotly-plot')._fullData"
    heat = f"JSON.stringify(Array.from({plot}[0].z, row => Array.from(row)))"
    page.wait_for_function(f"{plot}[2]?.text?.length === 8")
    before, marks = page.evaluate(heat), page.evaluate(f"JSON.stringify({plot}[2].y)")
    press(page, "mem", "End")
    page.wait_for_url("**mem=*")
    page.wait_for_function(f"before => {heat} !== before", arg=before)
    wait_for_results(page, COMPUTING, CHARTS)
    page.wait_for_function(
        f"marks => {plot}[2]?.text?.length === 8 && JSON.stringify({plot}[2].y) === marks", arg=marks
    )
    assert page.get_by_test_id("stException").count() == 0


def test_long_work_shows_progress_and_can_be_stopped(server, page, settled):
    told = page.get_by_text("Stopped after").first
    for seed in (9, 10, 11):  # the work may end of itself while the button is being reached for
        page.goto(f"{server}/predictor?preset=reasoning&seed={seed}&at=saturated")
        stop = page.locator(".st-key-stop_capacities").get_by_role("button", name="Stop")  # of what is done last
        stop.wait_for(timeout=120_000)
        assert page.get_by_test_id("stHeader").get_by_role("button", name="Stop").count() == 0  # Streamlit's own
        with contextlib.suppress(PlaywrightError):  # gone
            stop.click(timeout=5_000)
        settled(charts=CHARTS)
        if told.count():
            break
    told.wait_for(timeout=30_000)
    assert page.get_by_test_id("stException").count() == 0
