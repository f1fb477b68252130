"""`longtail`: open the dashboard."""

import argparse
import errno
import os
import socket
import sys
import threading
import time
import urllib.request
import webbrowser

from streamlit.web import cli as streamlit

from sim.home import app_home
from sim.options import UsageError

HOST = "localhost"
FIRST_PORT, LAST_PORT = 8501, 8599  # Streamlit's own first choice, and how far to look from there
STARTUP_S = 60.0  # a server that has not answered by then will not


def main(arguments: argparse.Namespace) -> int:
    """Serve the dashboard until interrupted."""
    host = arguments.host or HOST
    port = chosen_port(host, arguments.port)
    if not arguments.no_browser and has_screen():
        address = f"http://{HOST if host == '0.0.0.0' else host}:{port}"
        threading.Thread(target=open_when_ready, args=(address,), daemon=True).start()
    streamlit.main(streamlit_arguments(host, port), prog_name="streamlit", standalone_mode=False)
    return 0


def streamlit_arguments(host: str, port: int) -> list[str]:
    """What follows `streamlit` on a command line that does the same.

    Streamlit reads theme and server settings from `.streamlit/config.toml` beside `app.py`, from any folder.
    """
    return ["run", str(app_home() / "app.py"), f"--server.address={host}", f"--server.port={port}"]


def chosen_port(host: str, port: int | None) -> int:
    """The port asked for, or else the first free one."""
    if port is not None:
        if not is_free(host, port):
            raise UsageError(f"port is {port}; another program uses it")
        return port
    for candidate in range(FIRST_PORT, LAST_PORT + 1):
        if is_free(host, candidate):
            return candidate
    raise UsageError(f"every port from {FIRST_PORT} to {LAST_PORT} is in use; give another with --port")


def is_free(host: str, port: int) -> bool:
    """Whether nobody listens there."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        reason = (error.strerror or str(error)).split(" (")[0].lower()
        raise UsageError(f"{host}:{port} cannot be served: {reason}") from error
    return True


def has_screen() -> bool:
    """Whether a browser window could show up; without a screen a text browser might take over the terminal."""
    return sys.platform != "linux" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def open_when_ready(address: str) -> None:
    """Open the browser as soon as the server answers.

    Done here because Streamlit does it only in a mode in which it also advertises on the page.
    """
    deadline = time.monotonic() + STARTUP_S
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            webbrowser.open(address)
            return
