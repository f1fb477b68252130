"""Figures: what is drawn, with which line, on axes that name unit and stand still."""

import math

import numpy as np
import pytest

from sim.presets import preset
from sim.scenario import with_values
from sim.studies.load_curve import LoadPoint, curve
from sim.view import figures, load_figure, theme
from sim.view.curves import Distribution
from sim.view.lines import INCOMPLETE, Pinned, note
from sim.view.quantity import OUTPUT_RATE, TPOT
from sim.view.run_view import run_view


@pytest.fixture(scope="module")
def current():
    return run_view(with_values(preset("memory-pressure"), {"workload.num_requests": 400}))


@pytest.fixture(scope="module")
def pinned():
    return run_view(
        with_values(preset("memory-pressure"), {"workload.num_requests": 400, "scheduler.max_num_seqs": 16})
    )


def points(*loads: float) -> list[LoadPoint]:
    return [LoadPoint(load, 0.01 * load, 100 * load, load > 3) for load in loads]


def test_the_pinned_run_is_grey_and_dashed_and_lies_below(current, pinned):
    figure = figures.throughput(current.over_time, OUTPUT_RATE, [Pinned(pinned.over_time)])
    assert [line.name for line in figure.data] == ["pinned", "current"]
    assert (figure.data[0].line.color, figure.data[0].line.dash) == (theme.GREY, "dash")
    assert (figure.data[1].line.color, figure.data[1].line.dash) == (theme.BLUE, None)


def test_four_pinned_runs_are_told_apart_by_dash_and_name(current, pinned):
    pins = [Pinned(pinned.over_time, f"pin {i + 1}", dash) for i, dash in enumerate(theme.PIN_DASHES)]
    lines = figures.throughput(current.over_time, OUTPUT_RATE, pins).data
    assert [line.name for line in lines] == ["pin 1", "pin 2", "pin 3", "pin 4", "current"]
    assert len({line.line.dash for line in lines}) == 5
    assert {line.line.color for line in lines[:4]} == {theme.GREY}


def test_a_run_that_is_shown_under_another_name_leaves_the_other_names_alone(current, pinned):
    here, there = current.distributions["TPOT"], pinned.distributions["TPOT"]
    lines = figures.distribution(there, [Pinned(here, "current"), Pinned(here, "pin 2", "dot")], "pin 1").data[:3]
    assert [(line.name.partition(",")[0], line.line.dash) for line in lines] == [
        ("current", "dash"),
        ("pin 2", "dot"),
        ("pin 1", None),
    ]
    lines = figures.distribution(here, [Pinned(here, f"pin {i}", "dot") for i in (1, 2, 3)]).data[:4]
    assert [line.name for line in lines] == ["pin 1", "pin 2", "pin 3", f"current, n = {here.num_values}"]


def test_a_pinned_run_says_how_many_values_it_has_where_they_are_not_as_many(current):
    here = current.distributions["TPOT"]
    for there, name in ((here, "pinned"), (here._replace(num_values=12), "pinned, n = 12")):
        assert figures.distribution(here, [Pinned(there)]).data[0].name == name


def sides(p50_s: float, p95_s: float, p99_s: float) -> dict[str, str]:
    """Where the names of the marks stand, on an axis from 10 ms to 1 s."""
    marks = {"p50": p50_s, "p95": p95_s, "p99": p99_s}
    run = Distribution(TPOT, np.array([0.01, *marks.values(), 1.0]), np.array([0, 0.5, 0.95, 0.99, 1]), 1000, marks)
    drawn = figures.distribution(run).data[-1]
    return dict(zip(drawn.text, drawn.textposition, strict=True))


def test_names_of_percentiles_stand_beside_the_curve_and_each_other():
    steep = {"p50": "bottom right", "p95": "middle left", "p99": "bottom right"}
    assert sides(0.1, 0.11, 0.12) == steep
    assert sides(0.02, 0.1, 0.5) == steep | {"p95": "bottom right"}  # flat: the curve runs through what is beside it
    assert sides(0.99, 0.995, 1.0) == steep  # none on the other, and the axis ends with room for them


def luminance(color: str) -> float:
    """Of WCAG 2."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("color", [theme.BLUE, theme.VERMILION, theme.GREEN, theme.ORANGE, theme.PURPLE, theme.GREY])
def test_lines_stand_out_from_the_dark_page(color):
    dark = luminance("#171614")  # Streamlit's dark background
    assert (luminance(theme.IN_DARK.get(color, color)) + 0.05) / (dark + 0.05) >= 4.5


def test_axes_name_what_and_unit(current):
    figure = figures.throughput(current.over_time, OUTPUT_RATE)
    assert figure.layout.yaxis.title.text == "Output rate (tokens/s)"
    assert figure.layout.xaxis.title.text == "time since first arrival (s)"


def test_a_figure_keeps_its_kind_when_numbers_change(current, pinned):
    kinds = {figures.distribution(run.distributions["TPOT"]).layout.uirevision for run in (current, pinned)}
    assert len(kinds) == 1
    assert figures.distribution(current.distributions["TTFT"]).layout.uirevision not in kinds


def test_each_trace_has_a_name_of_its_own_that_survives_others(current, pinned):
    for figure in (
        figures.memory(current.over_time, [Pinned(pinned.over_time)]),
        figures.throughput(current.over_time, OUTPUT_RATE),
    ):
        uids = [trace.uid for trace in figure.data]
        assert None not in uids
        assert len(set(uids)) == len(uids)


def test_the_limit_is_a_line_at_its_value_and_a_label_with_the_attainment(current):
    run = current.distributions["TPOT"]
    figure = figures.distribution(run)
    line = figure.layout.shapes[0]
    assert line.x0 == line.x1 == pytest.approx(run.limit * 1e3)
    assert "SLO 60 ms" in figure.layout.annotations[0].text
    low, high = figure.layout.xaxis.range
    assert low <= np.log10(run.limit * 1e3) <= high


def test_memory_stacks_every_row_that_can_be_seen(current):
    areas = [trace for trace in figures.memory(current.over_time).data if trace.stackgroup]
    total = np.sum([np.asarray(area.y, float) for area in areas], axis=0)
    assert total == pytest.approx(np.full(len(total), 100.0), abs=0.5)
    assert {"stragglers", "typical answers"} <= {area.name for area in areas}


def test_an_incomplete_load_curve_says_so():
    def texts(is_complete: bool) -> list[str]:
        figure = load_figure.load(curve(points(1, 2)), TPOT, "rate", (1, 2, 4), None, is_complete=is_complete)
        return [note.text for note in figure.layout.annotations]

    assert INCOMPLETE in texts(False)
    assert INCOMPLETE not in texts(True)


def test_a_load_curve_says_what_its_dotted_line_and_its_hollow_points_are():
    def texts(*grows: bool) -> list[str]:
        found = [each._replace(is_unstable=bad) for each, bad in zip(points(1, 2), grows, strict=True)]
        figure = load_figure.load(curve(found), TPOT, "rate", (1, 2), None, is_complete=True, limit=0.05)
        return [note.text for note in figure.layout.annotations]

    assert texts(False, False) == ["┈ SLO 50 ms"]
    assert texts(False, True) == ["┈ SLO 50 ms   ○ queue grows"]


def test_a_chart_without_a_p99_says_what_is_too_few():
    """However many requests there are: answers of one token have no TPOT."""
    alone = [each._replace(p99_tpot_s=math.nan) for each in points(1, 2)]
    figure = load_figure.load(curve(alone), TPOT, "rate", (1, 2), None, is_complete=True)
    assert [note.text for note in figure.layout.annotations] == ["p99 TPOT needs at least 100 requests that have one"]


def test_the_pinned_load_curve_has_the_name_and_dash_of_its_pin():
    here, pin = curve(points(1, 2)), Pinned(curve(points(1, 2)), "pin 2", "dot")
    figure = load_figure.load(here, TPOT, "rate", (1, 2), None, is_complete=True, pins=[pin])
    assert [(line.name, line.line.dash) for line in figure.data if line.showlegend] == [
        ("pin 2", "dot"),
        ("current", None),
    ]


def test_the_load_axis_stands_still_while_points_come_in():
    few, all_points = (
        load_figure.load(curve(points(*loads)), TPOT, "rate", (1, 2, 4), None, is_complete=False)
        for loads in ((1,), (1, 2, 4))
    )
    assert few.layout.xaxis.range == all_points.layout.xaxis.range


def test_the_load_axis_holds_the_pinned_curve_whole():
    pin = Pinned(curve(points(0.1, 90)))
    axis = load_figure.load(curve(points(1, 2)), TPOT, "rate", (1, 2), None, is_complete=True, pins=[pin]).layout.xaxis
    assert 10 ** axis.range[0] < 0.1 < 90 < 10 ** axis.range[1]


def test_the_operating_point_stands_at_its_load_in_both_panels():
    here = LoadPoint(2.5, 0.03, 260.0, False)
    figure = load_figure.load(curve(points(1, 2, 4)), TPOT, "rate", (1, 2, 4), here, is_complete=True)
    marks = [trace for trace in figure.data if trace.name == "this run"]
    assert [(mark.x[0], mark.y[0]) for mark in marks] == [(2.5, 30.0), (2.5, 260.0)]
    assert [mark.hovertemplate.rpartition(" ")[2] for mark in marks] == ["ms", "tokens/s"]


def test_points_whose_queue_grew_are_hollow():
    figure = load_figure.load(curve(points(1, 2, 4)), TPOT, "rate", (1, 2, 4), None, is_complete=True)
    assert list(figure.data[0].marker.symbol) == ["circle", "circle", "circle-open"]


def test_figures_stand_with_no_values_at_all():
    empty = run_view(with_values(preset("textbook-straggler"), {"workload.num_requests": 1})).distributions["ITL"]
    assert figures.distribution(empty).layout.annotations[0].text == figures.NO_VALUES
    assert load_figure.load(curve([]), TPOT, "rate", (), None, is_complete=False).layout.xaxis.range is not None


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [(10, 200, ["10", "20", "50", "100", "200"]), (1, 10_000, ["1", "10", "100", "1,000", "10k"])],
)
def test_log_axes_are_labelled_with_whole_numbers(low, high, labels):
    assert theme.log_axis("x", low, high)["ticktext"] == labels


def test_a_run_elsewhere_is_marked_and_the_curve_says_that_it_is_not_its_own():
    here, elsewhere = curve(points(1, 2, 3)), points(2)[0]._replace(p99_tpot_s=0.5)
    told = [
        load_figure.load(here, TPOT, "load", (1, 2, 3), elsewhere, is_complete=True, is_on_curve=is_on_curve)
        for is_on_curve in (True, False)
    ]
    assert [[note.text for note in figure.layout.annotations] for figure in told] == [[], [load_figure.RELEASED]]
    for figure in told:
        assert list(figure.data[0].y) == pytest.approx([10, 20, 30])
        assert figure.data[2].y[0] == pytest.approx(500)


def test_a_note_above_a_plot_stays_within_the_margin_however_high_the_plot_grows():
    above = note("dots: a limit")
    assert (above["y"], above["yanchor"]) == (1.0, "bottom")
    assert above["yshift"] + 11.5 * 1.3 < theme.layout("any")["margin"]["t"]  # the type and its line
