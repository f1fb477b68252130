"""Presets: every shipped scenario with picture, question, what to expect, source and tags."""

import streamlit as st
from ui.gallery import KEY_TO_PICTURES, cards, chosen_tags

from sim.presets import preset_names

names = preset_names("explore")
with st.container(key="verdict"):
    st.title(f"{len(names)} scenarios to start from, each with a question and what to expect.", anchor=False)
st.caption(KEY_TO_PICTURES)
cards(names, chosen_tags(names))
