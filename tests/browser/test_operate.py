"""Operate in a real browser: answers read off the page, links, accessibility."""

import re

import numpy as np
import pytest

from sim.presets import preset
from sim.simulate import simulate
from sim.studies.caps import cap_point
from sim.view.number_words import short_percent
from sim.workload.retries import Retry
from tests.browser.answers import number, press, verdict
from tests.browser.rest import wait_for_results

pytestmark = pytest.mark.slow  # waits for studies to end

COMPUTING = "omputing"


def percent(text):
    if text.endswith("times as many"):
        return 100 * (float(text.split()[0]) - 1)
    size, which = text.split(" % ")
    return float(size) if which == "more" else -float(size)


@pytest.mark.parametrize("name", ["code", "summarisation"])
def test_what_a_cap_of_512_costs(server, page, name):
    page.goto(f"{server}/operate?preset={name}")
    wait_for_results(page, COMPUTING)
    read = re.match(
        r"A cap of 512 tokens cuts ([\d.]+ %) of answers and loses ([\d.]+ %) of all tokens wanted; a full "
        r"server then gives ([\d.]+ (?:% more|% fewer|times as many)) answers/s"
        r"(?:, (?:but|still) ([\d.]+ % (?:more|fewer)) if clients ask for the rest)?\.",
        verdict(page),
    )
    assert read is not None, verdict(page)
    run = simulate(preset(name))
    wanted = np.minimum(run.info.true_len, run.resolved.max_model_len - run.inputs.prompt_len)
    assert read.group(1) == short_percent((wanted > 512).mean())
    assert read.group(2) == short_percent(1 - wanted.clip(max=512).sum() / wanted.sum())
    base, never, rest = (
        cap_point(preset(name), *each) for each in ((None, Retry.NEVER), (512, Retry.NEVER), (512, Retry.REST))
    )
    assert percent(read.group(3)) == pytest.approx(100 * (never.answers_per_s / base.answers_per_s - 1), abs=0.6)
    if read.group(4):
        assert percent(read.group(4)) == pytest.approx(100 * (rest.answers_per_s / base.answers_per_s - 1), abs=0.6)


@pytest.mark.parametrize("name", ["code", "summarisation"])
def test_what_the_sla_assumes(server, page, name):
    page.goto(f"{server}/operate?preset={name}")
    wait_for_results(page, COMPUTING)
    assumed = preset(name).slo.assumed
    sheet = page.locator(".st-key-card_sla")
    if assumed is None:
        assert sheet.get_by_text("The target states no assumption on output lengths").count() == 1
    else:
        said = sheet.get_by_text("The target assumes answers of").inner_text()
        for label in ("mean", "p50", "p99", "cap"):
            if (value := getattr(assumed, label)) is not None:
                assert number(said.split(f"{label} ")[1]) == value
    to_paste = sheet.get_by_test_id("stCode").inner_text()
    result = simulate(preset(name))
    assert f"{short_percent(result.attainment.share)} within" in to_paste
    assert f"mean {result.inputs.output_len.mean():,.0f}" in to_paste
    assert ("It assumes output lengths of" in to_paste) == (assumed is not None)


def test_a_link_restores_cap_target_tail_and_replicas(server, page):
    page.goto(f"{server}/operate?preset=long-prompts&n=600&opcap=256&optarget=95&optail=3&oppools=6")
    wait_for_results(page, COMPUTING)
    assert verdict(page).startswith("A cap of 256 tokens")
    assert "Target: 95 % of requests" in page.get_by_test_id("stCode").last.inner_text()
    assert "the best of 5 ways to deal 6 replicas" in page.locator(".st-key-card_types").inner_text()
    assert all(part in page.url for part in ("opcap=256", "optarget=95", "optail=3", "oppools=6"))


def test_another_cap_changes_the_verdict_and_not_the_target(server, page):
    page.goto(f"{server}/operate?n=600")
    wait_for_results(page, COMPUTING)
    before, target = verdict(page), page.get_by_test_id("stCode").last.inner_text()
    press(page, "opcap", "ArrowLeft")
    page.wait_for_url("**opcap=384*")
    page.wait_for_function("() => /A cap of 384\\stokens/.test(document.querySelector('h1').innerText)", timeout=60_000)
    wait_for_results(page, COMPUTING)
    assert verdict(page) != before
    assert page.get_by_test_id("stCode").last.inner_text() == target
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["heavy-tail", "mixed-pool"])
def test_operate_is_accessible(server, page, violations, scheme, name):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/operate?preset={name}&n=600")
    wait_for_results(page, COMPUTING, 2)
    assert violations() == ""
