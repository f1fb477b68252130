"""Length tail: what the spread of output lengths costs here, and which part of it could be had back."""

import streamlit as st
from ui import cards, length_cards, runs
from ui.header import header
from ui.length_jobs import counterfactual_job, spread_job

from sim.errors import ScenarioError
from sim.studies.counterfactuals import has_all
from sim.view.length_tail import MASTER, verdict

asked = st.session_state.asked
if asked.scenario is None:
    header("This scenario cannot run.", asked, can_pin=False)
    st.error(asked.refusal)
    st.stop()

runs.ready(asked.scenario)
try:
    current = runs.view(asked.scenario, asked.trace, is_saturated=asked.is_saturated)
    made = runs.outputs(asked.scenario, asked.trace)
except ScenarioError as error:
    header("This scenario cannot run.", asked, can_pin=False)
    st.error(str(error))
    st.stop()
spreads, worlds = spread_job(asked.scenario, asked.trace), counterfactual_job(asked.scenario, asked.trace)

is_known = has_all(worlds.found, MASTER, asked.scenario, asked.trace)
header(verdict(current.summary, worlds.found, is_known=is_known), asked)
cards.banners(current, "")
left, right = st.columns([0.92, 1.08], gap="small")
with left:
    length_cards.lengths(asked, made)
    length_cards.counterfactuals(worlds, asked, current)
with right:
    length_cards.length_table(made)
    length_cards.spread(spreads, current)
length_cards.counterfactual_table(worlds, asked.scenario, current)
length_cards.paths(current)
left, right = st.columns(2, gap="small")
with left:
    length_cards.memory(current)
with right:
    length_cards.time(current)
