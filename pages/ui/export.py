"""What one takes home from a run: a report, tables, command lines, lines of Python."""

from collections.abc import Callable

import pandas as pd
import streamlit as st
from ui.asked import Asked

from sim.cost import band
from sim.errors import ScenarioError
from sim.result import Result
from sim.scenario import Scenario
from sim.simulate import simulate
from sim.studies.load_curve import load_points
from sim.studies.saturated import replayed, saturated
from sim.view.report import report
from sim.view.reproduce import Origin, notebook_lines, of_preset, run_command
from sim.view.run_view import run_view
from sim.view.server_command import server_command
from sim.workload import Trace

REPORT_HELP = (
    "One HTML file with verdict, pictures, tables and how to make the run again; opens without a network and prints to "
    "PDF. Takes a moment: the load curve is in it."
)
OVER_TIME_HELP = "One row a stretch of time: rates, queue, both ledgers."
TYPES = {"html": "text/html", "csv": "text/csv"}


def export(asked: Asked) -> None:
    """Draw the popover."""
    assert asked.scenario is not None
    scenario = saturated(asked.scenario) if asked.is_saturated else asked.scenario
    origin = of_preset(asked.preset_name)
    with st.popover("Export", icon=":material/file_save:", help="Report, tables, command lines."):
        files = (
            ("Report", "html", _report(asked, scenario, origin), REPORT_HELP),
            ("Requests", "csv", table(lambda result: result.requests, scenario, asked.trace), "One row a request."),
            ("Over time", "csv", table(lambda result: result.over_time, scenario, asked.trace), OVER_TIME_HELP),
        )
        with st.container(horizontal=True):
            for label, kind, make, tells in files:
                _download(label, kind, make, asked.preset_name, tells)
        st.caption("The same run, from a shell:")
        st.code(run_command(scenario, origin), language=None, wrap_lines=True)
        st.caption("In a notebook:")
        st.code(notebook_lines(scenario, origin), language=None, wrap_lines=True)
        st.caption("A server configured so:")
        _server(scenario)


def _download(label: str, kind: str, make: Callable[[], bytes], name: str, tells: str) -> None:
    """A button whose file is made when it is pressed."""
    what = label.lower().replace(" ", "_")
    st.download_button(
        f"{label} ({kind.upper()})",
        make,
        f"{name}-{what}.{kind}",
        TYPES[kind],
        key=f"export_{what}",
        on_click="ignore",
        icon=":material/download:",
        help=tells,
    )


def _report(asked: Asked, scenario: Scenario, origin: Origin) -> Callable[[], bytes]:
    return lambda: report(
        run_view(scenario, asked.trace, is_saturated=asked.is_saturated), origin, load_points(scenario, asked.trace)
    ).encode()


def table(which: Callable[[Result], pd.DataFrame], scenario: Scenario, trace: Trace | None) -> Callable[[], bytes]:
    """A table of the run; it travels without its summary, so every row says how far to trust its times."""

    def make() -> bytes:
        table = which(simulate(scenario, replayed(scenario, trace)))
        return str(table.assign(step_time=band(scenario).text).to_csv()).encode()

    return make


def _server(scenario: Scenario) -> None:
    try:
        command = server_command(scenario)
    except ScenarioError as error:
        st.caption(str(error))
        return
    if command.text:
        st.code(command.text, language=None, wrap_lines=True)
    st.caption(" ".join(command.notes))
