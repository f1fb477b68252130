"""The browser's Back button undoes a knob: done in pages/js/history.js."""

import streamlit as st

_COMPONENT = """
const script = () => import(`${location.origin}/assets/js/history.js`);
export default async given => { (await script()).mount(given); }
"""
_mount = st.components.v2.component("longtail_history", js=_COMPONENT, html="<div></div>")


def remember(address: dict[str, str]) -> None:
    """Make an entry of the browser's history of an address that has changed.

    Parameters
    ----------
    address : dict
        Keys and values of the page's address.
    """
    _mount(key="history", data={"address": address})
