"""A page's title, which is its verdict."""

import streamlit as st


def headline(sentence: str) -> None:
    """The verdict as the page's title."""
    st.title(sentence, anchor=False)
