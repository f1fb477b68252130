"""The cards of Schedulers: which ones, the table, memory, load, who wins where."""

import pandas as pd
import streamlit as st
from ui import typed
from ui.compare_jobs import CompareJob, points_of
from ui.live_plot import live_plot
from ui.watch import JobFeed, watch

from sim.scenario import Scenario
from sim.studies.compare import Row
from sim.studies.load_curve import is_closed
from sim.systems import system_names
from sim.view import compare as words
from sim.view import compare_figures as figures
from sim.view.capacity import arrivals_note
from sim.view.number_words import UNDEFINED, short_percent

ROW_PX = 27
SCHEDULER_PX = 150
BEST = {"background-color": "rgba(0,158,115,0.22)"}


def chosen(own: str) -> tuple[tuple[str, ...], bool]:
    """The schedulers to compare, the scenario's own first, and whether all get its limits."""
    left, right = st.columns([4, 1], gap="medium", vertical_alignment="bottom")
    names: list[str] = typed.some_of(
        left,
        "Schedulers",
        {words.title(name): name for name in system_names()},
        most=words.MOST - 1,
        default=list(words.DEFAULT),
        key="cmpsched",
        help="The same requests, at the same times, go through each; the scheduler of the sidebar is always among "
        "them, with all its knobs.",
    )
    same_limits = typed.switch(
        right,
        "Same limits for all",
        key="cmplimits",
        help="On: all get the sidebar's max_num_seqs and max_num_batched_tokens. Off: each has the limits it was "
        "published with.",
    )
    return tuple(dict.fromkeys((own, *names))), same_limits


def table(rows: dict[str, Row], scenario: Scenario) -> None:
    """All numbers, a line a scheduler."""
    frame = pd.DataFrame(words.table(rows))
    shown = frame.style.format({column: words.cell(column) for column in words.COLUMNS})
    for column, leading in words.leaders(words.ran(rows)).items():
        best = pd.IndexSlice[frame["scheduler"].isin([words.title(name) for name in leading]), [column]]
        shown = shown.format(words.cell(column, is_best=True), subset=best).set_properties(subset=best, **BEST)
    st.dataframe(
        shown,
        hide_index=True,
        row_height=ROW_PX,
        key="table_compare",
        placeholder=UNDEFINED,
        column_config={"scheduler": st.column_config.TextColumn("scheduler", width=SCHEDULER_PX)},
    )
    for sentence in words.problems(rows):
        st.warning(sentence, icon=":material/block:")
    st.caption(
        f"{words.STAR}: best of its column, where not most are alike; click a header to sort. CV in batch: spread of "
        f"output lengths among requests served at the same time.{words.delivery(rows)}{words.unlike(rows, scenario)}"
    )


def memory(rows: dict[str, Row]) -> None:
    """KV memory of each on one scale."""
    alt = ". ".join(
        f"{words.title(name)}: {short_percent(each.compared.kv_use)} of KV memory in use on average"
        for name, each in rows.items()
        if each.compared is not None
    )
    lines, _ = figures.grid(sum(each.memory is not None for each in rows.values()))
    live_plot(figures.memory(rows), f"plot_compare_memory_{lines}", alt)
    if later := words.going_on(rows, figures.memory_end_s(rows)):
        st.caption(later)


def against_load(
    job: CompareJob,
    scenario: Scenario,
    names: tuple[str, ...],
    load_title: str,
    operating: float | None,
) -> None:
    """Latency and rates against load, filled in as runs end."""
    slo = scenario.slo
    limits = {
        "ttft_p99_s": None if slo.ttft_ms is None else slo.ttft_ms / 1000,
        "tpot_p99_s": None if slo.tpot_ms is None else slo.tpot_ms / 1000,
    }

    def picture() -> tuple[object, str]:
        is_complete = job.is_complete
        points = points_of(job)
        figure = figures.against_load(
            points, names, load_title, limits, job.loads, is_complete=is_complete, operating=operating
        )
        return figure, figures.in_words(points, names)

    JobFeed(job, picture).draw("plot_compare_load")
    limit = " Level dots: a limit, shaded within." if any(limits.values()) else ""
    upright = "" if operating is None else " Upright dots: the load as asked."
    no_rate = "" if is_closed(scenario) else f" {arrivals_note(scenario)}"
    if told := f"{limit}{upright}{no_rate}".strip():
        st.caption(told)
    watch(job, "runs", "stop_compare", milestone=len(names))  # all as asked


def who_wins(job: CompareJob, unit: str) -> None:
    """Stretches of load and who leads there."""
    if not job.is_complete:
        st.caption("Stopped before it was known." if job.is_done else "Computing …")
        return
    for sentence in words.winners(points_of(job), unit):
        st.markdown(sentence)
    st.caption("Most good requests a second, within 1 %.")


def batches(rows: dict[str, Row], overall_cv: float) -> None:
    """How alike the answers are that are served together."""
    st.markdown(words.grouping(rows, overall_cv))
