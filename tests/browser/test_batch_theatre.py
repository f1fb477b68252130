"""Batch theatre in a real browser: plays without the server, by keyboard too, and is accessible."""

from typing import Any

import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.theatre_play import play
from sim.view.theatre_words import lines, story

pytestmark = pytest.mark.slow  # waits for studies to end

TIGHT = "/batch_theatre?preset=memory-pressure&at=saturated"


@pytest.fixture
def stage(server, page, settled):
    page.goto(server + TIGHT)
    settled(charts=0)
    page.wait_for_function("document.querySelector('.theatre .words')?.textContent.startsWith('Step 0:')")
    return page


@pytest.fixture(scope="module")
def recorded():
    return play(preset("memory-pressure"), is_saturated=True, num_requests=150)


def words(page: Any) -> str:
    text: str = page.locator(".theatre .words").inner_text()
    return text


def step(page: Any) -> int:
    return int(page.locator(".theatre .where input").input_value())


def click(page: Any, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def line(run: Any, at: int) -> str:
    return next(each.text for each in reversed(lines(run)) if each.first <= at)


def test_buttons_step_and_jump_and_the_line_says_what_the_table_says(stage, recorded):
    assert words(stage) == f"Step 0: {line(recorded, 0)}."
    click(stage, "Step")
    assert words(stage) == f"Step 1: {line(recorded, 1)}."
    click(stage, "Next preemption")
    first = step(stage)
    assert "no free block, request" in words(stage)
    assert words(stage) == f"Step {first}: {line(recorded, first)}."
    click(stage, "Next preemption")
    assert step(stage) > first
    click(stage, "Worst stall")
    assert step(stage) == recorded.stall.last
    assert stage.locator(".theatre .story").inner_text() == story(recorded, recorded.stall.request)
    click(stage, "First")
    assert step(stage) == 0


def test_counts_and_queue_are_those_of_the_table(stage, recorded):
    click(stage, "Next preemption")
    at = step(stage)
    table = recorded.table
    assert stage.locator(".theatre .memory").inner_text() == (
        f"KV memory: {recorded.result.resolved.usable_blocks - table.free_scheduled[at]:,} of "
        f"{recorded.result.resolved.usable_blocks:,} blocks, {table.running[at]} running"
    )
    shown = [int(text) for text in stage.locator(".theatre .queue li").all_inner_texts()]
    queue = [ids for first, ids in recorded.queues if first <= at][-1]
    assert shown == queue[:40]
    told = stage.locator(".theatre .waiting").inner_text()
    assert told == f"Queue: {table.waiting[at]} waiting, first to be served first"


def test_playing_needs_no_word_from_the_server(server, page, settled):
    frames: list[Any] = []

    def listen(socket: Any) -> None:
        for event in ("framesent", "framereceived"):
            socket.on(event, lambda frame: frames.append(frame))

    page.on("websocket", listen)
    page.goto(server + TIGHT)
    settled(charts=0)
    page.wait_for_function("document.querySelector('.theatre .words')?.textContent.startsWith('Step 0:')")
    page.get_by_label("Speed").select_option("100")
    page.wait_for_timeout(500)
    frames.clear()
    click(page, "Play")
    page.wait_for_function("Number(document.querySelector('.theatre .where input').value) > 100")
    click(page, "Pause")
    stopped = step(page)
    assert stopped < 4000
    assert frames == []
    page.wait_for_timeout(300)
    assert step(page) == stopped


def test_it_can_be_used_by_keyboard_alone(stage):
    stage.locator(".theatre canvas").first.focus()
    stage.keyboard.press("ArrowRight")
    stage.keyboard.press("ArrowRight")
    assert step(stage) == 2
    stage.keyboard.press("ArrowLeft")
    assert step(stage) == 1
    stage.keyboard.press("p")
    assert "preempted" in words(stage)
    stage.keyboard.press(" ")
    stage.wait_for_function("document.querySelector('.theatre [data-do=play]').textContent === 'Pause'")
    stage.keyboard.press(" ")
    stage.keyboard.press("Home")
    assert step(stage) == 0
    stage.locator(".theatre .where input").focus()
    stage.keyboard.press("End")
    assert step(stage) == int(stage.locator(".theatre .where input").get_attribute("max"))


def test_pointing_at_a_request_tells_its_story(stage, recorded):
    box = stage.locator(".theatre canvas").first.bounding_box()
    stage.mouse.move(box["x"] + 30, box["y"] + 2)
    assert stage.locator(".theatre .story").inner_text() == story(recorded, recorded.lanes.index(0))
    blocks = stage.locator(".theatre canvas").nth(1).bounding_box()
    stage.mouse.move(blocks["x"] + 3, blocks["y"] + 3)
    assert stage.locator(".theatre .story").inner_text() == story(recorded, 0)


@pytest.mark.parametrize("text", ["150", "-1", "1.5"])
def test_a_number_that_no_request_has_is_said_so(stage, text):
    stage.get_by_label("Request", exact=True).fill(text)
    told = "There is no such request: those of this play are 0 to 149."
    assert stage.locator(".theatre .story").inner_text() == told
    stage.get_by_label("Request", exact=True).fill("")
    assert stage.locator(".theatre .story").inner_text().startswith("Point at a request")


def test_a_knob_brings_another_run_and_a_limit_leaves_the_step(stage):
    click(stage, "Next preemption")
    before = words(stage)
    stage.get_by_text("Targets and seed").click()
    knob = stage.locator(".st-key-tpot input[type=range]").first
    knob.focus()
    knob.press("ArrowRight")
    stage.wait_for_url("**tpot=*")
    stage.wait_for_timeout(500)
    assert words(stage) == before
    seed = stage.locator(".st-key-seed input[type=range]").first
    seed.focus()
    seed.press("ArrowRight")
    stage.wait_for_url("**seed=*")
    other = play(with_values(preset("memory-pressure"), {"seed": 1}), is_saturated=True, num_requests=150)
    stage.wait_for_function(
        "text => document.querySelector('.theatre .words').textContent === text", arg=f"Step 0: {line(other, 0)}."
    )


def test_no_preemption_no_button(server, page, settled):
    page.goto(f"{server}/batch_theatre?preset=textbook-straggler")
    settled(charts=0)
    page.wait_for_function("document.querySelector('.theatre .words')?.textContent.startsWith('Step 0:')")
    assert page.get_by_role("button", name="Next preemption").is_disabled()
    assert page.get_by_role("button", name="Worst stall").is_disabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(server, page, settled, violations, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(server + TIGHT)
    settled(charts=0)
    page.wait_for_function("document.querySelector('.theatre .words')?.textContent.startsWith('Step 0:')")
    click(page, "Next preemption")
    assert violations() == ""
