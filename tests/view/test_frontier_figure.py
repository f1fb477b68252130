"""The frontier as it is drawn."""

import math

from sim.studies.frontier import FrontierPoint
from sim.view import theme
from sim.view.frontier_figure import NO_USERS, frontier, words
from sim.view.lines import INCOMPLETE, Pinned

POINTS = [
    FrontierPoint(8, 120.0, 900.0, 0),
    FrontierPoint(64, 60.0, 4000.0, 0),
    FrontierPoint(256, 30.0, 3500.0, 70),
]


def notes(figure):
    return [note.text for note in figure.layout.annotations]


def test_points_are_joined_in_order_of_the_knob_and_dominated_ones_faded_and_hollow():
    (line, mark) = frontier(POINTS, "max_num_seqs", 64, is_complete=True).data
    assert list(line.x) == [120, 60, 30]
    assert list(line.y) == [900, 4000, 3500]
    assert list(line.marker.symbol) == ["circle", "circle", "circle-open"]
    assert line.marker.opacity[2] < line.marker.opacity[1] == 1
    assert (list(mark.x), list(mark.y)) == ([60], [4000])


def test_hover_names_the_value_of_the_knob_both_figures_and_preemptions():
    told = frontier(POINTS, "max_num_seqs", None, is_complete=True).data[0].customdata
    assert told[0] == "max_num_seqs 8<br>120 tokens/s of one user<br>900 tokens/s of one GPU"
    assert told[2].endswith("70 preemptions<br>dominated: another point is better in both")


def test_axes_start_at_nothing_and_say_what_they_are():
    layout = frontier(POINTS, "max_num_seqs", 64, is_complete=True).layout
    assert (layout.xaxis.rangemode, layout.yaxis.rangemode) == ("tozero", "tozero")
    assert "1,000 / median TPOT in ms" in layout.xaxis.title.text
    assert layout.yaxis.title.text == "output tokens/s of one GPU"


def test_pinned_runs_lie_below_in_grey_dashes():
    pins = [Pinned(POINTS[:2], f"pin {i + 1}", dash) for i, dash in enumerate(theme.PIN_DASHES)]
    lines = frontier(POINTS, "max_num_seqs", 64, is_complete=True, pins=pins).data[:5]
    assert [line.name for line in lines] == ["pin 1", "pin 2", "pin 3", "pin 4", "current"]
    assert [line.line.dash for line in lines[:4]] == list(theme.PIN_DASHES)


def labels(points, **more):
    return list(frontier(points, "max_num_seqs", None, is_complete=True, **more).data[0].text)


def test_values_of_the_knob_are_written_where_they_do_not_lie_on_each_other():
    assert labels(POINTS) == ["8", "64", ""]  # the last is dominated
    near = [FrontierPoint(1, 130.0, 100.0, 0), FrontierPoint(2, 129.0, 200.0, 0), FrontierPoint(1024, 10.0, 6000.0, 0)]
    assert labels(near) == ["1", "", "1,024"]
    assert labels(near, is_log=True) == ["1", "2", "1,024"]  # 100 and 200 lie apart there


def test_what_it_says_stands_away_from_the_legend_whose_names_are_short_beside_many_pins():
    pins = [Pinned(POINTS[:2], f"pin {i + 1}", dash) for i, dash in enumerate(theme.PIN_DASHES)]
    for is_log in (False, True):
        figure = frontier(POINTS, "max_num_seqs", 64, is_complete=True, pins=pins, is_log=is_log)
        assert figure.data[-1].name == "this run"
        assert all(0 < note.y < 1 for note in figure.layout.annotations)
    assert frontier(POINTS, "max_num_seqs", 64, is_complete=True).data[-1].name == "this run's max_num_seqs"


def test_it_says_what_is_missing():
    assert notes(frontier(POINTS, "max_num_seqs", 64, is_complete=False)) == [INCOMPLETE]
    assert notes(frontier([], "max_num_seqs", 64, is_complete=True, problem="no")) == ["no", NO_USERS]
    felt_by_nobody = [FrontierPoint(8, math.nan, 900.0, 0)]
    assert notes(frontier(felt_by_nobody, "max_num_seqs", 8, is_complete=True)) == [NO_USERS]


def test_words_name_both_ends():
    assert words(POINTS, "max_num_seqs") == (
        "Throughput against interactivity, 3 points: 4,000 tokens/s of one GPU at 60 of one user (max_num_seqs "
        "64) and 900 tokens/s of one GPU at 120 of one user (max_num_seqs 8)."
    )
    assert words([], "max_num_seqs") == "Throughput against interactivity; being computed."


def test_log_axes_hold_every_point():
    layout = frontier(POINTS, "max_num_seqs", 64, is_complete=True, is_log=True).layout
    felt = [point.tokens_per_s_user for point in POINTS if point.tokens_per_s_user > 0]
    made = [point.tokens_per_s_gpu for point in POINTS if point.tokens_per_s_gpu > 0]
    for axis, values in ((layout.xaxis, felt), (layout.yaxis, made)):
        assert axis.type == "log"
        assert 10 ** axis.range[0] < min(values) < max(values) < 10 ** axis.range[1]
        assert axis.title.text.endswith("log scale")
