"""The cards of Operate: cap, service level, margins, routing by type."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from ui import typed
from ui.grouped import grouped
from ui.job import Job
from ui.operate_jobs import BREAKING, TAIL, CapKey, Parted, caps_job, margin_job, routing_job, sla_job
from ui.watch import JobFeed, watch

from sim.errors import ScenarioError
from sim.scenario import Scenario
from sim.studies.caps import CapPoint
from sim.studies.margins import MarginPoint, margins_of, present_value
from sim.studies.sla import AS_IS, ASSUMED, Attained, Breaking
from sim.view import operate as words
from sim.view import operate_figures as figures
from sim.view.quantity import OUTPUT_RATE, SATURATED_RATE
from sim.view.steps import powers_of_two
from sim.workload import Trace

ROW_PX, NAME_PX, FIGURE_PX, WIDER_PX = 27, 104, 56, 76
LONG_NAME = 6  # characters of a heading that needs more room
TARGETS = ("90", "95", "99")
FACTORS = ("1.5", "2", "3", "5")


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
    if len(scenario.workload.types) > 1:
        by_type = pd.DataFrame(words.type_table(cap, points))
        st.dataframe(by_type, hide_index=True, row_height=ROW_PX, key="table_cap_types")
    watch(job, "caps", "stop_caps")


def service_level(scenario: Scenario, trace: Trace | None) -> None:
    """The target, the lengths it assumes, how it fares, and what would break it."""
    left, right = st.columns(2, gap="medium")
    target = int(
        typed.one_of(
            left,
            "segmented_control",
            "Target (% of requests within all limits)",
            TARGETS,
            default="90",
            required=True,
            key="optarget",
            help="The limits are those under Targets in the sidebar. A higher target breaks earlier.",
        )
    ) / 100  # fmt: skip
    factor = float(
        typed.one_of(
            right,
            "select_slider",
            "Longer tail (x)",
            FACTORS,
            value="2",
            key="optail",
            help="Answers above the 90th percentile lie so many times as far beyond it; the scenario's cap stays.",
        )
    )
    job = sla_job(scenario, trace, factor, target)
    found: dict[str, Any] = dict(job.found)
    if job.problem:
        st.error(job.problem)
    broken = found.pop(BREAKING, None)
    in_order = [found[name] for name in (ASSUMED, AS_IS, TAIL) if name in found]  # they come in any
    rows: dict[str, Attained] = {row.name: row for row in in_order if isinstance(row, Attained)}
    for sentence in dict.fromkeys(each for each in in_order if isinstance(each, str)):
        st.info(sentence)
    st.markdown(words.assumption_sentence(scenario, rows))
    if rows:
        table = words.sla_table(list(rows.values()))
        st.dataframe(
            grouped(table),
            hide_index=True,
            row_height=ROW_PX,
            key="table_sla",
            column_config=_widths(table, NAME_PX),
        )
        st.caption(
            "Lengths in tokens, as produced under the cap; shares of requests within all limits, and each alone."
        )
    for sentence in words.sla_warnings(scenario, list(rows.values())):
        st.warning(sentence, icon=":material/warning:")
    if isinstance(broken, Breaking):
        st.markdown(words.breaking_sentence(broken, target))
    if rows:
        st.caption("To paste:")
        whole = broken if isinstance(broken, Breaking) else None
        st.code(words.paragraph(scenario, target, rows, whole), language=None, wrap_lines=True)
    watch(job, "lengths", "stop_sla")


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
        st.markdown(words.routing_sentence(*parted))
        table = words.routing_table(*parted)
        st.dataframe(
            grouped(table),
            hide_index=True,
            row_height=ROW_PX,
            key="table_pools",
            column_config=_widths(table, NAME_PX - 24),
        )
        st.caption(
            f"First all types in one pool, then the best of {len(parted[1])} ways to deal {replicas} replicas to them. "
            "requests/s: of each replica. within: share of requests within all limits."
        )
    watch(job, "studies", "stop_pools")


def _widths(names: Iterable[str], first_px: int) -> dict[str, Any]:
    """A wide first column and narrow figures, so that none is cut off."""
    first, *others = names
    narrow = {name: st.column_config.Column(width=_width(name), alignment="right") for name in others}
    return {first: st.column_config.Column(width=first_px)} | narrow


def _width(name: str) -> int:
    return WIDER_PX if len(name) > LONG_NAME else FIGURE_PX
