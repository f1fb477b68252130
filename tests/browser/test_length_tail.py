"""Length tail in a real browser: answers read off the page, progressive, live and accessible."""

import re

import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.simulate import simulate
from tests.browser.answers import press, verdict
from tests.browser.rest import wait_for_results

pytestmark = pytest.mark.slow  # waits for studies to end

CHARTS = 6
COMPUTING = "being computed"


@pytest.mark.parametrize("name", ["long-prompts", "closed-loop"])
def test_how_much_the_longest_hold_can_be_read_off(server, page, settled, name):
    page.goto(f"{server}/length_tail?preset={name}&n=1500")
    settled(charts=CHARTS)
    told = re.search(r"longest 5 % of answers hold ([\d.]+) % of KV block-time, ([\d.]+) % of what", verdict(page))
    ledger = simulate(with_values(preset(name), {"workload.num_requests": 1500})).ledger.memory_block_s()
    held, every = ledger["held_straggler"], sum(ledger.values())
    assert float(told[1]) == pytest.approx(100 * held / every, rel=0.06, abs=0.06)
    assert float(told[2]) == pytest.approx(100 * held / (held + ledger["held_typical"]), abs=0.51)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(server, page, violations, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/length_tail?preset=memory-pressure&n=1000")
    wait_for_results(page, COMPUTING, CHARTS)
    assert violations() == ""


def test_a_knob_moves_lengths_and_leaves_the_real_data_sets(server, page):
    page.goto(f"{server}/length_tail?preset=memory-pressure&n=1000")
    wait_for_results(page, COMPUTING, CHARTS)
    lines = (
        "(n => document.querySelector('.st-key-plot_lengths .js-plotly-plot')._fullData"
        ".filter(t => (t.name === 'this scenario') === n).map(t => Array.from(t.x)))"
    )
    own, real = page.evaluate(f"{lines}(true)"), page.evaluate(f"{lines}(false)")
    told = verdict(page)
    press(page, "outputcv", "End")
    page.wait_for_url("**outputcv=*")
    page.wait_for_function("t => document.querySelector('h1').innerText !== t", arg=told)
    wait_for_results(page, COMPUTING, CHARTS)
    assert page.evaluate(f"{lines}(true)") != own
    assert page.evaluate(f"{lines}(false)") == real
    assert page.get_by_test_id("stException").count() == 0


def test_long_work_shows_progress_and_can_be_stopped(server, page, settled):
    page.goto(f"{server}/length_tail?preset=agents&n=10000&seed=9")
    page.get_by_test_id("stMain").get_by_role("button", name="Stop").first.click(timeout=120_000)
    page.get_by_text("Stopped after").first.wait_for(timeout=120_000)
    settled(charts=CHARTS)
    assert page.get_by_test_id("stException").count() == 0
