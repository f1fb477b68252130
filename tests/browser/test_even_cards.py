"""Cards side by side end at one height, pictures fill what that leaves, and Explore fits on a first screen uncut."""

from typing import Any

import pytest

pytestmark = pytest.mark.slow

ENDS = """
() => [...document.querySelectorAll('[class*="st-key-even_"] > * > [data-testid="stHorizontalBlock"]'
  + ', [class*="st-key-even_"] > [data-testid="stHorizontalBlock"]')].map(row =>
    [...row.children].map(column => Math.round(
      [...column.querySelectorAll('[class*="st-key-card_"]')].at(-1).getBoundingClientRect().bottom)))
"""
UNFIT = """
() => [...document.querySelectorAll('.live-plot')].filter(
  host => Math.abs(host._fullLayout.height - host.clientHeight) >= 1
    || Math.abs(host._fullLayout.width - host.clientWidth) >= 1).length
"""


@pytest.mark.parametrize("width", [1440, 1920])
@pytest.mark.parametrize(("path", "charts"), [("trust", 2), ("glossary", 1), ("your_data", 0)])
def test_columns_of_cards_end_together_and_charts_fill_their_place(server, page, settled, path, charts, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{server}/{path}")
    settled(charts=charts)
    page.wait_for_function(f"({UNFIT})() === 0", timeout=10_000)
    rows: list[Any] = page.evaluate(ENDS)
    assert rows
    assert all(max(row) - min(row) <= 1 for row in rows), rows


CUT = """
() => [...document.querySelectorAll('[data-testid="stMetric"] *')]
  .filter(each => getComputedStyle(each).overflowX === 'hidden' && each.scrollWidth > each.clientWidth + 1)
  .map(each => each.innerText)
"""


@pytest.mark.parametrize("query", ["n=1000", "sched=static&rate=2&n=1000"])  # the second with the longest labels
def test_explore_fits_on_a_first_screen_and_no_tile_is_cut(server, page, settled, query):
    page.goto(f"{server}/?{query}")
    settled()
    page.wait_for_function("document.querySelector('[data-testid=\"stMain\"]').scrollHeight <= innerHeight")
    assert page.evaluate(CUT) == []
