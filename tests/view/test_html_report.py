"""The report of a run: what stands in it, and that it asks for nothing."""

import json
import re
from html import unescape

import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.load_curve import load_points
from sim.view.report import report
from sim.view.reproduce import of_preset, run_command
from sim.view.run_view import run_view
from sim.view.tiles import tiles
from sim.view.verdict import verdict

SCENARIO = with_values(
    preset("memory-pressure"),
    {
        "about.title": "A <b>bold</b> & long title",
        "workload.num_requests": 400,
        "scheduler.max_num_seqs": 48,
        "cost.price_per_gpu_hour": 2.5,
    },
)
SECTIONS = (
    "Numbers", "Scenario", "Pictures", "Latencies", "Where the KV memory went", "Where the time went",
    "How far to trust it", "The same run again", "A server configured so", "Versions",
    "Everything that determines the run",
)  # fmt: skip


@pytest.fixture(scope="module")
def run():
    return run_view(SCENARIO)


@pytest.fixture(scope="module")
def html(run):
    return report(run, of_preset("memory-pressure"), load_points(SCENARIO))


def words(html: str) -> str:
    """What a reader sees, in one line."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(script|style).*?</\1>", " ", html))))


def test_every_section_is_there_in_order(html):
    assert tuple(re.findall(r"<h2>(.*?)</h2>", html)) == SECTIONS


def test_verdict_and_every_tile_stand_in_it_as_on_the_page(run, html):
    assert f"<h1>{verdict(run.scenario, run.summary)}</h1>" in html
    for tile in tiles(run.summary):
        assert f"{tile.label} {tile.value} {tile.unit}".strip() in words(html)


def test_ledgers_add_up_to_everything(run, html):
    for ledger, whole in (("memory_ledger", "blocks_x_duration"), ("time_ledger", "stages_x_duration")):
        all_of_it = run.summary[ledger][whole]
        assert f"together {all_of_it:,.{0 if all_of_it >= 10_000 else 1}f} 100.0 %" in words(html)


def test_it_names_the_command_the_departures_the_band_and_the_versions(run, html):
    text = words(html)
    assert run_command(run.scenario, of_preset("memory-pressure"), "report.html") in text
    assert "scheduler.max_num_seqs 48" in text
    assert "vllm serve meta-llama/Meta-Llama-3.1-8B" in text
    assert run.cost_band.text in text
    assert "Output caps are <code>max_tokens</code> of each request" in html
    assert f"numba {run.summary['versions']['numba']}" in text


def test_seven_pictures_with_words_and_one_copy_of_plotly(html):
    assert html.count("<figure>") == html.count("<figcaption>") == 7
    assert html.count("plotly.js v") == 1


def test_a_title_is_text_and_no_markup(html):
    assert "A &lt;b&gt;bold&lt;/b&gt; &amp; long title" in html
    assert "<b>bold" not in html


def test_nothing_in_it_is_fetched(html):
    assert re.findall(r"<(?:link|img|iframe|script)[^>]*(?:src|href)=", html) == []


def test_it_holds_the_whole_scenario(run, html):
    (text,) = re.findall(r'(?s)<pre class="whole">(.*?)</pre>', html)
    assert json.loads(unescape(text)) == run.scenario.model_dump(mode="json")


def test_a_run_that_stopped_in_its_warm_up_has_a_report():
    scenario = with_values(preset("chat"), {"workload.num_requests": 50, "max_sim_time_s": 0.001})
    assert "The run stopped before its warm-up was over." in report(run_view(scenario), of_preset("chat"))


def test_static_batching_has_a_report_without_a_server(run):
    html = report(run_view(preset("textbook-straggler")), of_preset("textbook-straggler"))
    assert "E2E per token" in html
    assert "vllm serve" not in words(html)
    assert html.count("<figure>") == 6
