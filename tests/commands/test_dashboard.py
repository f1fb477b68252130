"""`longtail` alone: what is served, where, and when a browser opens."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from sim.cli import main
from sim.commands import dashboard

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Streamlit is told; it serves nothing. No browser opens."""
    line: list[str] = []
    monkeypatch.setattr(dashboard.streamlit, "main", lambda arguments, **_: line.extend(arguments))
    monkeypatch.setattr(dashboard, "has_screen", lambda: False)
    return line


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("localhost", 0)) as listener:
        yield listener.getsockname()[1]


def test_launcher_is_served_beside_its_theme(served: list[str]) -> None:
    assert main([]) == 0
    assert served[:2] == ["run", str(ROOT / "app.py")]
    assert (Path(served[1]).parent / ".streamlit" / "config.toml").is_file()


def test_only_this_machine_is_served_unless_told_otherwise(served: list[str]) -> None:
    main([])
    assert "--server.address=localhost" in served


def test_port_and_host_reach_the_server(served: list[str], taken: int) -> None:
    free = taken + 1 if taken < 65535 else taken - 1
    assert main(["--port", str(free), "--host", "0.0.0.0"]) == 0
    assert {f"--server.port={free}", "--server.address=0.0.0.0"} <= set(served)


def test_taken_port_is_refused(served: list[str], taken: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--port", str(taken)]) == 2
    assert capsys.readouterr().err == f"longtail: port is {taken}; another program uses it\n"
    assert served == []


def test_taken_port_is_passed_over_when_any_will_do(
    served: list[str], taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard, "FIRST_PORT", taken)
    monkeypatch.setattr(dashboard, "LAST_PORT", taken + 20)
    main([])
    port = int(served[-1].removeprefix("--server.port="))
    assert taken < port <= taken + 20


def test_address_of_another_machine_is_refused(served: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--host", "192.0.2.1"]) == 2  # from the range kept for documentation
    err = capsys.readouterr().err
    assert err.startswith("longtail: 192.0.2.1:8501 cannot be served")
    assert err.count("\n") == 1


def test_browser_opens_only_with_a_screen_and_unless_told_otherwise(
    served: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(dashboard, "open_when_ready", opened.append)
    main([])
    assert opened == []
    monkeypatch.setattr(dashboard, "has_screen", lambda: True)
    main(["--no-browser"])
    assert opened == []
    main(["--host", "0.0.0.0"])
    assert len(opened) == 1
    assert opened[0].startswith("http://localhost:")


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/_stcore/health" else 404)
        self.end_headers()


def test_browser_waits_for_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(dashboard.webbrowser, "open", opened.append)
    with HTTPServer(("localhost", 0), Healthy) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        address = f"http://localhost:{server.server_port}"
        dashboard.open_when_ready(address)
    assert opened == [address]


def test_no_browser_opens_on_a_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(dashboard.webbrowser, "open", opened.append)
    monkeypatch.setattr(dashboard, "STARTUP_S", 0.1)
    dashboard.open_when_ready("http://localhost:1")
    assert opened == []
