"""A server and a browser for the whole session; tests are skipped where there is none, except in CI."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.browser.launch import BROWSERS, FLAGS, start_server
from tests.browser.rest import wait_until_drawn

AXE = "axe-core@4.14.1"  # MPL-2.0, not ours to carry: fetched when the test runs
OWN = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "file:")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


def missing(what: str) -> None:
    """Skip for want of something; in CI that is a failure."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


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


@pytest.fixture
def settled(page: Any) -> Callable[..., None]:
    """Waits until the script has run and that many charts, and all else, are drawn."""
    return partial(wait_until_drawn, page)


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
