"""Frame of the dashboard: navigation above, the scenario's knobs beside every page."""

import streamlit as st
from ui.frame import frame
from ui.style import style

st.set_page_config(page_title="Longtail", page_icon="📈", layout="wide")
page = st.navigation(
    [
        st.Page("explore.py", title="Explore", icon=":material/tune:", default=True),
        st.Page("gallery.py", title="Presets", icon=":material/apps:"),
        st.Page("length_tail.py", title="Length tail", icon=":material/ssid_chart:"),
        st.Page("batch_theatre.py", title="Batch theatre", icon=":material/theaters:"),
        st.Page("your_data.py", title="Your data", icon=":material/upload_file:"),
        st.Page("trust.py", title="Trust", icon=":material/verified:"),
        st.Page("words.py", title="Words", icon=":material/menu_book:"),
    ],
    position="top",
)
style()
with st.sidebar:
    st.session_state.asked = frame()  # every scenario widget lives here, on every page
page.run()
