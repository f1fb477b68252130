"""Pictures of presets: what ships is what a run gives, and what is drawn is what the numbers say."""

import re
from xml.etree import ElementTree

import pytest

from sim.presets import preset, preset_names
from sim.simulate import simulate
from sim.view.picture import HEIGHT_PX, Picture, picture, svg, words
from sim.view.preset_pictures import drawn, preset_pictures

ROUNDING = 1  # of whole percents and thousandths
EMPTY = Picture([0, 10], {"typical answers": [50] * 48} | {layer: [0] * 48 for layer in ("stragglers", "idle cache")})


def test_every_preset_to_explore_has_its_picture() -> None:
    assert set(preset_pictures()) == set(preset_names("explore"))


@pytest.mark.parametrize("name", preset_names("explore"))
def test_the_shipped_picture_is_what_a_run_gives(name: str) -> None:
    shipped, found = preset_pictures()[name], drawn(name)
    again = "`python -m sim.view.preset_pictures` draws them anew"
    assert found.lengths == pytest.approx(shipped.lengths, abs=ROUNDING), again
    assert found.memory.keys() == shipped.memory.keys()
    for layer, shares in found.memory.items():
        assert shares == pytest.approx(shipped.memory[layer], abs=ROUNDING), again


def test_lengths_of_the_textbook_straggler_are_two_bars() -> None:
    """31 answers of 100 tokens and one of 2,000: 2 log2(100) = 13.3, 2 log2(2000) = 21.9."""
    lengths = picture(simulate(preset("textbook-straggler"))).lengths
    assert {place: count for place, count in enumerate(lengths) if count} == {13: 969, 21: 31}


def test_memory_that_is_half_full_is_drawn_half_as_high() -> None:
    full = EMPTY._replace(memory=EMPTY.memory | {"set aside or kept back": [0] * 48})
    (area,) = ElementTree.fromstring(svg(full)).findall("{http://www.w3.org/2000/svg}polygon")
    heights = {float(point.split(",")[1]) for point in area.attrib["points"].split()}
    assert heights == {HEIGHT_PX, HEIGHT_PX / 2}


def test_words_say_what_the_picture_shows() -> None:
    assert words(EMPTY) == "Most answers have about 1 tokens. KV memory on average: 50 % typical answers."


@pytest.mark.parametrize("name", preset_names("explore"))
def test_a_picture_is_one_small_document_without_anything_from_elsewhere(name: str) -> None:
    text = svg(preset_pictures()[name])
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert len(text) < 12_000
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
