"""Drawing the output lengths by hand: quantiles of a type and its share, put into the scenario with a button."""

import streamlit as st
from ui.asked import Asked
from ui.files import use

from sim.errors import ScenarioError
from sim.studies.length_profile import Outputs
from sim.view.drawn_lengths import MARKS, marks, with_drawn

PROBLEM = "draw_problem"


def draw_lengths(asked: Asked, made: Outputs) -> None:
    """A popover with a number for each quantile; the knobs, the link and every page follow."""
    assert asked.scenario is not None
    with st.popover("Draw", icon=":material/edit:", help="Draw the output lengths by their quantiles."):
        if asked.trace is not None:
            st.caption("The lengths are those of the trace. Go back to the preset's requests to draw others.")
            return
        names = list(made.type_names)
        type_id = 0
        if len(names) > 1:
            type_id = names.index(st.selectbox("Type", names, key="draw_type"))
        rows = made.type_id == type_id
        present = marks(made.output_len[rows] if rows.any() else made.output_len)
        stamp = f"{type_id}_{hash(tuple(present.values()))}"  # other lengths, other widgets: they start from them
        with st.form(f"draw_form_{stamp}", border=False):
            for column, name in zip(st.columns(len(MARKS), gap="xxsmall"), MARKS, strict=True):
                column.number_input(f"{name} (tokens)", 1, None, present[name], key=f"draw_{name}_{stamp}")
            if len(names) > 1:
                now = asked.scenario.workload.types[type_id].share
                st.number_input("Share in the mix", 0.0, None, float(now), key=f"draw_share_{stamp}")
            st.form_submit_button("Use these lengths", on_click=_use, args=(asked, type_id, stamp))
        if problem := st.session_state.pop(PROBLEM, ""):
            st.error(problem)


def _use(asked: Asked, type_id: int, stamp: str) -> None:
    """Put what was drawn into the scenario; from a callback, before the widgets run."""
    assert asked.scenario is not None
    drawn = {name: int(st.session_state[f"draw_{name}_{stamp}"]) for name in MARKS}
    try:
        use(with_drawn(asked.scenario, type_id, drawn, st.session_state.get(f"draw_share_{stamp}")), asked.preset_name)
    except ScenarioError as error:
        st.session_state[PROBLEM] = str(error)
