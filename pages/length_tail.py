"""Length tail: what the spread of output lengths costs here, and which part of it could be had back."""

import streamlit as st
from ui import cards, length_cards, runs
from ui.card import side_by_side
from ui.header import header
from ui.length_jobs import counterfactual_job, spread_job
from ui.refusal import refuse, runnable

from sim.errors import ScenarioError
from sim.studies.counterfactuals import has_all
from sim.studies.length_profile import profiles
from sim.view.length_tail import MASTER, verdict

asked = st.session_state.asked
scenario, trace = runnable(asked), asked.trace
try:
    current = runs.view(scenario, trace, is_saturated=asked.is_saturated)
    made = runs.outputs(scenario, trace)
except ScenarioError as error:
    refuse(str(error), asked)
spreads, worlds = spread_job(scenario, trace), counterfactual_job(scenario, trace)

is_known = has_all(worlds.found, MASTER, scenario, trace)
header(verdict(current.summary, worlds.found, profiles(made), is_known=is_known), asked)
cards.banners(current, "")
left, right = side_by_side("lengths", (0.92, 1.08))
with left:
    length_cards.lengths(asked, made)
    length_cards.counterfactuals(worlds, asked, current)
with right:
    length_cards.length_table(made)
    length_cards.spread(spreads, current)
length_cards.counterfactual_table(worlds, scenario, current)
length_cards.paths(current)
left, right = side_by_side("ledgers", (1, 1))
with left:
    length_cards.memory(current)
with right:
    length_cards.time(current)
