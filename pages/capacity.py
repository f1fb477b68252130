"""Capacity: how many replicas and GPUs a load needs, at what price, and what would change the bill."""

import streamlit as st
from ui import capacity_cards
from ui.capacity_jobs import LIGHT, base_job, deployment_job, is_found, searched, what_if_job
from ui.card import card, side_by_side
from ui.header import header
from ui.refusal import refuse, runnable
from ui.tiles import draw
from ui.watch import watch

from sim.studies.capacity import replications
from sim.studies.load_curve import with_rate
from sim.view import capacity as words

asked = st.session_state.asked
given = runnable(asked)
scenario = with_rate(given)
head, numbers = st.container(), st.container()
terms = capacity_cards.controls(scenario)
left, right = side_by_side("capacity", (1, 1))
with left:
    gpus = capacity_cards.gpus_to_compare(scenario)
with right:
    cap, factor = capacity_cards.what_if_controls()
job = base_job(scenario, asked.trace, terms.share)
is_complete = is_found(job)
light = job.found.get(LIGHT)
own = words.own_option(scenario, searched(job), terms)

with head:
    if job.problem:
        refuse(job.problem, asked, words.no_answer(job.problem))
    header(words.verdict(own, terms) if own else words.SEARCHING, asked, can_pin=False)
    st.caption(words.interval_sentence(own, replications(scenario)) if own else words.limits_sentence(scenario))
    if note := words.arrivals_note(given):
        st.caption(note)
    if not is_complete:
        watch(job, "searches", "stop_search", milestone=1)
with numbers:
    draw(words.tiles(own, terms.needed_rps))
if own is None:
    st.stop()

others = deployment_job(scenario, asked.trace, terms.share, gpus)
changes = what_if_job(scenario, asked.trace, terms.share, cap, factor)
with left:
    options = capacity_cards.deployments(own, light, others, terms)
    capacity_cards.deployment_table(options)
with right:
    with card("what_if", "What if"):
        capacity_cards.what_if(scenario, own, light, changes, terms)
    capacity_cards.growth(options, own, terms)
