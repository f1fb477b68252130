"""Schedulers: the same requests through several, side by side."""

import streamlit as st
from ui import compare_cards as cards
from ui import runs
from ui.card import card, side_by_side
from ui.compare_jobs import compare_job, points_of, rows_of
from ui.header import header
from ui.refusal import runnable

from sim.studies.compare import overall_cv
from sim.studies.load_curve import is_closed, load_of, without_load
from sim.view import compare as words
from sim.view.load_figure import load_title

asked = st.session_state.asked
scenario, trace = runnable(asked), asked.trace
head = st.container()
names, same_limits = cards.chosen(scenario.scheduler.system)
every_load = runs.compared_loads(without_load(scenario), trace)
job = compare_job(scenario, trace, names, every_load, same_limits=same_limits)
is_complete, rows = job.is_complete, rows_of(job, names)  # in this order: nothing may come between
unit = words.USERS if is_closed(scenario) else "requests/s"
with head:
    header(words.verdict(rows, points_of(job), unit, is_complete=is_complete), asked, can_pin=False)
    if job.problem:
        st.error(job.problem)
with card("compare_table", "As asked"):
    cards.table(rows)
left, right = side_by_side("compare", (3, 2))
with left, card("compare_load", "Against load"):
    cards.against_load(job, scenario, names, every_load, load_title(scenario), load_of(scenario, trace))
with right, card("compare_memory", "KV memory over time"):
    cards.memory(rows)
with right, card("compare_wins", "Who wins where"):
    cards.who_wins(job, unit)
if any(row.compared for row in rows.values()):
    with right, card("compare_batches", "Lengths inside a batch"):
        cards.batches(rows, overall_cv(runs.outputs(scenario, trace).output_len))
