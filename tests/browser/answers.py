"""What a reader takes from a page (its first sentence, tiles and curves), and does on it."""

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


def tile(page: Any, label: str) -> str:
    """Number on the tile of that label."""
    found = page.get_by_test_id("stMetric").filter(has_text=label)
    text: str = found.get_by_test_id("stMetricValue").inner_text()
    return text


def plot(page: Any, key: str, expression: str) -> Any:
    """Evaluate an expression of `p`, the chart of that key."""
    return page.evaluate(f"(p => {expression})(document.querySelector('.st-key-plot_{key} .js-plotly-plot'))")


def knob_text(page: Any, key: str) -> str | None:
    """Where a slider stands."""
    text: str | None = page.locator(f".st-key-{key} input[type=range]").first.get_attribute("aria-valuetext")
    return text


def press(page: Any, key: str, button: str) -> None:
    """Move a slider by keyboard."""
    knob = page.locator(f".st-key-{key} input[type=range]").first
    knob.focus()
    knob.press(button)
