"""Explore: one screen, one verdict, curves that follow the knob."""

import streamlit as st
from ui import cards, runs
from ui.header import header
from ui.meeting import is_meeting, meeting
from ui.positions import positions
from ui.refusal import refusal
from ui.run_job import long_runs, wait_for
from ui.scrub import scrub
from ui.tiles import tiles

from sim.view.verdict import verdict

asked = st.session_state.asked
job = long_runs(asked)
current, why_not = runs.current_view(asked) if job is None else (None, "")
if job is not None:
    header("A long run: curves come when it is done.", asked, can_pin=False)
    wait_for(job)
elif current is None:
    refusal(why_not, asked)
elif is_meeting():
    meeting(asked, current, *runs.pinned_views(asked))
else:
    pins, pin_problems = runs.pinned_views(asked)
    pinned = next((run for pin, run in pins if pin.key == asked.base), None)
    header(verdict(current.scenario, current.summary, pinned and pinned.summary, asked.base_name), asked)
    tiles(current, pinned)
    cards.banners(current, pin_problems)
    cards.pin_legend(asked, pins)
    left, right = st.columns(2, gap="small")
    with left:
        cards.throughput(current, pins)
        cards.memory(current, [each for each in pins if each[0].key == asked.base])
    with right:
        cards.distribution(current, pins)
        trade_off = cards.trade_offs(asked, current, pins)
    scrub(asked, positions(asked, pins, trade_off), lambda: trade_off.is_done)
