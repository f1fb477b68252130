"""Your data and Trust in a real browser: charts, a fit from a dropped file, accessibility."""

import json
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[1] / "data"


def violations(page, axe):
    page.add_script_tag(path=axe)
    found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
    return [(each["id"], [node["html"][:160] for node in each["nodes"]][:3]) for each in found["violations"]]


def drop(page, file):
    page.set_input_files(".st-key-data_upload input[type=file]", str(file))
    page.wait_for_selector('[data-testid="stDataFrame"]', timeout=120_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_trust_draws_its_charts_and_is_accessible(server, page, settled, axe, scheme):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/trust?n=1000")
    settled(charts=2)
    assert "targets are met" in page.get_by_role("heading", level=1).inner_text()
    told = violations(page, axe)
    assert told == [], json.dumps(told, indent=1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("file", ["benchmarks/points.csv", "scrapes/vllm.prom"])
def test_a_dropped_file_draws_its_chart_and_is_accessible(server, page, settled, axe, scheme, file):
    page.emulate_media(color_scheme=scheme)
    page.goto(f"{server}/your_data?n=1000")
    settled(charts=0)
    drop(page, DATA / file)
    settled(charts=1)
    assert page.get_by_test_id("stException").count() == 0
    told = violations(page, axe)
    assert told == [], json.dumps(told, indent=1)


def test_a_fit_travels_to_explore_in_the_link(server, page, settled):
    page.goto(f"{server}/your_data?n=1000")
    settled(charts=0)
    drop(page, DATA / "benchmarks" / "points.csv")
    page.get_by_role("button", name="Use this step time").click()
    page.wait_for_url("**x=*")
    page.get_by_role("link", name="Explore").first.click()
    settled()
    page.reload()
    settled()
    assert page.get_by_text("calibrated on 4 measured points").count() >= 1
