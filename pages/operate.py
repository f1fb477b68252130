"""Operate: what can be done without knowing lengths: cap, margins, routing, and a target that says what it assumes."""

import streamlit as st
from ui import operate_cards
from ui.card import card, side_by_side
from ui.header import header
from ui.operate_jobs import cap_job
from ui.refusal import runnable
from ui.sla_card import service_level
from ui.watch import watch

from sim.view import operate as words

asked = st.session_state.asked
scenario, trace = runnable(asked), asked.trace
head = st.container()
left, right = side_by_side("operate", (1, 1))
with left, card("cap", "An output cap"):
    cap = operate_cards.chosen_cap()
    job = cap_job(scenario, trace, cap)
    points = dict(job.found)
    watch(job, "runs of this cap", "stop_cap")
    curves = st.container(gap=None)
with head:
    sentence = words.NOT_KNOWN if job.problem else words.verdict(cap, points, words.own_cap(scenario))
    header(sentence, asked, can_pin=False)
with right, card("sla", "Service level: the target and the lengths it assumes"):
    service_level(scenario, trace)
with curves:  # after the target: what comes first on the page is computed first
    operate_cards.caps(scenario, trace, cap, points)
with right, card("types", "Routing by task type"):
    operate_cards.by_type(scenario)
with card("margins", f"Safety margins, {'saturated' if asked.is_saturated else 'as asked'}"):
    operate_cards.margins(scenario, trace, is_saturated=asked.is_saturated)
