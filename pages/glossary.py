"""Glossary: what each number means, how others use the word, what is assumed and what is not modelled."""

import streamlit as st
from ui import glossary, runs
from ui.card import side_by_side
from ui.headline import headline

from sim.view.glossary import glossary_verdict

asked = st.session_state.asked
current, refusal = runs.current_view(asked)
with st.container(key="verdict"):
    headline(glossary_verdict(current.summary) if current else "What the words mean.")
if current is None:
    st.error(refusal)
left, right = side_by_side("glossary", (1, 1))
with left:
    glossary.terms(current)
with right:
    if current is not None:
        glossary.times_a_token(current)
    glossary.usages()
glossary.rows_of_the_ledgers()
glossary.limits()
