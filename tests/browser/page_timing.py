"""How fast each page comes: prints times measured in headless Chromium, default scenario, on a running server.

Run it on an otherwise idle machine: `python tests/browser/page_timing.py [PAGE ...]`. Each time is from the click on
the navigation, in a tab that has shown Explore before: *first* to the verdict or the first picture or table, whichever
comes first, *all* to the moment from which on nothing more is computed or drawn. Each repeat is a session of its own.
Beside them the processor time that the server and the page in the browser took, which a busy machine changes little.
"""

import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent))
from launch import BROWSERS, FLAGS, start_server

REPEATS = 3
FIRST_S, ALL_S = 1.0, 3.0  # limits
QUIET_MS = 1500  # without work: it was the end
PAGES = ("Presets", "Schedulers", "Length tail", "Predictor", "Batch theatre", "Operate", "Capacity", "Your data",
         "Trust", "Glossary")  # fmt: skip
LOOK_MS = 25
WATCH = """
every_ms => {
  const before = document.querySelector('h1').textContent;
  const seen = window.seen = {clicked: null, first: null, busy: null};
  const main = document.querySelector('[data-testid=stMain]');
  const content = ':is(.main-svg, .theatre canvas, [data-testid=stDataFrame], [data-testid=stImage] img, table)';
  const working = '[data-stale="true"], [data-testid=stProgress], [data-testid=stSpinner], [data-testid=stSkeleton]';
  const computing = /Searching|Computing|being computed|incomplete/;
  const isFresh = element => !element.closest('[data-stale="true"]');
  const title = () => [...main.querySelectorAll('h1')].find(each => isFresh(each) && each.textContent !== before);
  const isFirst = () => title() &&
    (!computing.test(title().textContent) || [...main.querySelectorAll(content)].some(isFresh));
  const isBusy = () => !title() || main.querySelector(working)
    || document.querySelector('[data-testid=stApp]').dataset.testScriptState !== 'notRunning'
    || [...main.querySelectorAll('.live-plot')].some(each => !each.querySelector('.main-svg'))
    || computing.test(main.textContent);
  const look = () => {
    if (seen.first === null && isFirst()) seen.first = performance.now();
    if (isBusy()) seen.busy = performance.now();
  };
  window.addEventListener('click', () => {
    seen.clicked = seen.busy = performance.now();
    setInterval(look, every_ms);
  }, {capture: true, once: true});
}
"""
IS_OVER = f"window.seen.first && performance.now() - window.seen.busy > {QUIET_MS}"


def main(names: list[str]) -> None:
    """Print the times of the pages of these names, or of all."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = next(filter(None, map(shutil.which, BROWSERS)))
        context = playwright.chromium.launch_persistent_context(
            folder, executable_path=browser, headless=True, args=FLAGS, viewport={"width": 1440, "height": 900}
        )
        process, url = start_server(Path(folder) / "server.log")
        try:
            visit(context, url, "Glossary", process.pid)  # kernels are loaded
            print(f"limits: first {FIRST_S:g} s, all {ALL_S:g} s; median of {REPEATS}, slowest in brackets")
            for name in names or PAGES:
                first, every, server, browser_s = zip(
                    *(visit(context, url, name, process.pid) for _ in range(REPEATS)), strict=True
                )
                print(
                    f"{name:14s} {told('first', first, FIRST_S)} {told('all', every, ALL_S)} processor: server "
                    f"{statistics.median(server):5.2f} s, page {statistics.median(browser_s):5.2f} s",
                    flush=True,
                )
        finally:
            process.terminate()
            process.wait(15)
            context.close()


def visit(context: Any, url: str, name: str, server: int) -> tuple[float, float, float, float]:
    """Go from Explore to a page in a new tab.

    Returns
    -------
    tuple of float
        Seconds to its first content and to all of it; processor seconds of the server and of the page's main thread.
    """
    page = context.new_page()
    page.goto(url)
    page.wait_for_function(
        "document.querySelectorAll('.js-plotly-plot .main-svg').length >= 12"
        " && !/incomplete/.test(document.querySelector('.st-key-plot_load').textContent)",
        timeout=240_000,
    )
    page.wait_for_timeout(QUIET_MS)
    page.evaluate(WATCH, LOOK_MS)
    metrics = context.new_cdp_session(page)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = processor_s(server), task_s(metrics)
    page.get_by_role("link", name=name).first.click()
    page.wait_for_function(IS_OVER, polling=50, timeout=240_000)
    seen = page.evaluate("window.seen")
    after = processor_s(server), task_s(metrics)
    page.close()
    first, every = ((seen[each] - seen["clicked"]) / 1e3 for each in ("first", "busy"))
    return first, max(first, every), after[0] - before[0], after[1] - before[1]


def processor_s(pid: int) -> float:
    """Processor time of a process so far, where the system tells (Linux)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def task_s(metrics: Any) -> float:
    """Processor time of a page's tasks so far."""
    found: float = next(
        each["value"] for each in metrics.send("Performance.getMetrics")["metrics"] if each["name"] == "TaskDuration"
    )
    return found


def told(what: str, times: tuple[float, ...], limit_s: float) -> str:
    """Times in words."""
    over = "OVER" if statistics.median(times) > limit_s else ""
    return f"{what} {statistics.median(times):5.2f} s ({max(times):5.2f} s) {over:4s}"


if __name__ == "__main__":
    main(sys.argv[1:])
