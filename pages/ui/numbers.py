"""No line of text ends between a number and its unit, and sliders set thousands apart: done in pages/js/numbers.js."""

import streamlit as st

_COMPONENT = """
const script = () => import(`${location.origin}/assets/js/numbers.js`);
export default async () => { (await script()).mount(); }
"""
_mount = st.components.v2.component("longtail_numbers", js=_COMPONENT, html="<div></div>")


def set_numbers() -> None:
    """Have the browser set numbers in the texts of every page."""
    _mount(key="numbers", data={})
