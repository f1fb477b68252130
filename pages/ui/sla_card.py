"""The card of Operate about the service level: the target, the lengths it assumes, how it fares, what breaks it."""

from typing import Any

import streamlit as st
from ui import typed
from ui.grouped import narrow_table
from ui.operate_jobs import BREAKING, TAIL, sla_job
from ui.watch import watch

from sim.scenario import Scenario
from sim.studies.sla import AS_IS, ASSUMED, Attained, Breaking
from sim.view import sla_words as words
from sim.workload import Trace

TARGETS = ("90", "95", "99")
FACTORS = ("1.5", "2", "3", "5")


def service_level(scenario: Scenario, trace: Trace | None) -> None:
    """The whole card."""
    target, factor = _controls()
    job = sla_job(scenario, trace, factor, target)
    found: dict[str, Any] = dict(job.found)
    if job.problem:
        st.error(job.problem)
    broken = found.pop(BREAKING, None)
    in_order = [found[name] for name in (ASSUMED, AS_IS, TAIL) if name in found]  # they come in any
    for sentence in dict.fromkeys(each for each in in_order if isinstance(each, str)):
        st.info(sentence)
    rows = {row.name: row for row in in_order if isinstance(row, Attained)}
    _told(scenario, target, rows, broken if isinstance(broken, Breaking) else None)
    watch(job, "lengths", "stop_sla")


def _controls() -> tuple[float, float]:
    """The target, 0 to 1, and how many times as long the tail is to be."""
    left, right = st.columns(2, gap="medium")
    target = typed.one_of(
        left,
        "segmented_control",
        "Target (% of requests within all limits)",
        TARGETS,
        default="90",
        required=True,
        key="optarget",
        help="The limits are those under Targets in the sidebar. A higher target breaks earlier.",
    )
    factor = typed.one_of(
        right,
        "select_slider",
        "Longer tail (x)",
        FACTORS,
        value="2",
        key="optail",
        help="Answers above the 90th percentile lie so many times as far beyond it; the scenario's cap stays.",
    )
    return int(target) / 100, float(factor)


def _told(scenario: Scenario, target: float, rows: dict[str, Attained], broken: Breaking | None) -> None:
    """How the target fares under the lengths that have been run, and a paragraph to paste."""
    st.markdown(words.assumption_sentence(scenario, rows))
    if rows:
        narrow_table(words.sla_table(list(rows.values())), "table_sla")
        st.caption(
            "Lengths in tokens, as produced: cut where a cap or the context cuts them. Shares of requests within all "
            "limits, and within each alone."
        )
    for sentence in words.sla_warnings(scenario, list(rows.values())):
        st.warning(sentence, icon=":material/warning:")
    if broken is not None:
        st.markdown(words.breaking_sentence(broken, target))
    if rows:
        st.caption("To paste:")
        st.code(words.paragraph(scenario, target, rows, broken), language=None, wrap_lines=True)
