"""Capacity in a real browser: the answer read off the page, links, progress, accessibility."""

import re

import pytest

from sim.presets import preset
from sim.studies.bill import bill
from sim.studies.capacity import capacity
from sim.studies.load_curve import without_load
from tests.browser.answers import number, press, tile, verdict
from tests.browser.rest import wait_for_results

pytestmark = pytest.mark.slow  # waits for studies to end


def wait_for_answer(page):
    """Until all replications have been searched and nothing is left to stop."""
    page.wait_for_function("() => document.body.innerText.includes('replications)')", timeout=240_000)
    wait_for_results(page, "Searching")


@pytest.mark.parametrize("name", ["code", "summarisation"])
def test_how_many_gpus_50_requests_a_second_need_and_at_what_price(server, page, name):
    page.goto(f"{server}/capacity?preset={name}")
    wait_for_answer(page)
    read = re.match(
        r"50 requests/s need ([\d,]+) replicas? = ([\d,]+) ([\w-]+), \$([\d,.]+)/h: one replica sustains ([\d.,]+) ",
        verdict(page),
    )
    assert read is not None, verdict(page)
    found = capacity(without_load(preset(name)))
    cost = bill(found, 50.0, headroom=0.2)
    assert [number(read.group(i)) for i in (1, 2)] == [cost.replicas, cost.gpus]
    assert read.group(3) == preset(name).deployment.gpu
    assert number(read.group(4)) == pytest.approx(cost.usd_per_hour, rel=5e-4, abs=0.005)
    assert number(read.group(5)) == pytest.approx(found.sustained.rate_rps, rel=5e-3)
    assert number(tile(page, "Price of 1M output tokens")) == pytest.approx(cost.usd_per_million_tokens, rel=0.01)


def test_a_link_restores_load_headroom_share_and_price(server, page):
    page.goto(f"{server}/capacity?n=1500&need=120&room=10&within=95&usd=3.5&ifcap=256")
    wait_for_answer(page)
    assert verdict(page).startswith("120 requests/s need ")
    assert "95 % of requests within the limits, 10 % of each kept free" in verdict(page)
    gpus = number(tile(page, "GPUs"))
    assert number(tile(page, "Price an hour")) == pytest.approx(3.5 * gpus)
    page.get_by_text("Cap of 256 tokens").first.wait_for()
    page.reload()
    wait_for_answer(page)
    assert number(tile(page, "GPUs")) == gpus
    assert all(part in page.url for part in ("need=120", "room=10", "within=95", "usd=3.5", "ifcap=256"))


def test_more_load_needs_more_replicas_and_the_search_stays(server, page, settled):
    page.goto(f"{server}/capacity?n=1500")
    wait_for_answer(page)
    rate, replicas = tile(page, "One replica sustains"), number(tile(page, "Replicas"))
    press(page, "room", "End")
    page.wait_for_url("**room=50*")
    page.wait_for_function("() => /50.% of each kept free/.test(document.querySelector('h1').innerText)")
    settled(charts=3)
    assert number(tile(page, "Replicas")) > replicas
    assert tile(page, "One replica sustains") == rate
    assert page.get_by_test_id("stException").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_capacity_is_accessible(server, page, settled, violations, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/capacity?n=1500")
    wait_for_answer(page)
    settled(charts=3)
    assert violations() == ""
