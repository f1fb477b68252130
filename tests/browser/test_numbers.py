"""Numbers in the texts of a page: kept with their units, thousands apart on sliders, whatever Streamlit writes anew."""

import re

VALUE = ".st-key-{} [data-testid=stSliderThumbValue]"
NO_BREAK = "\N{NO-BREAK SPACE}"
TEXTS = "[...document.querySelectorAll('[data-testid=stMain] :is(h1, [data-testid=stCaptionContainer] p)')]"


def texts(page):
    return page.evaluate(f"{TEXTS}.map(each => each.innerText)")


def apart(found):
    """Numbers that a line may end behind, before their unit."""
    return [each for text in found for each in re.findall(r"\d (?:%|(?:ms|s|tokens|GPUs?|tokens/s)\b)", text)]


def test_a_slider_sets_thousands_apart_and_the_address_does_not(server, page, settled):
    page.goto(f"{server}/?preset=chat&rate=5")
    settled()
    assert page.locator(VALUE.format("n")).inner_text() == "10,000"
    page.get_by_label("Requests in the run").locator("input").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("location.search.includes('n=')")
    settled()
    moved = re.search(r"[?&]n=(\d+)", page.url)[1]
    assert page.locator(VALUE.format("n")).inner_text() == f"{int(moved):,}"
    assert page.locator(VALUE.format("rate")).inner_text() == "5"


def test_no_line_ends_between_a_number_and_its_unit(server, page, settled):
    page.goto(f"{server}/?preset=chat&n=1000")
    settled()
    before = texts(page)
    assert f"±10{NO_BREAK}%" in " ".join(before)
    assert apart(before) == []
    page.get_by_label("Rate (requests/s)").locator("input").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("location.search.includes('rate=')")
    settled()
    after = texts(page)
    assert after != before
    assert apart(after) == []
