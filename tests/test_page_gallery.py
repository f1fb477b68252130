"""The preset gallery as a script: what stands on the cards, and what the tags leave."""

from streamlit.testing.v1 import AppTest

from sim.presets import preset, preset_names
from tests.page_script import MAIN

EXPLORE = preset_names("explore")


def gallery(**query: str) -> AppTest:
    """The page, at a link."""
    app = AppTest.from_file(MAIN, default_timeout=120)
    for key, text in {"n": "300", **query}.items():
        app.query_params[key] = text
    app.run()
    app.switch_page("gallery.py").run()
    assert not app.exception
    return app


def titles(app: AppTest) -> set[str]:
    """Titles of the cards."""
    return {text.value.strip("*") for text in app.main.markdown if text.value.startswith("**")}


def test_every_preset_has_a_card_with_question_reading_and_source() -> None:
    app = gallery()
    assert titles(app) == {preset(name).about.title for name in EXPLORE}
    shown = {text.value for text in [*app.main.markdown, *app.main.caption]}
    for name in EXPLORE:
        about = preset(name).about
        assert {about.question, f"**Expect:** {about.reading}", f"**Source:** {about.source}"} <= shown


def test_tags_leave_the_cards_that_carry_all_of_them() -> None:
    app = gallery()
    pills = next(group for group in app.get("button_group") if group.key == "gallery_tags")
    pills.set_value(["paper"]).run()
    assert titles(app) == {preset(name).about.title for name in EXPLORE if name.startswith("paper-")}
    pills.set_value(["paper", "memory"]).run()
    assert titles(app) == {preset("paper-vllm").about.title}
    pills.set_value(["paper", "closed loop"]).run()
    assert titles(app) == set()
    assert "No scenario carries all of these tags." in {text.value for text in app.main.caption}


def test_a_knob_changes_nothing_on_the_cards() -> None:
    assert titles(gallery(rate="2", seqs="8")) == titles(gallery())


def test_a_card_opens_its_preset_and_keeps_what_is_pinned() -> None:
    links = [text.value for text in gallery(p1="abc", rate="5").main.markdown if "href" in text.value]
    assert [link.split('"')[1] for link in links] == [f"./?preset={name}&amp;p1=abc" for name in EXPLORE]
