"""Predictor: which way to err, how far and how late a prediction may be, and what it is worth."""

import math

import streamlit as st
from ui import predictor_cards, runs, typed
from ui.capacity_jobs import base_job
from ui.card import side_by_side
from ui.header import header
from ui.predictor_jobs import error_job, published_job, trial_job, use_job
from ui.refusal import refuse, runnable

from sim.errors import ScenarioError
from sim.studies.capacity_search import ATTAINMENT
from sim.studies.load_curve import with_rate
from sim.studies.predictor.error_map import OBJECTIVES, direction
from sim.studies.predictor.uses import Use, own_error
from sim.studies.saturated import saturated
from sim.view.predictor import OBJECTIVE_HELP, verdict

asked = st.session_state.asked
given = runnable(asked)
head = st.container()
scenario = saturated(given) if asked.is_saturated else given
try:
    runs.view(given, asked.trace, is_saturated=asked.is_saturated)
except ScenarioError as error:
    refuse(str(error), asked)
name = typed.one_of(
    st,
    "segmented_control",
    "Objective",
    tuple(OBJECTIVES),
    default="throughput",
    required=True,
    key="objective",
    help=OBJECTIVE_HELP,
)
own = own_error(scenario)
errors, trials = error_job(scenario, asked.trace), trial_job(scenario, asked.trace)
published = published_job(scenario, asked.trace)
at_a_rate = with_rate(given)
base, others = base_job(at_a_rate, asked.trace, ATTAINMENT), use_job(at_a_rate, asked.trace)
best = direction(errors.found, own[1], OBJECTIVES[name])
gained = predictor_cards.ratios(predictor_cards.capacities(base, others, at_a_rate)).get(Use.RESERVE, math.nan)
with head:
    header(verdict(name, errors.found, trials.found, own[1], gained), asked)

left, right = side_by_side("errors", (1.08, 0.92))
with left:
    predictor_cards.error_map(errors, published, name, own)
with right:
    predictor_cards.bias_curve(errors, trials, name, own[1], best, scenario)
left, right = side_by_side("limits", (1, 1))
with left:
    predictor_cards.limits(errors, trials, name, own[1])
with right:
    predictor_cards.lesson(published, trials)
predictor_cards.uses(trials, own[1])
left, right = side_by_side("money", (0.74, 1.26))
with left:
    predictor_cards.money(base, others, at_a_rate)
with right:
    predictor_cards.published_tables(published, trials, errors, name, own[1])
