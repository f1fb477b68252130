"""Schedulers: the same requests through several, side by side."""

import math

import streamlit as st
from ui import compare_cards as cards
from ui import runs
from ui.card import card, side_by_side
from ui.compare_jobs import compare_job, reach_of, rows_of
from ui.header import header
from ui.refusal import refuse, runnable

from sim.studies import compare
from sim.studies.load_curve import is_closed, load_of
from sim.studies.reach import most_users
from sim.view import compare as words
from sim.view.load_figure import load_title

asked = st.session_state.asked
scenario, trace = runnable(asked), asked.trace
head = st.container()
names, same_limits = cards.chosen(scenario.scheduler.system)
job = compare_job(scenario, trace, names, same_limits=same_limits)
rows, reach = rows_of(job, names), reach_of(job, names)
unit, highest = "requests/s", math.inf
if is_closed(scenario):
    unit, highest = "users", most_users(scenario)
with head:
    if len(rows) == len(names) and not words.ran(rows):
        refuse(rows[scenario.scheduler.system].problem, asked)
    to_come = 0 if job.is_done or len(names) < 2 else len(names) - len(rows)
    header(words.verdict(rows, reach, unit, highest, to_come=to_come), asked, can_pin=False)
    if job.problem:
        st.error(job.problem)
with card("compare_table", "As asked"):
    cards.table(rows, scenario)
left, right = side_by_side("compare", (3, 2))
with left, card("compare_load", "Against load"):
    cards.against_load(job, scenario, names, load_title(scenario), load_of(scenario, trace))
with right, card("compare_memory", "KV memory over time"):
    cards.memory(rows)
with right, card("compare_wins", "Who wins where"):
    cards.who_wins(job, unit)
if any(row.compared for row in rows.values()):
    with right, card("compare_batches", "Lengths inside a batch"):
        cards.batches(rows, compare.overall_cv(runs.outputs(scenario, trace).output_len))
