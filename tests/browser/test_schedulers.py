"""Schedulers in a real browser: who serves most read off the page, the table sorted, live and accessible."""

import re
from typing import Any

import numpy as np
import pytest

from sim.presets import preset
from sim.scenario import Scenario, with_values
from sim.simulate import simulate
from sim.studies.reach import SHARES
from sim.systems import SYSTEMS
from tests.browser.answers import number, plot, press, seconds, verdict
from tests.browser.rest import wait_for_results

pytestmark = pytest.mark.slow  # waits for studies to end

NOTHING = "never said"  # the first sentence has a meaning from the first run on
CHARTS = 2
GRID = "[data-testid=stDataFrame] table[role=grid]"
HEADERS = f"{GRID} [role=columnheader]"
SAMPLE = 10_000  # requests of a run against load, where the preset has so many
GOOD = 0.9


def open_schedulers(page: Any, server: str, query: str) -> None:
    page.goto(f"{server}/schedulers?{query}")
    wait_for_results(page, NOTHING, CHARTS)


def table(page: Any) -> list[dict[str, str]]:
    """The table as it stands, line by line: the grid keeps one for those who do not see its canvas."""
    head = [re.sub("[↑↓]", "", each).strip() for each in page.locator(HEADERS).all_text_contents()]
    rows = page.locator(f"{GRID} tbody [role=row]").all()
    return [dict(zip(head, row.locator("[role=gridcell]").all_text_contents(), strict=True)) for row in rows]


def grid_text(page: Any) -> str:
    text: str = page.locator(GRID).inner_text()
    return text


def lines(page: Any, panel: str) -> dict[str, tuple[list[float], list[float]]]:
    """Curves of one panel against load, by scheduler."""
    drawn = plot(
        page,
        "compare_load",
        f"p._fullData.filter(t => t.yaxis === '{panel}').map(t => [t.name, Array.from(t.x), Array.from(t.y)])",
    )
    return {name: (x, y) for name, x, y in drawn}


def share_within(scenario: Scenario) -> float:
    """Share of requests within both limits, from each request's own times."""
    run, slo = simulate(scenario), scenario.slo
    is_quick = run.ttft_s <= slo.ttft_ms / 1000
    is_fluent = np.nan_to_num(run.tpot_s, nan=0.0) <= slo.tpot_ms / 1000  # one token has no time per token
    return float((is_quick & is_fluent).mean())


@pytest.mark.parametrize("name", ["rag", "burst"])
def test_which_scheduler_serves_most_within_the_slo(server, page, name):
    open_schedulers(page, server, f"preset={name}")
    read = re.match(
        r"(.+) serves? most within the limits: (?:about )?([\d.,k]+) requests/s with 90 % of requests good"
        r"(?:, (.+) ([\d.,k]+))?\.",
        verdict(page),
    )
    assert read is not None, verdict(page)
    most, best = number(read.group(2)), re.split(", | and ", read.group(1))
    own = with_values(preset(name), {"workload.num_requests": min(preset(name).workload.num_requests, SAMPLE)})
    for title in lines(page, "y4"):
        system = next(each for each, system in SYSTEMS.items() if system.title == title)
        chosen = {"system": system}
        if SYSTEMS[system].idea == SYSTEMS[own.scheduler.system].idea:
            chosen["enable_prefix_caching"] = own.scheduler.enable_prefix_caching
        asked = own if system == own.scheduler.system else with_values(own, {"scheduler": chosen})
        keeps, loses = (
            share_within(with_values(asked, {"workload.arrivals.rate_rps": each * most})) for each in (0.97, 1.035)
        )
        assert (keeps >= GOOD) == (title in best)
        assert loses < GOOD


def test_a_header_sorts_the_table(server, page):
    open_schedulers(page, server, "n=600")
    before = table(page)
    box = page.get_by_test_id("stDataFrame").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 12)
    page.wait_for_function(f"[...document.querySelectorAll('{HEADERS}')].some(th => th.innerText.includes('↑'))")
    column = page.locator(HEADERS).filter(has_text="↑").inner_text().replace("↑", "").strip()
    after = table(page)
    told = [number(line[column]) for line in after]
    assert told == sorted(told)
    assert told != [number(line[column]) for line in before]
    assert sorted(map(str, after)) == sorted(map(str, before))


def test_the_rate_moves_the_run_as_asked_and_leaves_the_curves(server, page):
    open_schedulers(page, server, "n=600")
    before, curves, said = table(page), lines(page, "y"), verdict(page)
    press(page, "rate", "ArrowRight")
    page.wait_for_url("**rate=*")
    page.wait_for_function(f"told => document.querySelector('{GRID}').innerText !== told", arg=grid_text(page))
    wait_for_results(page, NOTHING, CHARTS)
    after = table(page)
    assert [line["scheduler"] for line in after] == [line["scheduler"] for line in before]
    for old, new in zip(before, after, strict=True):
        assert new["output tokens/s"] != old["output tokens/s"]
    assert lines(page, "y") == curves
    assert verdict(page) == said


def test_same_limits_move_the_others_and_leave_the_scenarios_own(server, page):
    open_schedulers(page, server, "n=600&seqs=4")
    before, curves = table(page), lines(page, "y2")
    page.get_by_text("Same limits for all").click()
    page.wait_for_url("**cmplimits=*")
    page.wait_for_function(f"told => document.querySelector('{GRID}').innerText !== told", arg=grid_text(page))
    wait_for_results(page, NOTHING, CHARTS)
    after = table(page)
    own, others = after[0]["scheduler"], [line["scheduler"] for line in after[1:]]
    column = "p99 TTFT"
    assert own == "vLLM V1"
    assert seconds(after[0][column]) == seconds(before[0][column])
    now, then = (dict(zip(*drawn[own], strict=True)) for drawn in (lines(page, "y2"), curves))
    both = now.keys() & then.keys()  # loads go on to what the best of them takes in
    assert len(both) >= len(SHARES)
    assert all(now[load] == then[load] for load in both)
    assert seconds(after[others.index("Sarathi-Serve") + 1][column]) > 2 * seconds(
        before[others.index("Sarathi-Serve") + 1][column]
    )


def test_who_is_taken_out_goes_and_the_others_stay(server, page):
    open_schedulers(page, server, "n=600")
    before, curves = table(page), lines(page, "y3")
    page.get_by_role("button", name="Remove Static batching").click()
    page.wait_for_url("**cmpsched=*")
    page.wait_for_function(f"told => document.querySelector('{GRID}').innerText !== told", arg=grid_text(page))
    wait_for_results(page, NOTHING, CHARTS)
    assert [each["scheduler"] for each in table(page)] == [
        each["scheduler"] for each in before if each["scheduler"] != "Static batching"
    ]
    del curves["Static batching"]
    assert lines(page, "y3") == curves
    page.reload()
    wait_for_results(page, NOTHING, CHARTS)
    assert "Static batching" not in lines(page, "y3")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_schedulers_is_accessible(server, page, violations, scheme):
    page.emulate_media(color_scheme=scheme)
    open_schedulers(page, server, "n=600")
    assert violations() == ""
