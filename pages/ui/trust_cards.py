"""The cards of Trust."""

from collections.abc import Mapping
from typing import Any

import streamlit as st
from ui.card import card
from ui.grouped import grouped
from ui.live_plot import live_plot

from sim.view import trust_figures
from sim.view.trust import ASSUMPTIONS, comparisons, left_out, long_remarks, run_title, table

Report = Mapping[str, Any]
TABLE_ROWS, ROW_PX = 20, 27
WIDTHS_PX = {"": 106, "Error": 58, "Limit": 56, "n": 58, "What": 404, "Remark": 246, "Part": 144}
NEEDS = "Run `longtail validate` with these data to see it."


def compared(report: Report) -> None:
    """Every comparison with its error and its limit, good and bad."""
    with card("compared", "Everything that was compared"):
        rows = comparisons(report)
        st.dataframe(
            grouped(table(rows)),
            height=ROW_PX * (TABLE_ROWS + 1) + 12,
            row_height=ROW_PX,
            hide_index=True,
            key="table_compared",
            column_config={name: st.column_config.Column(width=width) for name, width in WIDTHS_PX.items()},
        )
        st.caption(
            "Errors are mean absolute errors in percent of what was measured. met, missed: a target of ours. in band, "
            "outside band: the error that every page states beside such numbers."
        )
        for i, remark in enumerate(long_remarks(rows), 1):
            st.caption(f"Note {i}: {remark}.")


def limits(report: Report) -> None:
    """What is not modelled, what is assumed, and what could not be compared."""
    with card("limits", "What it leaves out"):
        missing, assumed, uncompared = st.columns(3, gap="medium")
        missing.markdown("Not modelled:\n" + _items(report["not_modelled"]))
        assumed.markdown("Assumed:\n" + _items(ASSUMPTIONS))
        uncompared.markdown("Not compared, and why:\n" + (_items(left_out(report)) or "- nothing"))


def parity(report: Report) -> None:
    """Measured against simulated."""
    there = {key: title for key, (part, title, _) in trust_figures.PARITY.items() if part in report["parts"]}
    with card("parity", "Measured and simulated", there) as which:
        if not which:
            st.caption(NEEDS)
            return
        figure = trust_figures.PARITY[which][2](report)
        live_plot(figure, "plot_parity", trust_figures.clouds_in_words(figure))


def over_time(report: Report) -> None:
    """Server runs over time."""
    runs = {run["name"]: run for run in report["parts"].get("vllm_runs", {}).get("runs", ())}
    if not runs:
        return
    with card("run", "Server over time", {"running": "running", "waiting": "waiting", "kv_cache_pct": "KV"}) as which:
        name = st.selectbox(
            "Server run",
            list(runs),
            format_func=run_title,
            key="show_which_run",
            label_visibility="collapsed",
            persist_state="session",
        )
        row = runs[name]["over_time"][which]
        live_plot(
            trust_figures.run_over_time(runs[name], which),
            "plot_run",
            f"{trust_figures.OVER_TIME[which]} over time, {name}: median measured {row['measured_median']:g}, "
            f"simulated {row['simulated_median']:g}.",
        )


def _items(sentences: tuple[str, ...] | list[str]) -> str:
    return "\n".join(f"- {each}" for each in sentences)
