"""Frame of the dashboard: navigation above, the scenario's knobs beside every page."""

import time

import streamlit as st
from ui.style import style

HEAD_START_S = 0.12  # of the curves over the sidebar, which costs the browser as much to draw

st.set_page_config(page_title="Longtail", page_icon="📈", layout="wide")
style()  # hides Streamlit's own Stop, which leaves a page empty; so it does not wait for what is imported below

from ui.frame import foreseen, frame  # noqa: E402
from ui.pool import page_first  # noqa: E402

explore = st.Page("explore.py", title="Explore", default=True)
page = st.navigation(
    [
        explore,
        st.Page("gallery.py", title="Presets"),
        st.Page("schedulers.py", title="Schedulers"),
        st.Page("length_tail.py", title="Length tail"),
        st.Page("predictor.py", title="Predictor"),
        st.Page("batch_theatre.py", title="Batch theatre"),
        st.Page("operate.py", title="Operate"),
        st.Page("capacity.py", title="Capacity"),
        st.Page("your_data.py", title="Your data"),
        st.Page("trust.py", title="Trust"),
        st.Page("glossary.py", title="Glossary"),
    ],
    position="top",
)
with page_first():
    ahead = foreseen() if page == explore else None
    if ahead is not None:  # curves first: what stands in the sidebar is known and can wait
        st.session_state.asked = ahead
        page.run()
        time.sleep(HEAD_START_S)
    with st.sidebar:
        st.session_state.asked = frame()  # every scenario widget lives here, on every page
    if ahead is None:
        page.run()
    elif st.session_state.asked != ahead:
        st.rerun()
