"""Launcher of the dashboard: `streamlit run app.py`, or the `longtail` command.

Not a page: a launcher starts the warm-up of the kernels while the server already answers, and serves what the pages
ask for besides themselves: plotly.js, the scripts of pages/js and the feeds of jobs.
"""

import gc
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import plotly
import streamlit as st
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

PAGES = Path(__file__).parent / "pages"
SCRIPTS = {path.name: path for path in (PAGES / "js").glob("*.js")}
PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
A_DAY = {"Cache-Control": "public, max-age=86400"}
SWITCH_S = 0.0005  # a page gives the interpreter away with each of its 200 messages, and waits to get it back
ASK_AGAIN = {"Cache-Control": "no-cache"}  # the scripts fit the pages of the same version only


async def plotly_js(request: Request) -> FileResponse:
    """The copy of plotly.js that came with Plotly: no request leaves the host."""
    return FileResponse(PLOTLY_JS, media_type="text/javascript", headers=A_DAY)


async def script(request: Request) -> Response:
    """One of our own scripts."""
    path = SCRIPTS.get(request.path_params["name"])
    if path is None:
        return Response(status_code=404)
    return FileResponse(path, media_type="text/javascript", headers=ASK_AGAIN)


async def feed(request: Request) -> Response:
    """What a job has found."""
    from ui.feed import serve  # the pages' folder is on the path from the server's start on

    return await serve(request)


def warm_up() -> None:
    """Load what pages need; imported here so that the server need not wait for it."""
    from sim.systems.warm_up import FIRST, LOOPS, compile_beside, load
    from sim.view import figures, load_figure, run_view  # noqa: F401

    compile_beside([loop for loop in LOOPS if loop != FIRST])
    for loop in LOOPS:
        load(loop)
        set_apart()


def set_apart() -> None:
    """Exempt what has been loaded from garbage collection.

    Looking through what Numba, Plotly and pandas have loaded takes 0.2 s, in which no thread of any session runs.
    """
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def warm(app: st.App) -> AsyncIterator[dict[str, Any]]:
    """Compile the kernels, or read them from the cache, while the server starts."""
    sys.setswitchinterval(SWITCH_S)
    threading.Thread(target=warm_up, name="kernel-warm-up", daemon=True).start()
    yield {}


app = st.App(
    PAGES / "_main.py",
    lifespan=warm,
    routes=[
        Route("/assets/plotly.min.js", plotly_js),
        Route("/assets/js/{name}", script),
        Route("/feed/{token}", feed),
    ],
)
