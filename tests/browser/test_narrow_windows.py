"""Narrow projectors, and windows half as wide: what stands side by side does not run into each other."""

from urllib.parse import urlencode

import pytest

from sim.keys import pack
from tests.browser.rest import wait_for_results, wait_until_drawn

TITLES = """() => {
  const host = document.querySelector('.st-key-plot_margins .js-plotly-plot');
  const {left, right} = host.getBoundingClientRect();
  const titles = [...host.querySelectorAll('[class^="x"][class$="title"]')].map(each => each.getBoundingClientRect());
  titles.sort((a, b) => a.left - b.left);
  return [left, ...titles.flatMap(each => [each.left, each.right]), right];
}"""


def test_titles_of_operates_margins_stand_apart(server, page):
    page.set_viewport_size({"width": 720, "height": 900})
    page.goto(f"{server}/operate?preset=chat&n=1000")
    page.wait_for_selector(".st-key-plot_margins .js-plotly-plot .xtitle")
    wait_until_drawn(page, 2)
    edges = page.evaluate(TITLES)
    assert len(edges) == 8  # of three titles and the chart
    assert edges == sorted(edges)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_names_of_pinned_runs_stand_clear_of_the_limit(server, page, settled, count):
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": "900", "rate": str(2 * i)}) for i in range(1, count + 1)}
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{server}/?{urlencode(pins)}&n=1000")
    settled()
    chart = page.locator(".st-key-plot_latency .js-plotly-plot")
    names = chart.locator(".legend .legendlines path, .legend .legendtext").all()
    limit = chart.locator(".annotation", has_text="SLO").bounding_box()
    assert len(names) >= 2 * (count + 1)
    for box in (each.bounding_box() for each in names):
        assert box["x"] > limit["x"] + limit["width"] or box["y"] > limit["y"] + limit["height"]


def test_tables_of_figures_are_seen_whole_on_a_narrow_projector(server, page):
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{server}/operate?preset=mixed-pool&n=1000")
    wait_for_results(page, "omputing")
    tables = page.locator(":is(.st-key-card_sla, .st-key-card_types, .st-key-card_cap) .dvn-scroller")
    assert tables.count() == 3
    assert all(each.evaluate("e => e.scrollWidth <= e.clientWidth") for each in tables.all())
