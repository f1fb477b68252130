"""The glossary as a script: numbers follow the run, words do not."""

from streamlit.testing.v1 import AppTest

from sim.studies.validation import shipped
from sim.view.glossary import GROUPS, USAGES, glossary_verdict
from sim.view.memory import MEMORY_STYLE
from sim.view.run_view import run_view
from sim.view.trust import ASSUMPTIONS
from tests.page_script import MAIN, headline


def glossary(**query: str) -> AppTest:
    app = AppTest.from_file(MAIN, default_timeout=120)
    for key, text in {"n": "300", **query}.items():
        app.query_params[key] = text
    app.run()
    app.switch_page("glossary.py").run()
    assert not app.exception
    return app


def text(app: AppTest) -> str:
    return "\n".join(each.value for each in app.main.markdown)


def test_every_word_usage_row_assumption_and_limit_is_there() -> None:
    shown = text(glossary())
    for term in (term for group in GROUPS for term in group.terms):
        assert f"**{term.name}** `{term.formula}` {term.meaning}" in shown
    for usage in USAGES:
        assert f"| {usage.word} | {usage.who} | {usage.means} | {usage.here} |" in shown
    for sentence in (*ASSUMPTIONS, *shipped()["not_modelled"], *(row.definition for row in MEMORY_STYLE.values())):
        assert sentence in shown


def test_a_knob_changes_the_examples_and_not_the_words() -> None:
    def split(app: AppTest) -> tuple[str, list[str]]:
        lines = text(app).split("\n")
        return "\n".join(line.partition(" *Here:")[0] for line in lines), [line for line in lines if "*Here:" in line]

    (words, here), (same_words, other) = split(glossary()), split(glossary(rate="30"))
    assert words == same_words
    changed = {one.partition("*Here:")[0] for one, two in zip(here, other, strict=True) if one != two}
    assert any(line.startswith("- **TTFT**") for line in changed)
    assert not any(line.startswith("- **CV**") for line in changed)  # lengths stay as they are


def test_it_opens_with_a_verdict_of_the_run() -> None:
    app = glossary()
    asked = app.session_state.asked
    assert headline(app) == glossary_verdict(run_view(asked.scenario).summary)


def test_a_scenario_that_cannot_run_leaves_the_words() -> None:
    app = glossary(model="Llama-3.1-405B")
    assert "Llama-3.1-405B" in app.error[0].value
    assert "*Here:" not in text(app)
    assert "**TPOT**" in text(app)
