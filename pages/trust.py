"""Trust: what the simulator was compared with, how it did, and what it leaves out."""

import streamlit as st
from ui.card import side_by_side
from ui.headline import headline
from ui.trust_cards import compared, limits, over_time, parity

from sim.studies.validation import shipped
from sim.view.trust import made_by, trust_verdict

report = shipped()
with st.container(key="verdict"):
    headline(trust_verdict(report))
st.caption(f"{made_by(report)} `{report['command']}`")
left, right = side_by_side("trust", (1, 1))
with left:
    parity(report)
with right:
    over_time(report)
compared(report)
limits(report)
