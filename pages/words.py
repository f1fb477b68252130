"""Words: what each number and each row of the memory curve means."""

import streamlit as st

from sim.view.memory import MEMORY_STYLE
from sim.view.quantity import QUANTITIES

st.title("What the words mean", anchor=False)
st.markdown("\n".join(f"- **{each.axis_title}**: {each.definition}" for each in QUANTITIES))
st.subheader("Rows of the KV memory curve", anchor=False)
st.markdown("They add up to all KV blocks at every moment; none is a remainder.")
st.markdown("\n".join(f"- **{row.label}** (`{name}`): {row.definition}." for name, row in MEMORY_STYLE.items()))
