"""A page as a script: opened at a link, its knobs turned, its jobs waited for."""

import time
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

MAIN = str(Path(__file__).resolve().parents[1] / "pages" / "_main.py")
QUICK = "300"  # requests: these tests are about the page
PATIENCE_S = 240  # kernels may have to be compiled


def open_page(**query: str) -> AppTest:
    """The dashboard at a link."""
    app = AppTest.from_file(MAIN, default_timeout=120)
    for key, text in {"n": QUICK, **query}.items():
        app.query_params[key] = text
    app.run()
    assert not app.exception
    return app


def headline(app: AppTest) -> str:
    """The verdict."""
    text: str = app.title[0].value
    return text


def turn(app: AppTest, key: str, text: str) -> None:
    """Move the knob of that key, whichever widget it is."""
    for kind in ("select_slider", "selectbox", "button_group", "toggle"):
        for widget in app.get(kind):
            if widget.key in (key, f"{key}_named"):
                widget.set_value(text == "true" if kind == "toggle" else text).run()
                assert not app.exception
                return
    raise AssertionError(f"no widget has the key {key}")


def finished(app: AppTest, is_working: Callable[[AppTest], object]) -> AppTest:
    """The page once its jobs are done."""
    deadline = time.monotonic() + PATIENCE_S
    while is_working(app):
        assert time.monotonic() < deadline
        time.sleep(0.1)
        app.run()
    assert not app.exception
    return app
