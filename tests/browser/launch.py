"""How the dashboard and a browser are started, by the tests and by the scripts that measure."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


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
