"""How smoothly the curves follow a knob that is being dragged: prints frames a second in headless Chromium.

Run it on an otherwise idle machine: `python tests/browser/scrub_timing.py`. The pointer goes to and fro over the
positions around the knob for some seconds; a frame counts when the lines of all four charts have moved in it.
"""

import shutil
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent))
from launch import BROWSERS, FLAGS, start_server
from scrub_page import TEXTS, THUMB

KNOB, POSITIONS = "rate", ["5", "6", "8", "10", "12", "15"]
SECONDS, HALF_WIDTH_PX, STEP_PX = 5.0, 8.0, 4.0  # so each move of the pointer comes to another position
WATCH = """
key => {
  const charts = ['throughput', 'latency', 'memory', 'load'];
  const input = document.querySelector(`.st-key-${key} input[type=range]`);
  const shapeOf = name => [...document.querySelectorAll(`.st-key-plot_${name} :is(.js-line, .js-fill, .point)`)]
    .map(path => path.getAttribute('d') + path.getAttribute('transform')).join();
  const seen = window.seen = {ticks: [], moved: 0, texts: new Set(),
    points: Math.max(...charts.flatMap(name => [...document.querySelectorAll(`.st-key-plot_${name} .js-line`)])
      .map(path => (path.getAttribute('d') ?? '').split(/[ML]/).length - 1))};
  let text = null, shapes = charts.map(shapeOf);
  window.tick = time => {
    seen.ticks.push(time);
    const at = input.getAttribute('aria-valuetext');
    seen.texts.add(at);
    if (at !== text) {   // only then is there something to compare
      text = at;
      requestAnimationFrame(() => {
        const now = charts.map(shapeOf);
        if (now.every((shape, i) => shape !== shapes[i])) seen.moved++;
        shapes = now;
      });
    }
    window.ticking = requestAnimationFrame(window.tick);
  };
  window.ticking = requestAnimationFrame(window.tick);
}
"""
RESULT = "() => { cancelAnimationFrame(ticking); return {...seen, texts: [...seen.texts]}; }"


def main() -> None:
    """Print frames a second."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = next(filter(None, map(shutil.which, BROWSERS)))
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=browser, headless=True, args=FLAGS, viewport={"width": 1440, "height": 900}
        )
        process, url = start_server(Path(folder) / "log")
        try:
            page = context.new_page()
            page.goto(f"{url}/?preset=chat")
            measure(page)
        finally:
            process.terminate()
            process.wait(15)
            context.close()


def measure(page: Any) -> None:
    """Drag to and fro and print."""
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 12", timeout=120_000)
    page.wait_for_timeout(4000)
    x, y = page.evaluate(THUMB, KNOB)
    page.mouse.move(x, y)
    while not set(POSITIONS) <= set(page.evaluate(TEXTS)):
        page.wait_for_timeout(200)
    page.mouse.down()
    page.mouse.move(x + 4, y)
    page.wait_for_selector("h1[data-scrub]")
    page.wait_for_timeout(500)
    page.evaluate(WATCH, KNOB)
    began, at, step, pointer_moves = time.perf_counter(), 0.0, STEP_PX, 0
    while time.perf_counter() - began < SECONDS:
        at += step
        if abs(at) >= HALF_WIDTH_PX:
            step = -step
        page.mouse.move(x + at, y)
        pointer_moves += 1
    seen = page.evaluate(RESULT)
    page.mouse.up()
    ticks = seen["ticks"]
    gaps = sorted(later - earlier for earlier, later in pairwise(ticks))
    seconds = (ticks[-1] - ticks[0]) / 1e3
    print(f"dragging {KNOB} over {len(seen['texts'])} positions, four charts, at most {seen['points']} points a line")
    print(f"  frames a second                   {len(gaps) / seconds:6.1f}")
    print(f"  slowest frame but one in a hundred {gaps[int(0.99 * len(gaps))]:5.0f} ms")
    print(f"  moves of all four charts a second {seen['moved'] / seconds:6.1f}")
    print(f"  moves of the pointer a second     {pointer_moves / seconds:6.1f}")


if __name__ == "__main__":
    main()
