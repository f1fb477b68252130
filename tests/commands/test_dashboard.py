"""`longtail` alone: what Streamlit is told to serve."""

from pathlib import Path

import pytest

from sim.cli import main
from sim.commands import dashboard

ROOT = Path(__file__).resolve().parents[2]


def served(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> list[str]:
    """What Streamlit is told to do."""
    lines: list[list[str]] = []
    monkeypatch.setattr(dashboard.streamlit, "main", lambda line, **_: lines.append(line))
    assert main(arguments) == 0
    return lines[0]


def test_no_command_serves_the_launcher_beside_its_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    line = served(monkeypatch)
    assert line[:2] == ["run", str(ROOT / "app.py")]
    assert (Path(line[1]).parent / ".streamlit" / "config.toml").is_file()


def test_browser_opens_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--server.headless=false" in served(monkeypatch)
    assert "--server.headless=false" not in served(monkeypatch, "--no-browser")


def test_port_and_host_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    line = served(monkeypatch, "--port", "9000", "--host", "0.0.0.0")
    assert {"--server.port=9000", "--server.address=0.0.0.0"} <= set(line)
