"""What somebody typed into the address and a control cannot hold: Streamlit would drop it without a word.

Such a control is not bound to the address until it is moved, so that the text stays there.
"""

from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from sim.view import address

SWITCH = ("true", "false")


def unusable(key: str, can_hold: Callable[[str], bool]) -> str:
    """The text in the address that a control cannot hold; empty where it can. Several texts for one key are one too."""
    texts = st.query_params.get_all(key)
    if len(texts) > 1 or any(text and not can_hold(text) for text in texts):
        return ", ".join(texts)
    return ""


def binding(key: str, text: str) -> dict[str, Any]:
    """Arguments of a control: bound to the address, unless that holds a text it cannot take."""
    return {"on_change": take, "args": (key,)} if text else {"bind": "query-params"}


def take(key: str) -> None:
    """Somebody moved a control that was not bound: its value takes the place of the text."""
    leave_out([key])
    st.session_state[key] = st.session_state[key]  # Streamlit writes into the address what a callback sets


def leave_out(keys: Iterable[str]) -> None:
    """Take keys out of the address that no control is bound to; from a callback."""
    for key in keys:
        if key in st.query_params:
            del st.query_params[key]


def number(where: Any, label: str, *, key: str, low: float, high: float, **more: Any) -> Any:
    """A field for a number that is bound to the address; says below it what it could not take from there."""
    text = unusable(key, lambda text: not address.number_problem(key, text, low, high))
    held = where.number_input(label, min_value=low, max_value=high, format="%g", key=key, **more, **binding(key, text))
    if text:
        where.warning(address.number_problem(key, text, low, high))
    return held


def one_of(where: Any, widget: str, label: str, options: tuple[str, ...], *, key: str, **more: Any) -> str:
    """A choice of one that is bound to the address, by the name of its widget; likewise."""
    text = unusable(key, lambda text: text in options)
    held: str = getattr(where, widget)(label, options, key=key, **more, **binding(key, text))
    if text:
        where.warning(address.choice_problem(key, text, options))
    return held


def some_of(where: Any, label: str, options: dict[str, str], *, key: str, most: int | None = None, **more: Any) -> Any:
    """A choice of several that is bound to the address, options by what they are called there; likewise."""
    texts = [text for text in st.query_params.get_all(key) if text]
    problem = address.choices_problem(key, texts, tuple(options), most or len(options))
    bound = binding(key, problem)
    held = where.multiselect(
        label, list(options.values()), format_func={v: k for k, v in options.items()}.__getitem__, key=key,
        max_selections=most, **more, **bound,
    )  # fmt: skip
    if problem:
        where.warning(problem)
    return held


def switch(where: Any, label: str, *, key: str, **more: Any) -> bool:
    """On or off, bound to the address; likewise."""
    text = unusable(key, lambda text: text.lower() in SWITCH)
    is_on: bool = where.toggle(label, key=key, **more, **binding(key, text))
    if text:
        where.warning(address.choice_problem(key, text, SWITCH))
    return is_on
