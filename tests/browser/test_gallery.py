"""The preset gallery in a real browser."""

import re

import pytest

from sim.presets import preset_names
from tests.browser.answers import press


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_come_from_the_host_and_the_page_is_accessible(server, page, settled, violations, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/gallery?n=1000")
    settled(charts=0)
    page.wait_for_function("document.querySelectorAll('[data-testid=stMain] img').length >= 18")
    images = "[...document.querySelectorAll('[data-testid=stMain] img')]"
    drawn = page.evaluate(f"{images}.map(i => [i.alt, i.naturalWidth])")
    assert all("KV memory on average" in alt and width > 0 for alt, width in drawn)
    assert violations() == ""


def test_a_tag_leaves_the_cards_that_carry_it_and_a_knob_leaves_them_all(server, page, settled):
    cards = page.locator("[class*=st-key-card_preset_]")
    page.goto(f"{server}/gallery?n=1000")
    settled(charts=0)
    every = cards.all_inner_texts()
    press(page, "rate", "End")
    page.wait_for_url("**rate=*")
    settled(charts=0)
    assert cards.all_inner_texts() == every
    page.get_by_role("button", name="paper", exact=True).click()
    page.wait_for_function("n => document.querySelectorAll('[class*=st-key-card_preset_]').length < n", arg=len(every))
    settled(charts=0)
    names = page.evaluate("[...document.querySelectorAll('[class*=st-key-card_preset_]')].map(card => card.className)")
    assert sorted(re.search(r"card_preset_(\S+)", name)[1] for name in names) == [
        name for name in preset_names("explore") if name.startswith("paper-")
    ]


def test_a_card_opens_its_preset_in_the_same_tab(server, page, settled):
    page.goto(f"{server}/gallery?rate=5&n=1000")
    settled(charts=0)
    page.locator(".st-key-card_preset_burst").get_by_role("link", name="Open in Explore").click()
    page.wait_for_url("**preset=burst*")
    settled()
    assert page.get_by_text("What do bursts cost").count() == 1
    assert page.locator(".st-key-rate input[type=range]").first.get_attribute("aria-valuetext") == "15"
