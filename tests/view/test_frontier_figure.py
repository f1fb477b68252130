"""The frontier as it is drawn."""

import math

from sim.studies.frontier import FrontierPoint
from sim.view import theme
from sim.view.frontier_figure import INCOMPLETE, NO_USERS, frontier, words
from sim.view.lines import Pinned

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
