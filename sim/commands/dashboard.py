"""`longtail`: open the dashboard."""

import argparse

from streamlit.web import cli as streamlit

from sim.home import app_home


def main(arguments: argparse.Namespace) -> int:
    """Serve the dashboard until interrupted."""
    streamlit.main(streamlit_arguments(arguments), prog_name="streamlit", standalone_mode=False)
    return 0


def streamlit_arguments(arguments: argparse.Namespace) -> list[str]:
    """What follows `streamlit` on a command line that does the same.

    Streamlit reads theme and server settings from `.streamlit/config.toml` beside `app.py`, from any folder.
    """
    line = ["run", str(app_home() / "app.py")]
    if arguments.port is not None:
        line.append(f"--server.port={arguments.port}")
    if arguments.host is not None:
        line.append(f"--server.address={arguments.host}")
    if not arguments.no_browser:
        line += ["--server.headless=false", "--server.showEmailPrompt=false"]
    return line
