"""The cards of the glossary."""

from collections.abc import Sequence

import streamlit as st
from ui.card import card
from ui.live_plot import live_plot

from sim.studies.validation import shipped
from sim.view import glossary_figure
from sim.view.glossary import GROUPS, USAGES, Term, example
from sim.view.memory import MEMORY_STYLE
from sim.view.run_view import RunView
from sim.view.time_use import TIME_STYLE
from sim.view.trust import ASSUMPTIONS


def terms(current: RunView | None) -> None:
    """Each word with formula, meaning, and its number in the run on screen."""
    with card("terms", "Each number, its formula, and what it is in this run"):
        st.caption(
            "A request arrives at a, is first scheduled at s, has its n tokens at t[1] to t[n], and ends at c = t[n]."
        )
        for group in GROUPS:
            st.markdown(f"**{group.title}**\n" + "\n".join(f"- {_term(term, current)}" for term in group.terms))


def times_a_token(current: RunView) -> None:
    """One run, three times per token."""
    with card("times_a_token", "Time per token, by whose word it is"):
        live_plot(glossary_figure.times_a_token(current.summary), "plot_words", glossary_figure.words(current.summary))


def usages() -> None:
    """How others use the words."""
    with card("usages", "The same word elsewhere"):
        rows = [(each.word, each.who, each.means, each.here) for each in USAGES]
        st.markdown(_table(("word", "used by", "means there", "here"), rows))
        st.caption("Percentiles lie between order statistics, linearly; p99 is not shown below 100 values.")


def rows_of_the_ledgers() -> None:
    """Where memory and time went, row by row."""
    with card("ledgers", "Rows of the two ledgers"):
        st.caption(
            "Memory rows add up to all KV blocks at every moment, time rows to the duration; none is a remainder."
        )
        ledgers = {"KV memory": MEMORY_STYLE, "Time": TIME_STYLE}
        for column, (title, styles) in zip(st.columns(len(ledgers), gap="medium"), ledgers.items(), strict=True):
            rows = [(style.label, style.definition) for style in styles.values()]
            column.markdown(_table((title, "what it is"), rows))


def limits() -> None:
    """What the numbers rest on."""
    with card("limits", "Assumed, and not modelled"):
        assumed, missing = st.columns(2, gap="medium")
        assumed.markdown("Assumed:\n" + _items(ASSUMPTIONS))
        missing.markdown("Not modelled:\n" + _items(shipped()["not_modelled"]))


def _term(term: Term, current: RunView | None) -> str:
    here = example(term, current.summary) if current else ""
    return f"**{term.name}** `{term.formula}` {term.meaning}" + (f" *Here: {here}.*" if here else "")


def _items(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {each}" for each in sentences)


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
