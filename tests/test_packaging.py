"""What a wheel carries, and that it opens the dashboard where there is no checkout."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import sim
from sim import home

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("longtail-*.whl"))


def test_wheel_carries_the_dashboard_below_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    dashboard = [ROOT / "app.py", ROOT / ".streamlit" / "config.toml"]
    dashboard += [*ROOT.glob("pages/**/*.py"), *ROOT.glob("pages/**/*.js"), *ROOT.glob("presets/*.json")]
    assert {f"sim/dashboard/{path.relative_to(ROOT).as_posix()}" for path in dashboard} <= names


def test_wheel_carries_every_source_and_table_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = [path for kind in ("py", "csv") for path in ROOT.glob(f"sim/**/*.{kind}")]
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= names


def test_wheel_puts_nothing_beside_the_package(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"sim"}


def test_wheel_has_the_console_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    entry_points = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert "longtail = sim.cli:main" in archive.read(entry_points).decode()


def test_wheel_has_the_version_of_the_package(wheel: Path) -> None:
    assert wheel.name.startswith(f"longtail-{sim.__version__}-")


def test_home_is_the_checkout_in_a_checkout() -> None:
    assert home.app_home() == ROOT


def test_home_is_the_carried_copy_in_an_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("presets", "pages"):
        (tmp_path / "sim" / "dashboard" / folder).mkdir(parents=True)
        (tmp_path / folder).mkdir()  # an unlucky neighbour in site-packages
    monkeypatch.setattr(home, "PACKAGE", tmp_path / "sim")
    assert home.app_home() == tmp_path / "sim" / "dashboard"


def test_home_is_refused_where_there_is_no_dashboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home, "PACKAGE", tmp_path / "sim")
    with pytest.raises(FileNotFoundError, match="install longtail again"):
        home.app_home()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `longtail` command of an environment that holds the wheel and what it needs, nothing else."""
    environment = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    subprocess.run([str(environment / "bin" / "pip"), "install", "--quiet", str(wheel)], check=True)
    return environment / "bin" / "longtail"


def foreign_environment() -> dict[str, str]:
    """The environment without what points Python at this checkout."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


@pytest.fixture
def url(installed: Path, tmp_path: Path) -> Iterator[str]:
    """The dashboard of the installed wheel, served from the root folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(installed), "--no-browser", f"--port={port}", "--host=127.0.0.1"]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, cwd="/", env=foreign_environment(), stdout=log, stderr=log)
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(30)


def wait_until_healthy(address: str, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1)
            return
        except OSError:
            assert server.poll() is None, "the server ended"
            time.sleep(0.5)
    pytest.fail("the server does not answer")


@pytest.mark.slow
def test_installed_wheel_simulates_a_preset_from_the_root_folder(installed: Path) -> None:
    command = [str(installed), "run", "azure-chat", "--set", "workload.num_requests=50", "--json", "-"]
    command += ["--set", 'workload.arrivals={"kind": "poisson", "rate_rps": 2}']
    done = subprocess.run(command, cwd="/", env=foreign_environment(), check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["requests"]["finished"] == 50


@pytest.mark.slow
def test_installed_wheel_opens_the_page_from_the_root_folder(url: str, tmp_path: Path) -> None:
    api = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium")
    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync"]
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, headless=True, args=flags)
        page = browser.new_page()
        page.goto(url)
        page.wait_for_selector('[data-testid="stMetricValue"]', timeout=300_000)
        page.wait_for_selector(".js-plotly-plot .main-svg", timeout=60_000)
        assert page.title().startswith(("Explore", "Longtail"))
        assert page.get_by_test_id("stException").count() == 0
        browser.close()
