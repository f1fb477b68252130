"""How fast the page follows a knob: prints times measured in headless Chromium.

Run it on an otherwise idle machine: `python tests/browser/timing.py`. Each repaint is from the key that moves the
slider to the moment when the tiles and the run's three curves have all been drawn anew.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent))
from launch import BROWSERS, FLAGS, start_server

ROOT = Path(__file__).resolve().parents[2]
REPEATS = 20
CASES = {  # address and knob; every step of the knob is a scenario not seen before
    "mean output, 10,000 requests, pinned baseline": ("?preset=chat&outputmean=25", "outputmean"),
    "mean output, prefix caching, pinned baseline": ("?preset=shared-prefix&outputmean=25", "outputmean"),
}
WATCH = """
() => {
  const charts = ['throughput', 'latency', 'memory'];
  window.painted = {};
  const note = name => { window.painted[name] = performance.now(); };
  for (const name of charts) {
    const plot = document.querySelector(`.st-key-plot_${name} .js-plotly-plot`);
    plot.removeAllListeners('plotly_afterplot');
    plot.on('plotly_afterplot', () => { if (!('staged' in plot.dataset)) note(name); });   // the page's own figure
  }
  window.watcher?.disconnect();
  window.watcher = new MutationObserver(() => note('tiles'));
  for (const tile of document.querySelectorAll('[data-testid="stMetricValue"]'))
    window.watcher.observe(tile, {subtree: true, childList: true, characterData: true});
  window.addEventListener('keydown', () => { window.released = performance.now(); }, {capture: true, once: true});
}
"""
ALL_PAINTED = "() => ['throughput', 'latency', 'memory', 'tiles'].every(n => n in window.painted)"
INCOMPLETE = "document.querySelector('.st-key-plot_load .js-plotly-plot').textContent.includes('incomplete')"
POINTS = (
    "document.querySelector('.st-key-plot_load .js-plotly-plot')._fullData.find(t => t.name === 'current').x.length"
)


def main() -> None:
    """Print all times."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = next(filter(None, map(shutil.which, BROWSERS)))
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=browser, headless=True, args=FLAGS, viewport={"width": 1440, "height": 900}
        )
        page = context.new_page()
        print("very first start, nothing compiled")
        with first_picture(page, Path(folder) / "cold.log", NUMBA_CACHE_DIR=folder):
            pass
        compile_the_rest(folder)
        print("start with compiled kernels")
        with first_picture(page, Path(folder) / "warm.log", NUMBA_CACHE_DIR=folder) as url:
            for name, (address, knob) in CASES.items():
                measure(page, url + "/" + address, knob, name)
        context.close()


@contextmanager
def first_picture(page: Any, log: Path, **environment: str) -> Iterator[str]:
    """Start a server, open it, print how long both take; yields its address."""
    began = time.perf_counter()
    process, url = start_server(log, **environment)
    print(f"  server answers                    {time.perf_counter() - began:6.2f} s")
    page.goto(url)
    page.wait_for_selector('[data-testid="stSpinner"], [data-testid="stMetric"]', timeout=120_000)
    spinner = page.get_by_test_id("stSpinner")
    said = spinner.first.inner_text().strip() if spinner.count() else "nothing"
    wait_for_charts(page)
    print(f"  first picture, all four charts    {time.perf_counter() - began:6.2f} s; meanwhile the page said: {said}")
    try:
        yield url
    finally:
        process.terminate()
        process.wait(15)


def compile_the_rest(folder: str) -> None:
    """What a first start goes on with after its first picture."""
    command = "from sim.systems.warm_up import warm_up_all; warm_up_all()"
    subprocess.run([sys.executable, "-c", command], check=True, cwd=ROOT, env=os.environ | {"NUMBA_CACHE_DIR": folder})


def wait_for_charts(page: Any) -> None:
    """Until all four charts are drawn."""
    page.wait_for_function("document.querySelectorAll('.js-plotly-plot .main-svg').length >= 12", timeout=120_000)


def measure(page: Any, address: str, knob: str, name: str) -> None:
    """Move one knob again and again; print repaint times and how long the load curve takes."""
    page.goto(address)
    wait_for_charts(page)
    page.get_by_role("button", name="Pin as baseline").click()
    page.get_by_role("button", name="Unpin").wait_for()
    page.wait_for_timeout(3000)
    slider = page.locator(f".st-key-{knob} input[type=range]").first
    repaints, curves = [], []
    for _ in range(REPEATS):
        slider.focus()
        page.evaluate(WATCH)
        slider.press("ArrowRight")
        page.wait_for_function(ALL_PAINTED, polling=10, timeout=30_000)
        repaints.append(page.evaluate("Math.max(...Object.values(window.painted)) - window.released") / 1e3)
        page.wait_for_function(f"!{INCOMPLETE} && {POINTS} > 0", polling=20, timeout=30_000)
        curves.append(page.evaluate("performance.now() - window.released") / 1e3)
        page.wait_for_timeout(300)
    print(name)
    for what, times in (("tiles and three curves", repaints), ("load curve complete", curves)):
        print(f"  {what:32s}  median {statistics.median(times):5.2f} s, slowest {max(times):5.2f} s, n = {len(times)}")


if __name__ == "__main__":
    main()
