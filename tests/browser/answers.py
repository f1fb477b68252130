"""What a reader takes from a page: numbers in its first sentence and on its tiles."""

import re
from typing import Any


def verdict(page: Any) -> str:
    """The first line."""
    text: str = page.get_by_role("heading", level=1).inner_text().replace("\N{NO-BREAK SPACE}", " ")
    return text


def number(text: str) -> float:
    """The first number in a text, whatever stands around it."""
    found = re.search(r"[\d,]*\.?\d+", text)
    assert found is not None, text
    value = float(found.group().replace(",", ""))
    return value * 1000 if text[found.end() : found.end() + 1] == "k" else value


def seconds(text: str) -> float:
    """A time as it is told, in ms or in s."""
    return number(text) / (1000 if text.endswith("ms") else 1)


def wait_for_results(page: Any, words_while_searching: str) -> None:
    """Until the page has been drawn and nothing on it is being computed."""
    page.wait_for_function(
        "words => document.querySelector('h1') && !document.querySelector('h1').innerText.includes(words)"
        " && document.querySelector('[data-testid=\"stApp\"]').dataset.testScriptState === 'notRunning'"
        " && !document.querySelector('[data-testid=\"stProgress\"]')"
        " && ![...document.querySelectorAll('button')].some(each => each.innerText === 'Stop')",
        arg=words_while_searching,
        timeout=240_000,
    )
