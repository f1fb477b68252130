"""A server and a browser for the whole session; tests are skipped where there is none, except in CI."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
AXE = "axe-core@4.14.1"  # MPL-2.0, not ours to carry: fetched when the test runs
SVGS_OF_A_CHART = 3
CHARTS = 4
OWN = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def missing(what: str) -> None:
    """Skip for want of something; in CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


def start_server(log: Path, **environment: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start the dashboard on a free port; returns it with its address as soon as it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    options = [f"--server.port={port}", "--server.address=127.0.0.1"]
    with log.open("w") as out:
        process = subprocess.Popen([*command, *options], cwd=ROOT, stdout=out, stderr=out, env=os.environ | environment)
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        assert process.poll() is None, f"the server died: {log.read_text()}"
        try:
            urllib.request.urlopen(url + "/_stcore/health", timeout=1)
        except OSError:
            time.sleep(0.05)
        else:
            return process, url
    raise AssertionError(f"the server does not answer: {log.read_text()}")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    process, url = start_server(tmp_path_factory.mktemp("server") / "log")
    yield url
    process.terminate()
    process.wait(15)


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[str]:
    """A server that nobody has asked anything yet."""
    process, url = start_server(tmp_path / "log")
    yield url
    process.terminate()
    process.wait(15)


@pytest.fixture(scope="session")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        missing("no Chromium on this machine")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")),
            executable_path=browser,
            headless=True,
            args=FLAGS,
            viewport={"width": 1440, "height": 900},
            reduced_motion="reduce",
            locale="en-US",
            timezone_id="UTC",
        )
        yield context
        context.close()


@pytest.fixture
def page(context: Any) -> Iterator[Any]:
    """A tab of its own; whatever the test does in it, no request leaves the host and nothing of ours goes wrong."""
    page, outside, wrong = context.new_page(), [], []
    page.on("request", lambda request: request.url.startswith(OWN) or outside.append(request.url))
    page.on("websocket", lambda socket: socket.url.startswith(OWN) or outside.append(socket.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: is_ours(message) and wrong.append(f"{message.text} ({message.location['url']})"))
    yield page
    page.close()
    assert outside == [], "requests left the host"
    assert wrong == [], "errors in the console"


def is_ours(message: Any) -> bool:
    """Whether a message of the console is an error, other than Streamlit's search for its server below the page."""
    return message.type == "error" and "/_stcore/" not in message.location["url"]


# Elements fade in, and our style sheet (ui/style.py) takes hold, a moment after the script has ended.
FADED_IN = """
() => !document.getAnimations().some(a => a instanceof CSSTransition && a.playState === 'running')
  && [...document.querySelectorAll('[data-testid="stCaptionContainer"] p')]
    .every(e => getComputedStyle(e).opacity === '0.82')
"""


@pytest.fixture
def settled(page: Any) -> Callable[..., None]:
    """Waits until the script has run, nothing on the page is stale and all charts are drawn."""

    def wait(charts: int = CHARTS) -> None:
        page.wait_for_selector("h1", timeout=120_000)  # before the first run the script does not run either
        page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=120_000)
        page.wait_for_function(
            "n => document.querySelectorAll('.js-plotly-plot .main-svg').length >= n"
            " && !document.querySelector('[data-stale=\"true\"]')",
            arg=charts * SVGS_OF_A_CHART,
            timeout=120_000,
        )
        page.wait_for_function(FADED_IN, timeout=120_000)

    return wait


@pytest.fixture(scope="session")
def axe_script(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Path of axe-core's script."""
    npm = shutil.which("npm")
    if npm is None:
        missing("npm is needed to fetch axe-core")
    folder = tmp_path_factory.mktemp("axe")
    packed = subprocess.run([npm, "pack", AXE, "--silent"], cwd=folder, capture_output=True, text=True, check=False)
    if packed.returncode:
        missing(f"axe-core cannot be fetched: {packed.stderr.strip()[-200:]}")
    shutil.unpack_archive(folder / packed.stdout.split()[-1], folder, "gztar")
    return str(folder / "package" / "axe.min.js")


@pytest.fixture
def violations(page: Any, axe_script: str) -> Callable[[], str]:
    """Lists what axe finds on the page as it stands; empty where it finds nothing."""

    def find() -> str:
        page.add_script_tag(path=axe_script)
        found = page.evaluate("tags => axe.run(document, {runOnly: tags})", WCAG)["violations"]
        return "\n".join(f"{each['id']}: {node['html'][:160]}" for each in found for node in each["nodes"][:3])

    return find
