"""Your data and Trust in a real browser: charts, a fit from a dropped file, accessibility."""

from pathlib import Path

import pytest

from tests.browser.answers import plot, press, verdict

DATA = Path(__file__).resolve().parents[1] / "data"


def drop(page, file):
    page.set_input_files(".st-key-data_upload input[type=file]", str(file))
    page.wait_for_selector('[data-testid="stDataFrame"]', timeout=120_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_trust_draws_its_charts_and_is_accessible(server, page, settled, violations, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/trust?n=1000")
    settled(charts=2)
    assert "targets are met" in page.get_by_role("heading", level=1).inner_text()
    assert violations() == ""


def test_a_switch_moves_the_parity_plot_and_leaves_verdict_and_table(server, page, settled):
    page.goto(f"{server}/trust?n=1000")
    settled(charts=2)
    table = "[...document.querySelectorAll('.st-key-card_compared td')].map(cell => cell.textContent)"
    first, rows, axis = verdict(page), page.evaluate(table), plot(page, "parity", "p._fullLayout.xaxis.title.text")
    assert len(rows) > 20
    page.get_by_role("radio", name="server TPOT").click()
    chart = "document.querySelector('.st-key-plot_parity .js-plotly-plot')"
    page.wait_for_function(f"before => {chart}._fullLayout.xaxis.title.text !== before", arg=axis)
    settled(charts=2)
    assert (verdict(page), page.evaluate(table)) == (first, rows)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("file", ["benchmarks/points.csv", "scrapes/vllm.prom"])
def test_a_dropped_file_draws_its_chart_and_is_accessible(server, page, settled, violations, scheme, file):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/your_data?n=1000")
    settled(charts=0)
    drop(page, DATA / file)
    settled(charts=1)
    assert page.get_by_test_id("stException").count() == 0
    assert violations() == ""


def test_a_fit_travels_to_explore_in_the_link(server, page, settled):
    page.goto(f"{server}/your_data?n=1000")
    settled(charts=0)
    drop(page, DATA / "benchmarks" / "points.csv")
    page.get_by_role("button", name="Use this step time").click()
    page.wait_for_url("**x=*")
    page.get_by_role("link", name="Explore").first.click()
    settled()
    page.reload()
    settled()
    assert page.get_by_text("calibrated on 4 measured points").count() >= 1


def test_a_knob_moves_the_simulation_and_leaves_the_server(server, page, settled):
    page.goto(f"{server}/your_data?n=1000")
    settled(charts=0)
    drop(page, DATA / "scrapes" / "vllm.prom")
    settled(charts=1)
    cells = "[...document.querySelectorAll('[data-testid=stDataFrame] td')].map(cell => cell.textContent)"
    page.wait_for_function(f"{cells}.length > 0")  # the grid writes its table for screen readers after its canvas
    before = page.evaluate(cells)
    press(page, "rate", "End")
    page.wait_for_url("**rate=*")
    page.wait_for_function(f"before => JSON.stringify({cells}) !== JSON.stringify(before)", arg=before)
    settled(charts=1)
    after = page.evaluate(cells)
    names, server_now, simulated = slice(0, None, 4), slice(1, None, 4), slice(2, None, 4)
    assert (after[names], after[server_now]) == (before[names], before[server_now])
    assert all(one != other for one, other in zip(before[simulated], after[simulated], strict=True))
