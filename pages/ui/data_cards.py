"""The cards of Your data: what to do with a trace, with a benchmark, with a server's metrics."""

import pandas as pd
import streamlit as st
from ui.asked import Asked
from ui.card import card, side_by_side
from ui.files import replay, use
from ui.fit_job import FIT, fit_job, wait_for
from ui.live_plot import live_plot

from sim.benchmarks import Benchmark, Scrape
from sim.cost.calibration import Calibration
from sim.cost.measured_point import scenario_at
from sim.scenario import Scenario
from sim.studies.length_profile import profile_of, real_profiles
from sim.view import data_figures, length_figures
from sim.view.length_tail import likeness
from sim.view.number_words import counted
from sim.view.run_view import RunView
from sim.view.server_now import beside, beside_rows
from sim.view.your_data import (
    FEWEST_POINTS,
    KINDS,
    coefficient_rows,
    fit_sentence,
    fit_warnings,
    measured_points,
    point_rows,
    scrape_lengths,
    scrape_words,
    trace_lengths,
    trace_outputs,
    with_cache_of,
    with_calibration,
    with_lengths,
)
from sim.workload import Trace

ROW_HEIGHT_PX = 28


def welcome() -> None:
    """What can be brought, and what comes of it, while nothing is there."""
    for column, kind in zip(side_by_side("kinds", [1] * len(KINDS)), KINDS, strict=True):
        with column, card(f"kind_{kind.title.partition(' ')[0].lower()}", kind.title):
            st.markdown(kind.gives)
            st.caption(kind.formats)
            st.caption("The least that is needed:")
            st.code(kind.example, language=None, wrap_lines=True)


def trace(found: Trace, asked: Asked) -> None:
    """Offer a trace as the workload, beside its lengths."""
    left, right = side_by_side("trace", (3, 2))
    made = trace_outputs(found)
    words = likeness(profile_of("this trace", found.output_len), real_profiles())
    with (
        left,
        card(
            "trace_lengths", "Output lengths beside real data sets", {"tail": "tail", "share": "distribution"}
        ) as which,
    ):
        figure = length_figures.lengths(made, "tail" if which == "tail" else "share", name="this trace")
        live_plot(figure, "plot_trace_lengths", f"Output lengths on a logarithmic axis: {words}")
        st.caption(words)
    with right, card("trace", "Use this trace"):
        st.caption("Replay sends these requests when they came. Lengths alone arrive as the knobs under Traffic say.")
        with st.container(horizontal=True):
            st.button("Replay it", key="data_replay", on_click=replay, args=(found,))
            if asked.scenario is not None and asked.scenario.workload.trace_file is None:
                _use_button(
                    "Use its lengths", "data_lengths", with_lengths(asked.scenario, *trace_lengths(found)), asked
                )


def benchmark(found: Benchmark, asked: Asked) -> None:
    """Fit the step time to a benchmark and show how well that goes."""
    points, left_out = measured_points(found)
    for sentence in left_out:
        st.caption(sentence)
    if asked.scenario is None:
        return
    if len(points) < FEWEST_POINTS:
        st.info(f"{counted(len(points), 'usable run')}; at least {FEWEST_POINTS} are needed to fit a step time.")
    else:
        _fit(found, asked)
    if points:
        with card("load_of_point", "Put the scenario under one of its loads"):
            loads = {f"{i}. {each.load}, {each.prompt_tokens:.0f} + {each.output_tokens:.0f} tokens": each
                     for i, each in enumerate(points, 1)}  # fmt: skip
            chosen = st.selectbox("Run of the benchmark", list(loads), key="data_point", persist_state="session")
            _use_button("Use this load", "data_load", scenario_at(asked.scenario, loads[chosen]), asked)


def _fit(found: Benchmark, asked: Asked) -> None:
    assert asked.scenario is not None
    deployment = asked.scenario.deployment
    st.caption(
        f"Fitted on the deployment of the sidebar: {deployment.model} on {deployment.named_gpus}. "
        "Set it to what was measured."
    )
    job = fit_job(asked.scenario, found)
    if job.problem:
        st.error(job.problem)
    elif FIT in job.found:
        _fitted(job.found[FIT], asked)
    else:
        wait_for(job)


def _fitted(found: Calibration, asked: Asked) -> None:
    assert asked.scenario is not None
    left, right = side_by_side("fit", (1, 1))
    with left, card("fit", "Fitted step time"):
        st.markdown(fit_sentence(found))
        for sentence in fit_warnings(found):
            st.warning(sentence, icon=":material/warning:")
        st.dataframe(pd.DataFrame(coefficient_rows(found)), hide_index=True, key="table_coefficients",
                     row_height=ROW_HEIGHT_PX)  # fmt: skip
        with st.container(horizontal=True):
            calibrated = with_calibration(asked.scenario, found)
            _use_button("Use this step time", "data_cost", calibrated, asked)
            st.download_button(
                "Download", calibrated.cost.model_dump_json(indent=2).encode() + b"\n", "cost.json",
                "application/json", key="cost_download", on_click="ignore", icon=":material/download:",
                help="Coefficients with their error, for a scenario's `cost`.",
            )  # fmt: skip
    with left, card("points", "Every point, and how far the simulation is off"):
        st.dataframe(pd.DataFrame(point_rows(found)), hide_index=True, key="table_points", row_height=ROW_HEIGHT_PX)
    with right, card("parity", "Measured and simulated", {"tpot": "TPOT", "ttft": "TTFT"}) as which:
        figure = data_figures.fit_parity(found, "ttft" if which == "ttft" else "tpot")
        live_plot(figure, "plot_fit", f"{which.upper()} of {len(found.points)} points. {fit_sentence(found)}")


def server(found: Scrape, asked: Asked, current: RunView | None) -> None:
    """A server's metrics beside the present simulation; its lengths as a workload."""
    if current is not None:
        rows = beside(found, current)
        left, right = side_by_side("server", (4, 3))
        with left, card("server_now", "My server now, beside the simulation"):
            live_plot(data_figures.server_now(rows), "plot_server", _in_words(beside_rows(rows)))
        with right, card("server_table", "The same in numbers"):
            st.dataframe(pd.DataFrame(beside_rows(rows)), hide_index=True, key="table_server",
                         row_height=ROW_HEIGHT_PX)  # fmt: skip
            st.caption(
                "Server: counts at this moment, latencies since its start. Simulation: median over time with the 5th "
                f"to the 95th percentile; latencies by the step time's error ({current.cost_band.text})."
            )
    if asked.scenario is None:
        return
    with card("server_use", "Use what it says"):
        st.caption("; ".join(scrape_words(found)) or "It says nothing about lengths or cache.")
        with st.container(horizontal=True):
            if found.prompt or found.output:
                lengths = with_lengths(asked.scenario, *scrape_lengths(found))
                _use_button("Use its lengths", "data_lengths", lengths, asked)
            if found.num_gpu_blocks is not None:
                _use_button("Use its KV blocks", "data_blocks", with_cache_of(asked.scenario, found), asked)


def _in_words(table: dict[str, list[str]]) -> str:
    rows = zip(table[""], table["Server"], table["Simulation"], strict=True)
    return "; ".join(f"{name}: server {server}, simulation {simulation}" for name, server, simulation in rows) + "."


def _use_button(label: str, key: str, scenario: Scenario, asked: Asked) -> None:
    """A button that moves the knobs to a scenario."""
    is_in_use = scenario == asked.scenario
    st.button(
        "In use" if is_in_use else label, key=key, on_click=use, args=(scenario, asked.preset_name),
        disabled=is_in_use, help="Sets the scenario of every page; the link carries it.",
    )  # fmt: skip
