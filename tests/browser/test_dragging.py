"""Dragging a knob: curves that were computed ahead, exactly those of a fresh run, without a run of the page."""

import numpy as np
import plotly.graph_objects as go
import pytest
from scrub_page import TEXTS, THUMB

from sim.presets import preset
from sim.scenario import with_values
from sim.view import figures
from sim.view.load_figure import RELEASED
from sim.view.quantity import OUTPUT_RATE
from sim.view.run_view import RunView, run_view
from sim.view.tiles import tiles
from tests.browser.answers import plot

pytestmark = pytest.mark.slow  # waits for studies to end

KNOB, HOME = "outputmean", "256"
DRAWN = """
name => {   // of each line of a chart: its points, back from pixels to numbers
  const host = document.querySelector(`.st-key-plot_${name} .live-plot`), layout = host._fullLayout;
  const number = (axis, pixel) => axis.p2c(pixel);
  return Object.fromEntries(host.calcdata.map(([{trace, node3}]) => {
    const [xaxis, yaxis] = [trace.xaxis, trace.yaxis].map(id => layout[id[0] + 'axis' + id.slice(1)]);
    const below = host._fullData.find(each => each._nexttrace === trace);
    const path = trace.stackgroup
      ? (trace._ownFill ?? below._nextFill).node() : node3.node().querySelector('.js-line');
    const points = (path?.getAttribute('d') ?? '').replace('Z', '').split(/[ML]/).filter(Boolean);
    return [trace.uid, points.map(each => each.split(',').map(Number)).map(([x, y]) => [x, y,
      xaxis._length, yaxis._length, xaxis.p2c(0), xaxis.p2c(xaxis._length), yaxis.p2c(yaxis._length), yaxis.p2c(0),
      xaxis.type === 'log', yaxis.type === 'log'])];
  }));
}
"""
PIXEL = 0.011  # paths are written to a hundredth


def fresh(text: str) -> RunView:
    return run_view(with_values(preset("chat"), {"workload.num_requests": 1000, "workload.types.0.output.mean": text}))


def pixels(values, low, high, length, is_log):
    if is_log:
        values, low, high = np.log10(values), np.log10(low), np.log10(high)
    return (np.asarray(values) - low) / (high - low) * length


def assert_drawn(page, name: str, figure: go.Figure) -> int:
    """Every line of a figure is on the chart, point by point, and no other; returns how many points that were."""
    drawn = page.evaluate(DRAWN, name)
    height: dict[str, np.ndarray] = {}
    count = 0
    for trace in figure.data:
        if "lines" not in trace.mode:
            continue
        points = drawn.pop(trace.uid)
        x, y = np.asarray(trace.x, float), np.asarray(trace.y, float)
        if trace.stackgroup:  # the upper edge, from left to right; the lower one follows
            y = height[trace.stackgroup] = height.get(trace.stackgroup, 0) + y
            points = points[: len(x)]
        assert len(points) == len(x)
        assert len(points) <= 200
        _, _, width, tall, left, right, bottom, top, is_log_x, is_log_y = points[0]
        assert [p[0] for p in points] == pytest.approx(pixels(x, left, right, width, is_log_x), abs=PIXEL)
        assert [p[1] for p in points] == pytest.approx(tall - pixels(y, bottom, top, tall, is_log_y), abs=PIXEL)
        count += len(points)
    assert not any(points for points in drawn.values())
    return count


def texts(page):
    """What the tiles show: written over by a position, or their own."""
    return page.evaluate(
        """[...document.querySelectorAll('[data-testid="stMetricValue"]')]
           .map(e => (e.dataset.scrub ?? e.innerText).replace(/\\s+/g, ' ').trim())"""
    )


def wait_for_position(page, text: str):
    """Until the curves at a position have come."""
    for _ in range(300):
        if text in page.evaluate(TEXTS):
            return
        page.wait_for_timeout(200)
    raise AssertionError(f"the position {text} has not come")


def grab(page, text: str):
    """Point at the slider, wait until a position is there, and drag the thumb to it without letting go."""
    x, y = page.evaluate(THUMB, KNOB)
    page.mouse.move(x, y)
    wait_for_position(page, text)
    page.mouse.down()
    slider = page.locator(f".st-key-{KNOB} input[type=range]").first
    for step in range(1, 60):
        page.mouse.move(x + 0.5 * step, y)
        if slider.get_attribute("aria-valuetext") == text:
            break
    page.wait_for_selector("h1[data-scrub]", timeout=20_000)


@pytest.fixture
def explore(server, page, settled):
    page.goto(f"{server}/?n=1000")
    settled()
    return page


def test_while_dragging_the_lines_are_those_of_a_fresh_run(explore, violations):
    before = explore.url
    grab(explore, "400")
    run = fresh("400")
    assert assert_drawn(explore, "throughput", figures.throughput(run.over_time, OUTPUT_RATE)) > 100
    assert assert_drawn(explore, "memory", figures.memory(run.over_time)) > 400
    assert assert_drawn(explore, "latency", figures.distribution(run.distributions["TPOT"])) > 100
    assert texts(explore) == [f"{tile.value} {tile.unit}".strip() for tile in tiles(run.summary)]
    assert explore.url == before  # no run of the page: the knob has not been let go
    assert violations() == ""
    explore.mouse.up()


CURVE = "y current"
MARKED = """
() => {   // where the diamond of the upper panel stands, as load and ms
  const host = document.querySelector('.st-key-plot_load .live-plot'), {xaxis, yaxis} = host._fullLayout;
  const [calc] = host.calcdata.find(([each]) => each.trace.uid === 'y this run');
  const moved = calc.node3.node().querySelector('.point').getAttribute('transform');
  const [x, y] = moved.match(/-?[\\d.]+/g).map(Number);
  return [10 ** xaxis.p2l(x), 10 ** yaxis.p2l(y)];
}
"""


def test_the_load_chart_marks_the_moving_run_and_says_whose_curve_it_shows(explore):
    data = f"p._fullData.filter(t => t.uid === '{CURVE}').flatMap(t => [Array.from(t.x), Array.from(t.y)])"
    explore.wait_for_function(
        "!document.querySelector('.st-key-plot_load .live-plot').textContent.includes('incomplete')"
    )
    x, y = plot(explore, "load", data)
    grab(explore, "400")
    note = explore.locator(".st-key-plot_load .annotation")
    assert note.text_content().strip() == RELEASED
    assert note.evaluate("e => e.style.opacity") == "1"
    operating = fresh("400").operating
    assert explore.evaluate(MARKED) == pytest.approx([operating.load, 1000 * operating.p99_tpot_s], rel=2e-3)
    points = explore.evaluate(DRAWN, "load")[CURVE]
    _, _, width, tall, left, right, bottom, top, *_ = points[0]
    assert [p[0] for p in points] == pytest.approx(pixels(x, left, right, width, True), abs=PIXEL)
    assert [p[1] for p in points] == pytest.approx(tall - pixels(y, bottom, top, tall, True), abs=PIXEL)
    explore.mouse.up()
    explore.wait_for_url("**outputmean=400*")
    explore.wait_for_selector("h1:not([data-scrub])")
    explore.wait_for_function(f"!document.querySelector('.st-key-plot_load').textContent.includes({RELEASED!r})")


def test_letting_go_draws_the_run_of_the_page_on_axes_of_its_own(explore, settled):
    grab(explore, "400")
    explore.mouse.up()
    explore.wait_for_url("**outputmean=400*")
    explore.wait_for_selector("h1:not([data-scrub])")
    settled()
    run = fresh("400")
    assert assert_drawn_after_letting_go(explore, figures.throughput(run.over_time, OUTPUT_RATE))
    assert texts(explore) == [f"{tile.value} {tile.unit}".strip() for tile in tiles(run.summary)]


def assert_drawn_after_letting_go(page, figure):
    """The numbers are the figure's, and the axis ends with them."""
    page.wait_for_function(
        """y => {
          const host = document.querySelector('.st-key-plot_throughput .live-plot');
          return host._fullLayout.xaxis.autorange === true && host.calcdata[0].length === y.length
            && host.calcdata[0].every((point, i) => Math.abs(point.y - y[i]) <= 1e-6 * Math.abs(y[i]));
        }""",
        arg=[float(y) for y in figure.data[0].y],
        timeout=30_000,
    )
    return True


def test_a_knob_let_go_where_it_was_leaves_the_page_as_it_was(explore):
    before = explore.evaluate(DRAWN, "throughput"), texts(explore)
    grab(explore, "300")
    x, y = explore.evaluate(THUMB, KNOB)
    for step in range(60):
        explore.mouse.move(x - 0.5 * step, y)
        if explore.locator(f".st-key-{KNOB} input[type=range]").first.get_attribute("aria-valuetext") == HOME:
            break
    explore.mouse.up()
    explore.wait_for_selector("h1:not([data-scrub])")
    explore.wait_for_function(
        "document.querySelector('.st-key-plot_throughput .live-plot')._fullLayout.xaxis.autorange === true"
    )
    assert (explore.evaluate(DRAWN, "throughput"), texts(explore)) == before


def test_a_zoom_survives_a_drag(explore, settled):
    host = "document.querySelector('.st-key-plot_throughput .js-plotly-plot')"
    box = explore.locator(".st-key-plot_throughput .nsewdrag").bounding_box()
    explore.mouse.move(box["x"] + 80, box["y"] + 40)
    explore.mouse.down()
    explore.mouse.move(box["x"] + 260, box["y"] + 150, steps=5)
    explore.mouse.up()
    explore.wait_for_function(f"{host}._fullLayout.xaxis.autorange === false")
    span = explore.evaluate(f"{host}._fullLayout.xaxis.range")
    grab(explore, "400")
    assert explore.evaluate(f"{host}._fullLayout.xaxis.range") == span
    explore.mouse.up()
    explore.wait_for_url("**outputmean=400*")
    explore.wait_for_selector("h1:not([data-scrub])")
    settled()
    assert explore.evaluate(f"{host}._fullLayout.xaxis.range") == span


def test_a_key_that_is_held_replays_too(explore):
    slider = explore.locator(f".st-key-{KNOB} input[type=range]").first
    slider.focus()
    wait_for_position(explore, "400")
    explore.evaluate(
        """new MutationObserver(() => { window.said ??= document.querySelector('h1').dataset.scrub; })
           .observe(document.querySelector('h1'), {attributeFilter: ['data-scrub']})"""
    )
    for _ in range(3):
        explore.keyboard.down("ArrowRight")
    explore.wait_for_function("window.said", timeout=20_000)
    explore.keyboard.up("ArrowRight")
