"""The cards of the preset gallery."""

from collections.abc import Collection, Sequence
from urllib.parse import urlencode

import streamlit as st

from sim.keys import PINS, PRESET
from sim.presets import preset
from sim.view.picture import svg, words
from sim.view.preset_pictures import preset_pictures

COLUMNS = 3
EXPLORE_TAG = "explore"  # carried by all of them
KEY_TO_PICTURES = (
    "Left of each picture: output lengths, from 1 to 65,536 tokens on a log scale. Right: KV memory over the run; from "
    "the bottom up typical answers (blue), stragglers (dark orange), idle cache (light blue), set aside or kept back "
    "from requests that wait (amber), and free."
)


def chosen_tags(names: Sequence[str]) -> list[str]:
    """A switch for every tag; those that are on."""
    tags = sorted({tag for name in names for tag in preset(name).about.tags} - {EXPLORE_TAG})
    found: list[str] | None = st.pills(
        "Only these tags", tags, selection_mode="multi", key="gallery_tags", persist_state="session"
    )
    return found or []


def cards(names: Sequence[str], tags: Collection[str]) -> None:
    """A card a preset that carries all of the tags."""
    shown = [name for name in names if set(tags) <= set(preset(name).about.tags)]
    if not shown:
        st.caption("No scenario carries all of these tags.")
    for start in range(0, len(shown), COLUMNS):
        for column, name in zip(st.columns(COLUMNS, gap="small"), shown[start : start + COLUMNS], strict=False):
            with column:
                _card(name)


def _card(name: str) -> None:
    about, drawn = preset(name).about, preset_pictures().get(name)
    with st.container(border=True, key=f"card_preset_{name}", height="stretch", gap="xsmall"):
        st.markdown(f"**{about.title}**")
        if drawn is not None:
            st.image(svg(drawn), width="stretch", alt=f"{about.title}: {words(drawn)}")
        st.markdown(about.question)
        st.caption(f"**Expect:** {about.reading}")
        st.caption(f"**Source:** {about.source}")
        with st.container(horizontal=True, vertical_alignment="center"):
            # A link of its own, not a page link: that would keep the knobs where they are.
            st.markdown(f'<a href="{_link(name)}" target="_self">Open in Explore</a>', unsafe_allow_html=True)
            st.caption(" · ".join(tag for tag in about.tags if tag != EXPLORE_TAG))


def _link(name: str) -> str:
    """Explore at a preset's own values; what is pinned stays pinned."""
    pins = {key: text for key, text in st.query_params.to_dict().items() if key in PINS}
    return f"./?{urlencode({PRESET: name, **pins})}".replace("&", "&amp;")
