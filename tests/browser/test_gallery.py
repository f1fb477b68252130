"""The preset gallery in a real browser."""

import json

import pytest


def violations(page, axe):
    page.add_script_tag(path=axe)
    found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
    return [(each["id"], [node["html"][:160] for node in each["nodes"]][:3]) for each in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_come_from_the_host_and_the_page_is_accessible(server, page, settled, axe, scheme):
    outside: list[str] = []
    own = (server, "data:", "blob:", server.replace("http", "ws"))
    page.on("request", lambda request: None if request.url.startswith(own) else outside.append(request.url))
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/gallery?n=1000")
    settled(charts=0)
    page.wait_for_function("document.querySelectorAll('[data-testid=stMain] img').length >= 18")
    images = "[...document.querySelectorAll('[data-testid=stMain] img')]"
    drawn = page.evaluate(f"{images}.map(i => [i.alt, i.naturalWidth])")
    assert all("KV memory on average" in alt and width > 0 for alt, width in drawn)
    told = violations(page, axe)
    assert told == [], json.dumps(told, indent=1)
    assert outside == []


def test_a_card_opens_its_preset_in_the_same_tab(server, page, settled):
    page.goto(f"{server}/gallery?rate=5&n=1000")
    settled(charts=0)
    page.locator(".st-key-card_preset_burst").get_by_role("link", name="Open in Explore").click()
    page.wait_for_url("**preset=burst*")
    settled()
    assert page.get_by_text("What do bursts cost").count() == 1
    assert page.locator(".st-key-rate input[type=range]").first.get_attribute("aria-valuetext") == "15"
