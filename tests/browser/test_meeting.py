"""Meeting mode in a real browser: keys, type, accessibility."""

from urllib.parse import urlencode

import pytest

from sim.keys import pack

PINS = {f"p{i}": pack({"v": "1", "preset": "chat", "n": "1000", "rate": rate}) for i, rate in ((1, "4"), (2, "16"))}
LINK = f"/?{urlencode({'meet': '1', 'n': '1000', **PINS})}"


def names(page):
    """Names of the lines of the left picture."""
    return page.evaluate(
        "document.querySelector('.st-key-plot_meeting_latency .js-plotly-plot')._fullData"
        ".filter(t => t.showlegend).map(t => t.name.split(',')[0])"
    )


def lowest_chart(page):
    """Where the lower of the two pictures ends, in pixels."""
    return page.evaluate(
        "Math.max(...[...document.querySelectorAll('.js-plotly-plot')].map(e => e.getBoundingClientRect().bottom))"
    )


def stepped(page, key, text):
    page.keyboard.press(key)
    page.get_by_text(text, exact=False).wait_for()


def test_keys_step_through_the_runs_and_end_it(server, page, settled):
    page.goto(server + LINK)
    settled(charts=2)
    assert not page.get_by_test_id("stSidebar").is_visible()
    assert names(page) == ["pin 1", "pin 2", "current"]
    stepped(page, "ArrowRight", "Run 2 of 3")
    settled(charts=2)
    page.wait_for_function(
        "document.querySelector('.st-key-plot_meeting_latency .js-plotly-plot')._fullData"
        ".some(t => t.name.startsWith('pin 1') && t.line.color === '#0072B2')"
    )
    stepped(page, "ArrowLeft", "Run 1 of 3")
    stepped(page, "ArrowLeft", "Run 3 of 3")
    page.keyboard.press("Escape")
    page.get_by_test_id("stMetric").first.wait_for()
    settled()
    assert page.get_by_test_id("stSidebar").is_visible()
    assert "meet" not in page.url


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720)])
def test_a_broken_pin_is_told_in_one_sentence_and_all_fits_the_screen(server, page, settled, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(f"{server}/?{urlencode({'meet': '1', 'n': '1000', **PINS, 'p3': 'garbage'})}")
    settled(charts=2)
    assert page.get_by_role("alert").locator("p").all_text_contents() == [
        "Pin 3 cannot be shown: p3 is 'garbage'; packed values of at most a megabyte are needed."
    ]
    assert names(page) == ["pin 1", "pin 2", "current"]
    assert lowest_chart(page) <= size[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (1920, 1080)])
def test_it_fits_the_screen_and_is_accessible(server, page, settled, violations, scheme, size):
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.emulate_media(color_scheme=scheme)
    page.goto(server + LINK)
    settled(charts=2)
    assert lowest_chart(page) <= size[1]
    assert page.evaluate("parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)") >= 28
    assert violations() == ""
