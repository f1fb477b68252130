"""Your data: import a file, fit the step time, compare with your server, use it."""

import streamlit as st
from ui import data_cards, runs
from ui.data_upload import data_upload
from ui.headline import headline

from sim.benchmarks import Benchmark, Scrape
from sim.errors import ScenarioError
from sim.view.your_data import described

asked = st.session_state.asked
head = st.container(key="verdict")
data = data_upload()
found = None if data is None else described(data)
nothing_yet = "Nothing is compared yet: bring your own traffic, your own step times, or your server's metrics."
with head:
    headline(nothing_yet if found is None else found.sentence)
if asked.refusal:
    st.error(asked.refusal)
if data is None or found is None:
    data_cards.welcome()
    st.caption("Nothing leaves this server, and nothing is kept when the tab is closed.")
    st.stop()

for sentence in found.notes:
    st.caption(sentence)
if isinstance(data, Benchmark):
    runs.ready()
    data_cards.benchmark(data, asked)
elif isinstance(data, Scrape):
    current = None
    if asked.scenario is not None:
        runs.ready(asked.scenario)
        try:
            current = runs.view(asked.scenario, asked.trace, is_saturated=asked.is_saturated)
        except ScenarioError as error:
            st.error(str(error))
    data_cards.server(data, asked, current)
else:
    data_cards.trace(data, asked)
