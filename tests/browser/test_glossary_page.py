"""The glossary in a real browser: numbers follow the run, words do not."""

from tests.browser.answers import press


def split(page):
    """Words of each term, and its number in this run."""
    items = page.locator(".st-key-card_terms li").all_inner_texts()
    return [item.partition("Here: ")[0] for item in items], {
        words.split()[0]: number for words, _, number in (item.partition("Here: ") for item in items) if number
    }


def test_a_knob_moves_the_numbers_of_this_run_and_leaves_the_words(server, page, settled):
    page.goto(f"{server}/glossary?n=1000")
    settled(charts=0)
    words, numbers = split(page)
    press(page, "rate", "End")
    page.wait_for_url("**rate=*")
    page.wait_for_function(
        "before => ![...document.querySelectorAll('.st-key-card_terms li')].some(li => li.innerText.includes(before))",
        arg=numbers["TTFT"],
    )
    settled(charts=0)
    same_words, others = split(page)
    assert same_words == words
    assert others["TTFT"] != numbers["TTFT"]  # more wait
    assert others["CV"] == numbers["CV"]  # for answers of the same lengths
