"""Explore in a real browser: links, live charts, files, accessibility."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from sim.keys import pack, to_query
from sim.presets import preset
from sim.scenario import load_scenario, with_values
from tests.browser.answers import knob_text, plot, press, tile

QUICK = "n=1000"  # short runs: these tests are about the page


def test_deep_link_restores_everything_as_the_first_request(new_server, page, settled):
    pin = pack(to_query(with_values(preset("reasoning"), {"workload.num_requests": 1000}), "reasoning"))
    page.goto(f"{new_server}/?preset=memory-pressure&rate=2.5&seqs=48&at=saturated&p1={pin}&{QUICK}")
    settled()
    assert page.get_by_text("What happens when answers grow").count() == 1
    assert knob_text(page, "rate") == "2.5"
    assert knob_text(page, "seqs") == "48"
    assert page.get_by_role("radio", name="saturated").is_checked()
    assert "pinned" in plot(page, "throughput", "p._fullData.map(t => t.name)")
    assert all(
        part in page.url for part in ("preset=memory-pressure", "rate=2.5", "seqs=48", "at=saturated", f"p1={pin}")
    )


def test_deep_link_to_another_page_is_framed_as_the_first_request(new_server, page, settled):
    page.goto(f"{new_server}/glossary?rate=5")
    settled(charts=0)
    assert page.get_by_role("heading", name="Time per token").count() == 1
    assert knob_text(page, "rate") == "5"
    assert page.get_by_test_id("stException").count() == 0


def test_zoom_and_hidden_traces_survive_a_knob(server, page, settled):
    page.goto(f"{server}/?{QUICK}")
    settled()
    box = page.locator(".st-key-plot_throughput .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 150, steps=5)
    page.mouse.up()
    page.wait_for_function(
        "document.querySelector('.st-key-plot_throughput .js-plotly-plot')._fullLayout.xaxis.autorange === false"
    )
    page.locator(".st-key-plot_memory .legendtoggle").first.click()
    hidden = "p._fullData.filter(t => t.visible === 'legendonly').map(t => t.name)"
    page.wait_for_function(
        "document.querySelector('.st-key-plot_memory .js-plotly-plot')._fullData.some(t => t.visible === 'legendonly')"
    )
    span, names = plot(page, "throughput", "p._fullLayout.xaxis.range"), plot(page, "memory", hidden)
    value = tile(page, "Output")
    press(page, "rate", "ArrowRight")
    page.wait_for_url("**rate=10*")
    settled()
    page.wait_for_function(
        "v => !document.querySelector('[data-testid=stMetricValue]').innerText.startsWith(v)", arg=value
    )
    assert plot(page, "throughput", "p._fullLayout.xaxis.range") == span
    assert plot(page, "memory", hidden) == names
    assert page.get_by_test_id("stException").count() == 0


def test_pin_draws_a_grey_dashed_baseline_that_a_reload_keeps(server, page, settled):
    page.goto(f"{server}/?{QUICK}")
    settled()
    page.get_by_role("button", name="Pin as baseline").click()
    page.wait_for_url("**p1=*")
    press(page, "rate", "ArrowLeft")
    page.wait_for_url("**rate=6*")
    settled()
    page.reload()
    settled()
    lines = plot(page, "throughput", "p._fullData.map(t => [t.name, t.line.color, t.line.dash])")
    assert ["pinned", "#8C8C8C", "dash"] in lines
    assert page.get_by_role("button", name="Unpin").count() == 1


def test_four_pins_have_four_dashes_and_names_and_a_reload_keeps_them(server, page, settled):
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": "1000", "rate": str(2 * i)}) for i in (1, 2, 3, 4)}
    page.goto(f"{server}/?{urlencode(pins)}&base=p3&{QUICK}")
    settled()
    for chart in ("throughput", "latency"):
        lines = plot(
            page, chart, "p._fullData.filter(t => t.line && t.line.color === '#8C8C8C').map(t => [t.name, t.line.dash])"
        )
        assert [name for name, _ in lines] == ["pin 1", "pin 2", "pin 3", "pin 4"]
        assert len({dash for _, dash in lines}) == 4
    assert "against pin 3" in page.get_by_role("heading", level=1).inner_text()
    page.get_by_role("button", name="Pinned: 4").click()
    page.get_by_role("button", name="Compare with it").first.click()
    page.wait_for_url("**base=p1*")
    settled()
    assert "against pin 1" in page.get_by_role("heading", level=1).inner_text()


def test_four_long_labels_of_pins_take_one_line_and_are_told_whole_at_the_pointer(server, page, settled):
    far = {"outputcv": "2", "outputmean": "512", "seqs": "64", "gpu": "H200"}
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": "1000", **far, "rate": str(2 * i)}) for i in (1, 2, 3, 4)}
    page.goto(f"{server}/?{urlencode(pins)}&{QUICK}")
    settled()
    shown = page.locator(".st-key-pin_legend span")
    assert shown.count() == 4
    boxes = [each.bounding_box() for each in shown.all()]
    assert len({box["y"] for box in boxes}) == 1
    assert boxes[-1]["x"] + boxes[-1]["width"] <= 1440
    assert "output spread 2" in shown.first.get_attribute("title")
    main = page.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollHeight") <= main.evaluate("e => e.clientHeight")  # all four charts in sight


def test_knobs_survive_a_visit_to_another_page_and_back(server, page, settled):
    page.goto(f"{server}/?rate=5&{QUICK}")
    settled()
    page.get_by_role("link", name="Glossary").first.click()
    page.wait_for_url("**/glossary*")
    settled(charts=0)
    assert page.get_by_role("heading", name="Time per token").count() == 1
    page.go_back()
    settled()
    assert "rate=5" in page.url
    assert knob_text(page, "rate") == "5"


def test_every_page_is_in_the_navigation_at_the_smallest_size(server, page, settled):
    page.goto(f"{server}/glossary")
    settled(charts=1)
    names = page.evaluate("[...document.querySelectorAll('[data-testid=stTopNavLink]')].map(e => e.innerText)")
    assert len(names) >= 10
    assert page.get_by_test_id("stTopNavSection").count() == 0  # "3 more"


def test_share_link_names_the_version_and_stays_short(server, page, settled):
    page.goto(f"{server}/?preset=reasoning&{QUICK}")
    settled()
    page.get_by_role("button", name="Share", exact=True).click()
    link = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").inner_text().strip()
    query = parse_qs(urlsplit(link).query)
    assert query == {"v": ["1"], "preset": ["reasoning"], "n": ["1000"]}
    assert len(link) < 2000


def test_download_holds_the_scenario_on_screen(server, page, settled, tmp_path):
    page.goto(f"{server}/?preset=reasoning&rate=3&{QUICK}")
    settled()
    page.get_by_text("Preset file", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download", exact=True).click()
    file = tmp_path / "mine.json"
    download.value.save_as(file)
    edits = {"workload.arrivals.rate_rps": 3, "workload.num_requests": 1000}
    assert load_scenario(file) == with_values(preset("reasoning"), edits)


def test_load_curve_fills_in_and_says_so_while_incomplete(server, page, settled):
    page.goto(f"{server}/?seed=7&{QUICK}")
    settled()
    page.wait_for_function(
        "!document.querySelector('.st-key-plot_load .js-plotly-plot').textContent.includes('incomplete')",
        timeout=60_000,
    )
    names = plot(page, "load", "p._fullData.map(t => [t.name, t.x.length])")
    assert ["current", 10] in names
    assert ["this run", 1] in names


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/?preset=memory-pressure&n=1000", "/glossary"])
def test_axe_finds_no_violation(server, page, settled, violations, scheme, path):
    page.emulate_media(color_scheme=scheme)
    page.goto(server + path)
    settled(charts=4 if path.startswith("/?") else 0)
    assert violations() == ""


def test_the_frontier_follows_the_memory_and_not_the_rate(server, page, settled):
    def points():
        page.wait_for_function(
            "n => document.querySelector('.st-key-plot_frontier .js-plotly-plot')?._fullData"
            ".some(t => t.name === 'current' && t.x.length === n)",
            arg=11,
            timeout=60_000,
        )
        return plot(page, "frontier", "Array.from(p._fullData.find(t => t.name === 'current').y)")

    pin = pack({"v": "1", "preset": "memory-pressure", "n": "1000", "kvdtype": "fp8"})
    page.goto(f"{server}/?preset=memory-pressure&p1={pin}&{QUICK}")
    settled()
    page.get_by_role("radio", name="per user and per GPU").click()
    before = points()
    assert plot(page, "frontier", "p._fullData.find(t => t.name === 'pinned').line.dash") == "dash"
    assert plot(page, "frontier", "p._fullData.find(t => t.name === 'current').customdata[0]").startswith(
        "max_num_seqs 1<br>"
    )
    press(page, "rate", "ArrowRight")
    page.wait_for_url("**rate=*")
    settled()
    assert points() == before
    press(page, "mem", "ArrowRight")
    page.wait_for_url("**mem=*")
    settled()
    page.wait_for_function(
        "y => document.querySelector('.st-key-plot_frontier .js-plotly-plot')._fullData"
        ".find(t => t.name === 'current').y[10] !== y",
        arg=before[10],
    )
    assert points()[0] == before[0]  # one seat has room enough either way


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["Export", "Pinned: 2"])
def test_axe_finds_no_violation_in_what_opens(server, page, settled, violations, scheme, name):
    pins = {f"p{i}": pack({"v": "1", "preset": "chat", "n": "1000", "rate": str(2 * i)}) for i in (1, 2)}
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/?{urlencode(pins)}&{QUICK}")
    settled()
    page.get_by_role("button", name=name, exact=True).click()
    page.get_by_test_id("stPopoverBody").wait_for()
    page.mouse.move(5, 5)
    settled()
    assert violations() == ""


@pytest.mark.parametrize("order", [[1, 2], [2, 1]])
def test_the_last_picture_stays_whichever_call_comes_last(server, page, settled, order):
    """Streamlit cleans an overtaken call up at once, and a browser may make the two calls in either order."""
    page.goto(f"{server}/glossary")
    settled(charts=0)
    drawn = page.evaluate(
        """async order => {
          const {mount} = await import('/assets/js/live_plot.js');
          const parentElement = document.body.appendChild(document.createElement('div'));
          parentElement.innerHTML = '<div class="live-plot" style="height: 200px"></div>';
          const host = parentElement.firstChild;
          const spec = given => JSON.stringify({data: [{y: [given, 10 * given]}], layout: {height: 200}});
          const call = given =>
            ({parentElement, data: {spec: spec(given), alt: '', plotly: '/assets/plotly.min.js', given}});
          const cleanUps = new Map(order.map(given => [given, mount(call(given))]));
          cleanUps.get(1)();
          for (let i = 0; i < 200 && !host.data; i++) await new Promise(wake => setTimeout(wake, 50));
          const y = host.data?.[0].y;
          parentElement.remove();
          cleanUps.get(2)();
          return [y, host.data];
        }""",
        order,
    )
    assert drawn == [[2, 20], None]


def test_the_report_of_the_run_on_screen_can_be_downloaded(server, page, settled, tmp_path):
    page.goto(f"{server}/?seqs=48&{QUICK}")
    settled()
    output = tile(page, "Output")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report (HTML)").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    text = file.read_text(encoding="utf-8")
    assert f"<td>{output.split()[0]} tokens/s</td>" in text
    assert "longtail run chat --set workload.num_requests=1000 --set scheduler.max_num_seqs=48" in text
    assert download.value.suggested_filename == "chat-report.html"


def test_back_undoes_a_knob_and_forward_moves_it_again(server, page, settled):
    page.goto(f"{server}/?{QUICK}")
    settled()
    first = tile(page, "Output")
    press(page, "rate", "ArrowRight")
    page.wait_for_url("**rate=10*")
    settled()
    page.wait_for_function("!document.querySelector('[data-stale=\"true\"]') && history.length > 2")
    page.go_back()
    page.wait_for_function(
        "v => document.querySelector('[data-testid=stMetricValue]').innerText === v", arg=first, timeout=60_000
    )
    assert "rate" not in page.url
    stands_at = "text => document.querySelector('.st-key-rate input[type=range]').ariaValueText === text"
    page.wait_for_function(stands_at, arg="8", timeout=60_000)
    page.go_forward()
    page.wait_for_function(stands_at, arg="10", timeout=60_000)
    page.wait_for_function(
        "v => document.querySelector('[data-testid=stMetricValue]').innerText !== v", arg=first, timeout=60_000
    )


@pytest.mark.parametrize(("size", "columns"), [((1440, 900), 2), ((1280, 720), 2), ((720, 450), 1)])
def test_tiles_and_cards_are_whole_on_a_projector_and_at_twice_the_zoom(server, page, settled, size, columns):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server}/?{QUICK}")
    settled()
    lines = page.evaluate(
        "[...document.querySelectorAll('[data-testid=stMetricValue]')].map(e => "
        "Math.round(e.offsetHeight / parseFloat(getComputedStyle(e).lineHeight)))"
    )
    assert lines == [1] * 8
    edges = page.evaluate(
        "[...document.querySelectorAll('[data-testid=stMain] .live-plot')].map(e => e.getBoundingClientRect())"
        ".map(e => [e.left, e.right])"
    )
    assert len({round(left) for left, _ in edges}) == columns
    assert max(right for _, right in edges) <= size[0]
    if columns == 2:
        assert page.get_by_role("link", name="Glossary").first.is_visible()
