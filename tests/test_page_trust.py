"""Trust: the report that ships, every comparison in it, and bands beside absolute numbers."""

import copy
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from sim.commands.summary_text import heading
from sim.presets import preset
from sim.scenario import with_values
from sim.studies.validation import shipped
from sim.view import trust_figures
from sim.view.run_view import run_view
from sim.view.tiles import tiles
from sim.view.trust import (
    LONGEST_REMARK,
    Comparison,
    comparisons,
    left_out,
    long_remarks,
    made_by,
    table,
    trust_verdict,
)
from tests.page_script import headline, open_page

BANDS = {  # a deployment, and the band that every number on it must carry
    "±10 %": {},
    "±25 %": {"deployment.model": "Qwen3-30B-A3B"},
    "datasheet estimate": {"deployment.gpu": "MI300X"},
    "exact by definition": {"cost.source": "constant"},
}


@pytest.fixture
def report() -> dict[str, Any]:
    return copy.deepcopy(shipped())


@pytest.fixture(scope="module")
def page() -> AppTest:
    app = open_page().switch_page("trust.py").run()
    assert not app.exception
    return app


def test_the_page_shows_the_verdict_the_date_the_versions_and_the_command(page: AppTest) -> None:
    report = shipped()
    assert headline(page) == trust_verdict(report)
    shown = next(caption.value for caption in page.caption if report["date"] in caption.value)
    assert report["command"] in shown
    assert all(version in shown for version in report["versions"].values())


def test_the_page_shows_every_comparison_and_what_is_not_modelled(page: AppTest) -> None:
    frame = page.dataframe[0].value
    assert len(frame) == len(comparisons(shipped()))
    texts = " ".join(markdown.value for markdown in page.markdown)
    for missing in shipped()["not_modelled"]:
        assert missing in texts


def test_the_table_holds_every_group_of_the_report_with_its_own_error(report: dict[str, Any]) -> None:
    rows = comparisons(report)
    steps = [row for row in rows if row.part == "Step times"]
    assert [row.error for row in steps] == [group["error_percent"] for group in report["parts"]["step_times"]["groups"]]
    assert sum(row.num for row in steps) == report["parts"]["step_times"]["rows"]
    closed = [row for row in rows if row.what.startswith("TPOT in closed loop")]
    assert sum(row.num for row in closed) == report["parts"]["serving_benchmarks"]["rows"]


def test_an_error_above_its_target_is_shown_as_missed_and_changes_the_verdict(report: dict[str, Any]) -> None:
    before = trust_verdict(report)
    good = next(row for row in comparisons(report) if row.what.startswith("throughput"))
    assert good.standing == "met"
    report["parts"]["vllm_runs"]["runs"][0]["figures"]["output_tokens_per_s"]["error_percent"] = -40.0
    bad = next(row for row in comparisons(report) if row.what.startswith("throughput"))
    assert bad.standing == "missed"
    assert bad.limit == good.limit
    assert trust_verdict(report) != before


def test_an_error_above_the_band_of_the_interface_is_shown_as_outside(report: dict[str, Any]) -> None:
    for server in report["parts"]["serving_benchmarks"]["servers"]:
        server["tpot_error_percent"] = 10.0 if "±10" in server["band"] else 26.0
    standings = {row.limit: row.standing for row in comparisons(report) if row.what.startswith("TPOT in closed loop")}
    assert standings == {10.0: "in band", 25.0: "outside band", None: "no limit"}


def test_a_report_of_one_part_is_shown_without_the_others(report: dict[str, Any]) -> None:
    report["parts"] = {"goldens": report["parts"]["goldens"]}
    report["targets"] = [target for target in report["targets"] if "tables" in target["what"]]
    rows = comparisons(report)
    assert {row.part for row in rows} == {"Recorded step tables"}
    assert len(table(rows)["What"]) == len(report["parts"]["goldens"]["folders"])
    assert "1 of 1 targets" in trust_verdict(report)
    assert left_out(report) == []


def test_a_missed_target_is_counted(report: dict[str, Any]) -> None:
    report["targets"][3]["met"] = False
    report["targets"][4]["met"] = None
    total = len(report["targets"])
    assert trust_verdict(report).startswith(f"{total - 2} of {total - 1} targets")


def test_who_made_the_report_and_how_long_it_took(report: dict[str, Any]) -> None:
    report |= {"date": "2031-05-06", "duration_s": 61.4, "versions": {"longtail": "9.9"}}
    assert made_by(report) == "Made on 2031-05-06 with longtail 9.9, in 61 s, by"


@pytest.mark.parametrize("which", list(trust_figures.PARITY))
def test_parity_plots_hold_every_pair_of_the_report(which: str, report: dict[str, Any]) -> None:
    part, _, figure = trust_figures.PARITY[which]
    drawn = sum(len(trace.x) for trace in figure(report).data)
    if which == "medians":
        assert drawn == 2 * len(report["parts"]["vllm_runs"]["runs"])
    elif which == "tpot":
        assert drawn == sum(len(run["parity"]) for run in report["parts"]["vllm_runs"]["runs"])
    else:
        assert drawn == len(report["parts"][part]["parity"])


def test_a_switch_changes_the_parity_plot_and_not_the_table(page: AppTest) -> None:
    before = page.dataframe[0].value
    switch = next(each for each in page.get("button_group") if each.key == "show_parity")
    switch.set_value("serving").run()
    assert not page.exception
    assert page.dataframe[0].value.equals(before)
    switch.set_value("steps").run()


@pytest.mark.parametrize("band", BANDS)
def test_every_tile_says_how_far_its_number_may_be_off(band: str) -> None:
    scenario = with_values(preset("chat"), {"workload.num_requests": 120, **BANDS[band]})
    view = run_view(scenario)
    assert band in view.cost_band.text
    assert all(view.cost_band.text in tile.help for tile in tiles(view.summary))
    assert view.summary["step_time"]["text"] == view.cost_band.text  # what `longtail run --json` writes
    assert view.cost_band.text in heading(view.summary)  # what it prints


@pytest.mark.parametrize(("error", "text"), [(0.803, "0.8 %"), (8.22, "8.2 %"), (10.66, "11 %"), (113.2, "113 %")])
def test_errors_are_told_to_two_digits(error: float, text: str) -> None:
    row = Comparison("Server runs", "TPOT", 300, error, "%", 15.0, True)
    assert table([row])["Error"] == [text]
    assert table([row])["Limit"] == ["15 %"]


def test_the_verdict_keeps_targets_and_stated_errors_apart(report: dict[str, Any]) -> None:
    bad = [row for row in comparisons(report) if row.standing in ("missed", "outside band")]
    assert bad
    told = (
        f"{len(bad)} of {len(comparisons(report))} comparisons lie outside their target or the error that pages state"
    )
    assert told in trust_verdict(report)


def test_a_remark_too_long_for_its_column_is_a_note() -> None:
    long, short = "x" * (LONGEST_REMARK + 1), "x" * LONGEST_REMARK
    rows = [Comparison("Server runs", "TPOT", 300, 1.0, "%", 2.0, True, remark) for remark in (short, long, long)]
    assert table(rows)["Remark"] == [short, "see note 1", "see note 1"]
    assert long_remarks(rows) == [long]
