"""A report opened from the disk without a network, and printed."""

import re
from pathlib import Path

import pytest

from sim.cli import main
from sim.presets import preset
from sim.scenario import with_values
from sim.simulate import simulate
from sim.view.number_words import short_number, short_time
from tests.view.test_html_report import SECTIONS

SHEET_PX = 794 - 2 * 45  # A4 at 96 pixels an inch, less its margins


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "report.html"
    assert main(["run", "memory-pressure", "--set", "workload.num_requests=400", "--report", str(out)]) == 0
    return out


@pytest.fixture
def opened(context, page, file):
    context.set_offline(True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 7")
    yield page, asked
    context.set_offline(False)


def test_it_opens_offline_and_asks_for_nothing_but_itself(opened, file):
    page, asked = opened
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [file.as_uri()]
    assert page.evaluate("document.querySelector('.js-plotly-plot')._fullData.length") >= 1


def test_its_numbers_are_those_of_the_run(opened):
    page, _ = opened
    figures = simulate(with_values(preset("memory-pressure"), {"workload.num_requests": 400})).summary()["metrics"]
    text = page.inner_text("body")
    assert re.search(rf"Output\s+{re.escape(short_number(figures['output_tokens_per_s']))} tokens/s", text)
    assert re.search(rf"p99 TPOT\s+{re.escape(short_time(figures['tpot_p99_s']))}", text)
    assert re.search(rf"p99 TTFT\s+{re.escape(short_time(figures['ttft_p99_s']))}", text)
    drawn = page.evaluate(
        "document.querySelectorAll('.js-plotly-plot')[1]._fullData.find(t => t.uid == 'marks').customdata"
    )
    assert f"p99 {short_time(figures['tpot_p99_s'])}" in drawn


def test_it_prints_every_section_and_cuts_nothing(opened):
    page, _ = opened
    pdf = page.pdf(prefer_css_page_size=True, outline=True, tagged=True)
    titles = re.findall(rb"/Title \((.*?)\)", pdf)
    assert [title.decode() for title in titles if title.decode() in SECTIONS] == list(SECTIONS)
    page.emulate_media(media="print")
    everything = "[...document.querySelectorAll('figure, table, pre, p, .main-svg')]"
    widest = page.evaluate(f"Math.max(...{everything}.map(e => e.getBoundingClientRect().width))")
    assert widest <= SHEET_PX


def test_no_number_is_parted_from_its_unit(opened):
    """Cells of figures are one line high; only the last column's sentences take several."""
    page, _ = opened
    cells = page.locator("td:not(:nth-child(4))").filter(has_text=re.compile(r"\d"))
    assert cells.count() > 30
    tall = [each.inner_text() for each in cells.all() if lines_of(each) > 1]
    assert tall == []


def lines_of(cell):
    """Lines that a cell's text takes."""
    return cell.evaluate(
        "e => {const r = document.createRange(); r.selectNodeContents(e);"
        " return new Set([...r.getClientRects()].map(each => Math.round(each.top))).size}"
    )
