"""A page's title, which is its verdict."""

import re

import streamlit as st

UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|T)\b|%)")


def headline(sentence: str) -> None:
    """The verdict as the page's title; no line ends between a number and its unit."""
    st.title(UNIT.sub("\N{NO-BREAK SPACE}", sentence), anchor=False)
