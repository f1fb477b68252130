"""Batch theatre: one run step by step, as the scheduler decided it."""

import streamlit as st
from ui.header import header
from ui.refusal import refuse, runnable
from ui.theatre import recorded, theatre

from sim.errors import ScenarioError
from sim.studies.theatre_play import MAX_REQUESTS
from sim.view.theatre_words import bounds, verdict

asked = st.session_state.asked
runnable(asked)
head = st.container()
with st.container(horizontal=True, vertical_alignment="center", key="theatre_size"):
    num_requests = st.select_slider(
        "Requests in the play",
        (20, 50, 100, 150, 200, MAX_REQUESTS),
        value=150,
        key="play_requests",
        persist_state="session",
        help="The first so many requests of the scenario are run and recorded. More: a longer play, smaller slots.",
        width=280,
    )
    note = st.empty()
try:
    run, text = recorded(asked, num_requests)
except ScenarioError as error:
    with head:
        refuse(str(error), asked)
with head:
    header(verdict(run), asked, can_pin=False)
note.caption(bounds(run))
if run.num_steps:
    theatre(text)
