"""When a page is at rest: everything has come and is drawn, and, where asked for, nothing is being computed."""

from typing import Any

CHARTS = 4  # of Explore
SVGS_OF_A_CHART = 3
LOOK_MS = 50
QUIET_MS = 400  # a page that runs again at the end of a job, or that React still fills, is at rest for a moment before

# Elements fade in, and our style sheet (ui/style.py) takes hold, a moment after the script has ended; tables and text
# come with a piece of Streamlit of their own, which is fetched when the first of them is drawn: a skeleton until then.
IS_DRAWN = """
() => document.querySelector('h1')
  && document.querySelector('[data-testid="stApp"]').dataset.testScriptState === 'notRunning'
  && !document.querySelector('[data-stale="true"], [data-testid="stSkeleton"]')
  && document.querySelectorAll('.js-plotly-plot .main-svg').length >= least
  && !document.getAnimations().some(a => a instanceof CSSTransition && a.playState === 'running')
  && [...document.querySelectorAll('[data-testid="stCaptionContainer"] p')]
    .every(e => getComputedStyle(e).opacity === '0.82')
"""
IS_COMPUTED = """
() => !document.querySelector('h1').innerText.includes(words)
  && !document.querySelector('[data-testid="stProgress"]')
  && ![...document.querySelectorAll('button')].some(each => each.innerText === 'Stop')
"""
IS_AT_REST = f"""
([least, words, quiet]) => {{
  const isDrawn = {IS_DRAWN.strip()}, isComputed = {IS_COMPUTED.strip()};
  const isAtRest = isDrawn() && (words === null || isComputed());
  window.restsSince = isAtRest ? window.restsSince ?? performance.now() : null;
  return isAtRest && performance.now() - window.restsSince > quiet;
}}
"""


def wait_until_drawn(page: Any, charts: int = CHARTS) -> None:
    """Until the script has run and all it asked for has come, at least that many charts among it."""
    wait_for_rest(page, charts, None)


def wait_for_results(page: Any, words_while_searching: str, charts: int = 0) -> None:
    """Until, besides, nothing is being computed: neither progress nor Stop, nor these words in the first line."""
    wait_for_rest(page, charts, words_while_searching)


def wait_for_rest(page: Any, charts: int, words: str | None) -> None:
    page.evaluate("window.restsSince = null")
    arg = [charts * SVGS_OF_A_CHART, words, QUIET_MS]
    page.wait_for_function(IS_AT_REST, arg=arg, polling=LOOK_MS, timeout=240_000)
