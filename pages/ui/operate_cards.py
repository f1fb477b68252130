"""The cards of Operate: cap, margins, routing by type."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from ui import typed
from ui.grouped import ROW_PX, narrow_table
from ui.job import Job
from ui.operate_jobs import CapKey, Parted, caps_job, margin_job, routing_job
from ui.watch import JobFeed, watch

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.caps import CapPoint
from sim.studies.margins import MarginPoint, margins_of, present_value
from sim.view import operate as words
from sim.view import operate_figures as figures
from sim.view import routing_words
from sim.view.quantity import OUTPUT_RATE, SATURATED_RATE
from sim.view.steps import powers_of_two
from sim.workload import Trace


def chosen_cap() -> int:
    """The cap that the page speaks of."""
    text = typed.one_of(
        st,
        "select_slider",
        "Output cap (max_tokens)",
        powers_of_two(32, 16_384),
        value="512",
        key="opcap",
        help="Cuts longer answers of every type. Lower: more answers a second, more of them cut; with clients who ask "
        "again the server may end up with more work than before.",
    )
    return int(text)


def caps(scenario: Scenario, trace: Trace | None, cap: int, points: dict[CapKey, CapPoint]) -> None:
    """What a cap gives and takes, with three kinds of clients."""
    job = caps_job(scenario, trace)
    if job.problem:
        st.error(job.problem)
        return

    def picture() -> tuple[go.Figure, str]:
        is_complete = job.is_complete  # before the points are read: none may come between
        shown = list((points | dict(job.found)).values())
        return figures.caps(shown, cap, is_complete=is_complete), figures.in_words(shown)

    JobFeed(job, picture).draw("plot_caps")
    for sentence in words.cap_sentences(cap, points):
        st.caption(sentence)
    if scenario.workload.client_timeout_s is not None:
        st.caption("At full load nobody gives up here: there it would be told of the queue, and not of the cap.")
    if len(scenario.workload.types) > 1:
        by_type = pd.DataFrame(words.type_table(cap, points))
        st.dataframe(by_type, hide_index=True, row_height=ROW_PX, key="table_cap_types")
    watch(job, "caps", "stop_caps")


def margins(scenario: Scenario, trace: Trace | None, *, is_saturated: bool) -> None:
    """max_num_seqs and watermark, and the token budget beside them."""
    try:
        job = margin_job(scenario, trace, is_saturated)
        controls = margins_of(scenario)
        present = {key: present_value(scenario, each) for key, each in controls.items()}
    except ScenarioError as error:
        st.error(str(error))
        return
    rate = SATURATED_RATE if is_saturated else OUTPUT_RATE
    title = f"{rate.label.lower()}<br>({rate.unit})"

    def points() -> dict[str, list[MarginPoint]]:
        found = sorted(dict(job.found).items())
        return {key: [point for (name, _), point in found if name == key and point is not None] for key in controls}

    def sentences() -> list[str]:
        there = points()
        return [text for key in controls if (text := words.margin_sentence(controls[key], there[key], present[key]))]

    def picture() -> tuple[go.Figure, str]:
        is_complete = job.is_complete
        figure = figures.margins(controls, points(), present, title, is_complete=is_complete)
        return figure, " ".join(sentences()).replace("**", "") or "Margins, being computed."

    JobFeed(job, picture).draw("plot_margins")
    watch(job, "runs", "stop_margins")
    for sentence in sentences() if job.is_done else ():
        st.caption(sentence)
    st.caption(
        "Dots: the present value. max_num_seqs and watermark are two ways to keep memory back for answers whose length "
        "nobody knows. A larger max_num_seqs and a larger budget also take memory from the KV cache, for sampling and "
        "activations."
    )


def by_type(scenario: Scenario) -> None:
    """The same replicas as one pool, or some for each type."""
    if len(scenario.workload.types) < 2:
        st.caption(
            "This scenario has one task type, so there is nothing to part. Choose a preset with a mix, such as "
            "mixed-pool or long-prompts."
        )
        return
    replicas = int(
        typed.one_of(
            st,
            "select_slider",
            "Replicas in all",
            tuple(str(count) for count in range(len(scenario.workload.types), 13)),
            value=str(max(4, len(scenario.workload.types))),
            key="oppools",
            help="The whole load is as many times the scenario's rate. More replicas can be dealt more finely.",
        )
    )
    job: Job[str, Parted] = routing_job(scenario, replicas)
    if job.problem:
        st.info(job.problem)
    elif parted := job.found.get("parted"):
        st.markdown(routing_words.routing_sentence(*parted))
        narrow_table(routing_words.routing_table(*parted), "table_pools")
        st.caption(
            f"First all types in one pool, then the best of {len(parted[1])} ways to deal {replicas} replicas to them. "
            "requests/s: of each replica. within: share of requests within all limits."
        )
    watch(job, "studies", "stop_pools")
